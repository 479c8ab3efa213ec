"""Moments of columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.columns import CHUNK, chunks, divisors, moments


def test_chunks_cover_every_row_once() -> None:
    rows = np.concatenate([np.arange(CHUNK * 2 + 5)[part] for part in chunks(CHUNK * 2 + 5)])
    assert np.array_equal(rows, np.arange(CHUNK * 2 + 5))
    assert list(chunks(0)) == []


@pytest.mark.parametrize("magnitude", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_moments_hold_at_any_magnitude_and_offset(magnitude: float) -> None:
    draw = np.random.default_rng(0).normal(5.0, 2.0, size=(CHUNK + 7, 2))
    mean, std = moments(draw * magnitude)
    assert_allclose(mean, draw.mean(axis=0) * magnitude, rtol=1e-12)
    assert_allclose(std, draw.std(axis=0) * magnitude, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e300, 5e-324, 1e9])
def test_a_constant_column_has_no_deviation(value: float) -> None:
    mean, std = moments(np.full((CHUNK + 3, 1), value))
    assert (mean[0], std[0]) == (value, 0.0)


def test_a_column_is_divided_by_its_deviation_or_by_one() -> None:
    column, rounded = np.arange(999.0), np.where(np.arange(999) % 2, 0.3, 0.1 + 0.2)
    alike = np.full(999, 0.3)
    assert alike.std() > 0.0  # numpy's is round-off
    assert_allclose(divisors(np.column_stack([column, rounded, alike])), [column.std(), 1.0, 1.0])
