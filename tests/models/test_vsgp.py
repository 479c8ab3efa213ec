"""VSGP and FITC as estimators, beside the exact GP."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.models import FITC, VSGP, ExactGP
from tests.models.zoo import draw


@pytest.fixture(scope="module")
def exact() -> ExactGP:
    return ExactGP(max_iter=200).fit(*draw(60))


def test_vsgp_with_a_point_at_every_row_is_the_exact_gp(exact):
    Xs, _ = draw(25, seed=1)
    sparse = VSGP(n_inducing=60, max_iter=200, random_state=0).fit(*draw(60))
    assert sparse.inducing_f_.shape == (60, 2)
    assert sparse.elbo_ == pytest.approx(exact.elbo_, abs=0.05)
    assert_allclose(sparse.predict(Xs), exact.predict(Xs), atol=0.02)


def test_fitc_starts_at_the_exact_evidence_and_its_moving_points_pass_it(exact):
    sparse = FITC(n_inducing=60, max_iter=60, n_restarts=0, random_state=0).fit(*draw(60))
    first = ExactGP(max_iter=1, n_restarts=0).fit(*draw(60)).trace_[0, 2]
    assert sparse.trace_[0, 2] == pytest.approx(first, abs=1e-4)
    assert sparse.elbo_ > exact.elbo_  # no bound: the points buy themselves heteroscedastic noise


def test_the_bound_rises_with_the_points_towards_the_evidence(exact):
    X, y = draw(60)
    bounds = [VSGP(n_inducing=m, max_iter=200, random_state=0).fit(X, y).elbo_ for m in (2, 5, 12, 30)]
    assert np.all(np.diff(bounds) > 0)
    assert bounds[-1] <= exact.elbo_ + 1e-3


def test_learned_parameters_are_in_the_units_of_the_user(exact):
    X, y = draw(60)
    sparse = VSGP(n_inducing=40, max_iter=200, random_state=0).fit(X, y)
    assert_allclose(sparse.lengthscales_f_, exact.lengthscales_f_, rtol=0.02)
    assert sparse.signal_var_f_ == pytest.approx(exact.signal_var_f_, rel=0.05)
    assert sparse.noise_var_ == pytest.approx(exact.noise_var_, rel=0.02)
    assert np.all(np.abs(sparse.inducing_f_) < 4)  # the inputs fill [-2, 2]


def test_fitc_does_not_call_certain_what_it_has_not_learned():
    """Next to inducing points, where nothing is left unexplained; elsewhere its variances are as they were."""
    (X, y), (Xs, ys) = draw(60), draw(500, seed=50)
    floored, plain = (
        FITC(30, max_iter=60, noise_floor=floor, random_state=0).fit(X, y) for floor in (True, False)
    )
    assert plain.noise_var_ == floored.noise_var_
    assert plain.noise_floor_ == 0.0
    residuals = y - plain.predict(X)
    assert floored.noise_floor_ == pytest.approx(0.5 * np.median(residuals**2) / 0.4549, rel=1e-3)
    at = plain.predict_dist(plain.inducing_f_)
    assert at.var.min() < 0.2 * floored.noise_floor_
    with_floor, without = (model.predict_dist(Xs) for model in (floored, plain))
    assert_allclose(with_floor.var, np.maximum(without.var, floored.noise_floor_), rtol=1e-12)
    assert_allclose(with_floor.f_var, without.f_var)
    assert 0.5 < np.mean(with_floor.var == without.var) < 1.0
    assert with_floor.logpdf(ys).min() > without.logpdf(ys).min() + 1.0
