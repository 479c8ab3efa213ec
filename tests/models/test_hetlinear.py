"""The linear model with log-linear noise: against the plain one, on known noise, and where residuals vanish."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

from hgpbench.gp.predictive import normal_logpdf
from hgpbench.models import HetLinear, Linear
from hgpbench.models.hetlinear import FLOOR

COEFFICIENTS = np.array([2.0, 0.0, -1.0])
SLOPES = np.array([0.5, -0.25, 0.0])


def draw(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Targets whose log noise variance is linear in the inputs; the inputs are not standardised."""
    rng = np.random.default_rng(seed)
    X = 3.0 + 2.0 * rng.normal(size=(n, 3))
    noise = np.exp(0.5 * (X @ SLOPES - 4.0))
    return X, X @ COEFFICIENTS + 7.0 + noise * rng.normal(size=n)


def test_it_is_two_ridges():
    X, y = draw(500)
    Xs, _ = draw(50, seed=1)
    model, mean = HetLinear(calibrate=False).fit(X, y), Linear().fit(X, y)
    assert_allclose(model.predict(Xs), mean.predict(Xs), rtol=1e-12)
    assert_allclose(model.predict_dist(Xs).f_var, mean.predict_dist(Xs).f_var, rtol=1e-10)
    squares = np.maximum((y - mean.predict(X)) ** 2, FLOOR * mean.noise_var_)
    log_noise = Linear().fit(X, np.log(squares) - digamma(0.5) - np.log(2.0))
    inside = np.clip(log_noise.predict(Xs), log_noise.predict(X).min(), log_noise.predict(X).max())
    assert_allclose(np.log(model.predict_dist(Xs).noise_var), inside, rtol=1e-9)
    assert model.ridge_ == mean.ridge_
    assert model.noise_ridge_ == log_noise.ridge_


@pytest.mark.parametrize("calibrate", [True, False])
def test_log_linear_noise_is_recovered_without_bias(calibrate):
    X, y = draw(40_000)
    model = HetLinear(calibrate=calibrate).fit(X, y)
    assert_allclose(model.noise_coef_, SLOPES, atol=0.03)
    # Without the mean of the log chi-squared variable the level would be 1.27 too low.
    assert model.noise_intercept_ == pytest.approx(-4.0, abs=0.15)
    assert_allclose(model.coef_, COEFFICIENTS, atol=0.02)
    standardised = (y - model.predict(X)) ** 2 / model.predict_dist(X).noise_var
    assert standardised.mean() == pytest.approx(1.0, abs=0.05)


def test_coefficients_are_in_the_units_of_the_user():
    X, y = draw(400)
    model = HetLinear().fit(X, 1e3 * y)
    prediction = model.predict_dist(X)
    assert_allclose(X @ model.coef_ + model.intercept_, prediction.mean, rtol=1e-10)
    assert_allclose(X @ model.noise_coef_ + model.noise_intercept_, np.log(prediction.noise_var), rtol=1e-9)


def test_it_beats_the_plain_model_where_noise_varies():
    X, y = draw(2_000)
    Xs, ys = draw(2_000, seed=1)
    scores = [model.fit(X, y).predict_dist(Xs).logpdf(ys).mean() for model in (HetLinear(), Linear())]
    truth = normal_logpdf(ys, Xs @ COEFFICIENTS + 7.0, np.exp(Xs @ SLOPES - 4.0)).mean()
    assert truth - 0.02 < scores[0] < truth + 0.02
    assert scores[1] < truth - 0.2


def test_calibration_is_the_likeliest_level_whatever_the_residuals():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2_000, 2))
    y = X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.standard_t(3, size=2_000)
    plain, calibrated = (HetLinear(calibrate=on).fit(X, y).predict_dist(X) for on in (False, True))
    assert np.mean((y - calibrated.mean) ** 2 / calibrated.noise_var) == pytest.approx(1.0, rel=1e-10)
    ratio = calibrated.noise_var / plain.noise_var
    assert_allclose(ratio, ratio[0], rtol=1e-10)
    assert ratio[0] > 1.2
    assert calibrated.logpdf(y).mean() > plain.logpdf(y).mean() + 0.02


def test_constant_noise_stays_nearly_constant():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3_000, 4))
    model = HetLinear().fit(X, X[:, 0] + 0.5 * rng.normal(size=3_000))
    assert np.abs(model.noise_coef_).max() < 0.1
    assert model.predict_dist(X).noise_var.mean() == pytest.approx(0.25, rel=0.1)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_residuals_may_vanish(share):
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(100, 1)), 2, axis=0)
    noise = rng.normal(size=200) * (np.arange(200) >= share * 200)
    prediction = HetLinear().fit(X, 2 * X[:, 0] + noise).predict_dist(X)
    assert np.isfinite(prediction.logpdf(0.0)).all()
    assert np.all(prediction.noise_var > 0)


def test_beyond_the_rows_seen_the_noise_goes_no_further():
    X, y = draw(300)
    model = HetLinear().fit(X, y)
    seen = model.predict_dist(X).noise_var
    far = model.predict_dist(np.array([[1e6, 0, 0], [-1e6, 0, 0]])).noise_var
    assert_allclose(far, [seen.max(), seen.min()], rtol=1e-12)


def test_many_rows_need_no_second_copy():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300_000, 11))
    y = X[:, 0] + np.exp(X[:, 1]) * rng.normal(size=len(X))
    tracemalloc.start()
    HetLinear().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.9 * X.nbytes
