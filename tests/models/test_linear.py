"""Ridge regression against dense formulas, and its behaviour in the limits."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from hgpbench.fitting.ridge import STRENGTHS
from hgpbench.models import Linear


def draw(n: int, d: int, noise: float = 0.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 5.0
    return X, X @ rng.normal(size=d) + 3.0 + noise * rng.normal(size=n)


def dense_evidence(X: np.ndarray, y: np.ndarray, strength: float) -> float:
    """log density of the n - 1 contrasts of y at its best noise variance: w integrated out, intercept free."""
    n = len(y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    t = (y - y.mean()) / y.std()
    contrasts = np.linalg.svd(np.ones((1, n)))[2][1:]  # orthonormal, orthogonal to the intercept
    C = contrasts @ (np.eye(n) + Z @ Z.T / (n * strength)) @ contrasts.T
    u = contrasts @ t
    noise = u @ np.linalg.solve(C, u) / (n - 1)
    return float(multivariate_normal(cov=noise * C).logpdf(u))


def test_the_strength_has_the_largest_evidence():
    X, y = draw(25, 4, noise=4.0)
    best = max(STRENGTHS, key=lambda strength: dense_evidence(X, y, strength))
    assert STRENGTHS[0] < best < STRENGTHS[-1]
    assert Linear().fit(X, y).ridge_ == best


def test_prediction_is_the_posterior_of_the_bayesian_model():
    X, y = draw(25, 4, noise=4.0)
    Xs, _ = draw(6, 4, seed=1)
    model = Linear().fit(X, y)
    n, shift, scale = len(y), X.mean(axis=0), X.std(axis=0)
    Z, Zs = (X - shift) / scale, (Xs - shift) / scale
    precision = Z.T @ Z + n * model.ridge_ * np.eye(4)
    weights = np.linalg.solve(precision, Z.T @ (y - y.mean()))
    prediction = model.predict_dist(Xs)
    assert_allclose(prediction.mean, y.mean() + Zs @ weights, rtol=1e-10)
    residual = y - y.mean() - Z @ weights
    noise = (residual @ residual + n * model.ridge_ * weights @ weights) / (n - 1)
    assert_allclose(model.noise_var_, noise, rtol=1e-10)
    leverage = 1 / n + np.einsum("sd,sd->s", Zs, np.linalg.solve(precision, Zs.T).T)
    assert_allclose(prediction.var, noise * (1 + leverage), rtol=1e-10)


def test_coefficients_are_in_the_units_of_the_user():
    X, y = draw(400, 3, noise=0.01)
    model = Linear().fit(X, y)
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(400)]), y, rcond=None)[0]
    assert_allclose([*model.coef_, model.intercept_], expected, rtol=1e-4)
    assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-12)


def test_the_noise_is_recovered():
    X, y = draw(5_000, 5, noise=0.7)
    assert Linear().fit(X, y).noise_var_ == pytest.approx(0.49, rel=0.05)


def test_pure_noise_is_shrunk_to_the_mean():
    rng = np.random.default_rng(3)
    model = Linear().fit(rng.normal(size=(40, 10)), rng.normal(size=40))
    assert model.ridge_ > 0.1
    assert model.noise_var_ == pytest.approx(1.0, rel=0.5)


@pytest.mark.parametrize(("n", "d"), [(5, 30), (8, 7), (2, 1), (3, 3)])
def test_as_many_inputs_as_rows_keep_a_positive_noise(n, d):
    X, y = draw(n, d)
    prediction = Linear().fit(X, y).predict_dist(X + 0.5)
    assert np.all(prediction.noise_var > 1e-10 * y.var())
    assert np.isfinite(prediction.mean).all()


def test_an_exactly_linear_target_does_not_cancel():
    X, y = draw(100, 3, noise=0.0)
    model = Linear().fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 1e-6 * y.std()
    assert 0 < model.noise_var_ < 1e-6 * y.var()


def test_many_rows_need_no_second_copy():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300_000, 11))
    y = X[:, 0] + rng.normal(size=len(X))
    tracemalloc.start()
    Linear().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.75 * X.nbytes
