"""First widths of basis functions."""

import numpy as np
import pytest

from hgpbench.fitting.basis import first_width


def test_the_width_follows_the_units_and_spread_of_the_rows():
    X = np.random.default_rng(0).normal(size=(200, 3))
    assert first_width(1e3 * X, 1e3 * X[:20]) == pytest.approx(1e3 * first_width(X, X[:20]))


def test_round_off_is_no_width():
    X = np.where(np.arange(90) % 2, 0.3, 0.1 + 0.2)[:, None]
    assert first_width(X, np.unique(X, axis=0)) == 1.0
