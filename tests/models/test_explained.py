"""A fit that explains nothing says so; one that does not, or is not meant to, is silent."""

import warnings

import numpy as np
import pytest

from hgpbench.errors import NoBetterThanTheMean
from hgpbench.models import VSGP, Linear, Mean
from tests.models.zoo import draw


def test_noise_is_no_better_than_the_mean():
    rng = np.random.default_rng(0)
    with pytest.warns(NoBetterThanTheMean, match=r"VSGP is no better than the mean: it explains -?0\.\d %"):
        model = VSGP(5, max_iter=100, random_state=0).fit(rng.normal(size=(2000, 1)), rng.normal(size=2000))
    assert abs(model.explained_) < 0.01
    assert model.outcome_ == "converged, no better than the mean"


@pytest.mark.parametrize("standardize", [True, False])
def test_what_explains_something_is_silent(standardize):
    X, y = draw(700)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = VSGP(10, max_iter=20, standardize=standardize, random_state=0).fit(X, y)
    assert 0.5 < model.explained_ < 1.0
    assert model.outcome_ in {"converged", "limit reached"}


def test_the_share_is_that_of_some_rows_in_any_units():
    X, y = draw(400)
    model, moved = Linear().fit(X, y), Linear().fit(1e3 * X, 5.0 - 1e4 * y)
    expected = 1 - np.mean((y - model.predict(X)) ** 2) / np.var(y)
    assert model.explained_ == pytest.approx(expected, rel=1e-9)
    assert moved.explained_ == pytest.approx(expected, rel=1e-6)


def test_a_model_that_ignores_its_inputs_by_design_is_not_judged():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Mean().fit(*draw(30))
    assert not hasattr(model, "explained_")
