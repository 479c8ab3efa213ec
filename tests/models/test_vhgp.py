"""VHGP where the noise of every row vanishes: the search ends before its matrices do."""

import numpy as np
import pytest
from numpy.linalg import LinAlgError

from hgpbench.fitting.vshgp import Problem
from hgpbench.models import VHGP
from tests.models.zoo import draw


def test_a_search_that_ends_without_a_posterior_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, fit = [], Problem.fit

    def short_of_digits(problem: Problem, optimizer: str, max_iter: int, *rest: object):
        asked.append(max_iter)
        if max_iter > 3:
            raise LinAlgError
        return fit(problem, optimizer, max_iter, *rest)

    X, y = draw(40)
    alone = VHGP(max_iter=3).fit(X, y)
    monkeypatch.setattr(Problem, "fit", short_of_digits)
    model = VHGP(max_iter=12).fit(X, y)
    assert asked == [12, 6, 3]
    assert model.elbo_ == alone.elbo_


def test_what_cannot_be_fitted_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise LinAlgError("no posterior")

    monkeypatch.setattr(Problem, "fit", never)
    with pytest.raises((LinAlgError, ValueError), match="no posterior"):
        VHGP(max_iter=12).fit(*draw(40))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_targets_without_noise_are_fitted(dtype: type) -> None:
    X = (20 * np.random.RandomState(0).uniform(size=(20, 5))).astype(np.float32).astype(dtype)
    model = VHGP(max_iter=10).fit(X, X[:, 0].astype(int))
    assert np.isfinite(model.predict_dist(X).var).all()
