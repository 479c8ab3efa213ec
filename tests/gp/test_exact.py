"""The exact GP against scipy's multivariate normal, finite differences and the textbook's equations."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from hgpbench.gp.exact import POSITIVE, ExactProblem, LargeExactProblem
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.params import Layout
from hgpbench.la import JITTER
from tests.models.zoo import draw

KERNEL = SEARD(1.7, np.array([0.6, 1.9, 0.8]))
SIGMA2 = 0.21


def named(kernel: SEARD, sigma2: float) -> dict[str, np.ndarray]:
    return {"s2_k": np.asarray(kernel.s2_k), "ell": kernel.ell, "sigma2": np.asarray(sigma2)}


VALUES = named(KERNEL, SIGMA2)


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
    found = ExactProblem(X, y).evidence(VALUES)
    assert found.value == pytest.approx(
        multivariate_normal(cov=covariance(KERNEL, SIGMA2, X)).logpdf(y), rel=1e-12
    )
    assert found.jitter == JITTER


def test_gradient_matches_central_differences(data):
    X, y = data
    problem = ExactProblem(X, y)

    layout = Layout.of(VALUES, positive=POSITIVE)

    def value(flat: np.ndarray) -> float:
        return problem.evidence(layout.unpack(flat)).value

    x = layout.pack(VALUES)
    found = layout.pack_grad(VALUES, problem.evidence(VALUES).grads)
    expected = [(value(x + h) - value(x - h)) / 2e-5 for h in 1e-5 * np.eye(len(x))]
    assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_prediction_is_the_conditional_normal(data):
    X, y = data
    Xs = np.random.default_rng(1).normal(size=(7, 3))
    mu, s2 = ExactProblem(X, y).posterior(VALUES).moments(Xs)
    weights = np.linalg.solve(covariance(KERNEL, SIGMA2, X), dense(KERNEL, X, Xs))
    assert_allclose(mu, weights.T @ y, rtol=1e-10)
    prior = KERNEL.s2_k * (1 + JITTER)
    assert_allclose(s2, prior - np.einsum("ns,ns->s", weights, dense(KERNEL, X, Xs)), rtol=1e-10)


def test_far_away_the_prior_returns(data):
    X, y = data
    mu, s2 = ExactProblem(X, y).posterior(VALUES).moments(np.full((1, 3), 1e3))
    assert mu == pytest.approx(0.0)
    assert s2 == pytest.approx(KERNEL.s2_k, rel=1e-5)


@pytest.mark.parametrize("chunk", [32_000_000, 1])
def test_silent_points_get_the_prior_and_the_others_their_moments(data, chunk):
    X, y = data
    posterior = ExactProblem(X, y).posterior(VALUES)
    Xs = np.linspace(0, 12, 100)[:, None] * np.ones(3)
    norms = np.square(dense(KERNEL, Xs, X)).sum(axis=1)
    for silent in (np.median(norms), 1e-3, 1e9):
        far = norms <= silent
        mu, s2 = posterior.moments(Xs, silent, chunk)
        assert far.any()
        assert (mu[far] == 0).all()
        assert (s2[far] == posterior.kd).all()
        assert_allclose((mu[~far], s2[~far]), np.stack(posterior.moments(Xs))[:, ~far], rtol=1e-11)


def test_evaluations_repeat_and_leave_the_data_alone(data):
    X, y = data
    before = X.copy(), y.copy()
    problem = ExactProblem(X, y)
    first = problem.evidence(VALUES)
    posterior = problem.posterior(VALUES)
    moments = posterior.moments(X)
    problem.evidence(named(SEARD(0.3, np.ones(3)), 2.0))
    again = problem.evidence(VALUES)
    assert first.value == again.value
    assert_allclose(first.grads["ell"], again.grads["ell"], rtol=0)
    assert_allclose(posterior.moments(X), moments, rtol=0)
    assert_allclose(X, before[0], rtol=0)
    assert_allclose(y, before[1], rtol=0)


def test_an_evaluation_allocates_no_second_matrix():
    rng = np.random.default_rng(2)
    n, d = 400, 8
    problem = ExactProblem(rng.normal(size=(n, d)), rng.normal(size=n))
    values = named(SEARD(1.0, np.ones(d)), 0.1)
    problem.evidence(values)
    tracemalloc.start()
    problem.evidence(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * n * n * 8


def test_duplicated_rows_without_noise_are_carried_by_the_jitter():
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(15, 3)), 2, axis=0)
    found = ExactProblem(X, rng.normal(size=30)).evidence(named(KERNEL, 0.0))
    assert np.isfinite(found.value)
    assert found.jitter >= JITTER


@pytest.mark.parametrize("make", [ExactProblem, LargeExactProblem])
@pytest.mark.parametrize("n", [12, 150])
def test_left_out_rows_are_predicted_by_the_others(make, n):
    X, y = draw(n)
    values = {"s2_k": np.asarray(1.3), "ell": np.array([0.7, 1.1]), "sigma2": np.asarray(0.05)}
    e, s2 = make(X, y).posterior(values).left_out()
    for i in (0, 5, n - 1):
        mu, s2_f = ExactProblem(np.delete(X, i, 0), np.delete(y, i)).posterior(values).moments(X[i : i + 1])
        assert_allclose([e[i], s2[i]], [y[i] - mu[0], s2_f[0] + 0.05], rtol=1e-8)
