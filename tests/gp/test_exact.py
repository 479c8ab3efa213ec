"""The exact GP against scipy's multivariate normal, finite differences and the textbook's equations."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from hgpbench.gp.exact import ExactProblem
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.linalg import JITTER

KERNEL = SEARD(1.7, np.array([0.6, 1.9, 0.8]))
SIGMA2 = 0.21


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.normal(size=40)


def dense(kernel: SEARD, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return kernel.s2_k * np.exp(-0.5 * (((X[:, None] - Z) / kernel.ell) ** 2).sum(axis=-1))


def covariance(kernel: SEARD, sigma2: float, X: np.ndarray) -> np.ndarray:
    return dense(kernel, X, X) + (JITTER * kernel.s2_k + sigma2) * np.eye(len(X))


def test_value_is_the_log_density_of_the_targets(data):
    X, y = data
    found = ExactProblem(X, y).evidence(KERNEL, SIGMA2)
    assert found.value == pytest.approx(
        multivariate_normal(cov=covariance(KERNEL, SIGMA2, X)).logpdf(y), rel=1e-12
    )
    assert found.jitter == JITTER


def test_gradient_matches_central_differences(data):
    X, y = data
    problem = ExactProblem(X, y)

    def value(log_theta: np.ndarray) -> float:
        s2_k, sigma2, *ell = np.exp(log_theta)
        return problem.evidence(SEARD(s2_k, np.array(ell)), sigma2).value

    theta = np.array([KERNEL.s2_k, SIGMA2, *KERNEL.ell])
    grad = problem.evidence(KERNEL, SIGMA2)
    found = theta * np.array([grad.ds2_k, grad.dsigma2, *grad.dell])
    steps = 1e-5 * np.eye(5)
    expected = [(value(np.log(theta) + h) - value(np.log(theta) - h)) / 2e-5 for h in steps]
    assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_prediction_is_the_conditional_normal(data):
    X, y = data
    Xs = np.random.default_rng(1).normal(size=(7, 3))
    mu, s2 = ExactProblem(X, y).posterior(KERNEL, SIGMA2).moments(Xs)
    weights = np.linalg.solve(covariance(KERNEL, SIGMA2, X), dense(KERNEL, X, Xs))
    assert_allclose(mu, weights.T @ y, rtol=1e-10)
    prior = KERNEL.s2_k * (1 + JITTER)
    assert_allclose(s2, prior - np.einsum("ns,ns->s", weights, dense(KERNEL, X, Xs)), rtol=1e-10)


def test_far_away_the_prior_returns(data):
    X, y = data
    mu, s2 = ExactProblem(X, y).posterior(KERNEL, SIGMA2).moments(np.full((1, 3), 1e3))
    assert mu == pytest.approx(0.0)
    assert s2 == pytest.approx(KERNEL.s2_k, rel=1e-5)


def test_evaluations_repeat_and_leave_the_data_alone(data):
    X, y = data
    before = X.copy(), y.copy()
    problem = ExactProblem(X, y)
    first = problem.evidence(KERNEL, SIGMA2)
    posterior = problem.posterior(KERNEL, SIGMA2)
    moments = posterior.moments(X)
    problem.evidence(SEARD(0.3, np.ones(3)), 2.0)
    again = problem.evidence(KERNEL, SIGMA2)
    assert first.value == again.value
    assert_allclose(first.dell, again.dell, rtol=0)
    assert_allclose(posterior.moments(X), moments, rtol=0)
    assert_allclose(X, before[0], rtol=0)
    assert_allclose(y, before[1], rtol=0)


def test_an_evaluation_allocates_no_second_matrix():
    rng = np.random.default_rng(2)
    n, d = 400, 8
    problem = ExactProblem(rng.normal(size=(n, d)), rng.normal(size=n))
    kernel = SEARD(1.0, np.ones(d))
    problem.evidence(kernel, 0.1)
    tracemalloc.start()
    problem.evidence(kernel, 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * n * n * 8


def test_duplicated_rows_without_noise_are_carried_by_the_jitter():
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(15, 3)), 2, axis=0)
    found = ExactProblem(X, rng.normal(size=30)).evidence(KERNEL, 0.0)
    assert np.isfinite(found.value)
    assert found.jitter >= JITTER
