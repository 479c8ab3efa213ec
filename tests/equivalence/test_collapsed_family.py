"""Where two models are one: the exact GP, VSGP, FITC and VSHGP in each other's limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from hgpbench.gp import collapsed, vshgp
from hgpbench.gp.kernels import KERNELS, Families
from hgpbench.gp.process import Process
from hgpbench.gp.tasks import serially
from tests.gp.reference import DEFINITIONS, collapsed_values, dense_q_g, draw, prior, relative_error

X, Y, FULL = draw(seed=11, n=35)
SPARSE = collapsed_values(FULL)
# Short lengthscales keep K(X, X) well conditioned, so that no jitter is needed and round-off is all that is left.
DENSE = SPARSE | {"Xm": X, "ell": np.full(3, 0.5)}
KINDS = ("vfe", "fitc")


@pytest.fixture(params=KERNELS)
def kernel(request) -> str:
    return request.param


def memory(m: int, kernel: str) -> Process:
    return Process(len(X), m, serially, KERNELS[kernel])


def workspace(kernel: str) -> vshgp.Workspace:
    families = Families(KERNELS[kernel], KERNELS[kernel])
    return vshgp.Workspace(len(X), len(FULL["Xm"]), len(FULL["Xu"]), families=families)


def sparse(values, kind, kernel, jitter=0.0):
    return collapsed.bound(values, X, Y, memory(len(values["Xm"]), kernel), kind, jitter)


def exact_covariance(values, kernel) -> np.ndarray:
    K = DEFINITIONS[kernel](X, X, values["s2_k"], values["ell"])
    return K + float(values["sigma2"]) * np.eye(len(X))


def exact_evidence(values, kernel) -> float:
    return float(multivariate_normal(cov=exact_covariance(values, kernel)).logpdf(Y))


@pytest.mark.parametrize("kind", KINDS)
def test_inducing_points_at_the_data_give_the_exact_evidence(kind, kernel):
    expected = exact_evidence(DENSE, kernel)
    assert sparse(DENSE, kind, kernel).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["s2_k", "ell", "sigma2"])
def test_there_both_gradients_are_that_of_the_evidence(name, kernel):
    # At Xm = X the trace term and its derivative by the kernel vanish.
    found = [sparse(DENSE, kind, kernel).grads[name] for kind in KINDS]
    assert relative_error(found[0], found[1]) < 1e-9
    step, expected = 1e-6, np.empty(DENSE[name].shape)
    for index in np.ndindex(expected.shape):
        move = np.zeros(DENSE[name].shape)
        move[index] = step
        up, down = (exact_evidence(DENSE | {name: DENSE[name] + sign * move}, kernel) for sign in (1, -1))
        expected[index] = (up - down) / (2 * step)
    assert relative_error(found[0], expected) < 1e-7


@pytest.mark.parametrize("kind", KINDS)
def test_there_prediction_is_the_exact_gp(kind, kernel):
    Xs = np.random.default_rng(12).normal(size=(9, 3))
    K, Ksn = exact_covariance(DENSE, kernel), DEFINITIONS[kernel](Xs, X, DENSE["s2_k"], DENSE["ell"])
    mu, s2 = collapsed.posterior(DENSE, X, Y, memory(len(X), kernel), kind, jitter=0.0).moments(Xs)
    assert_allclose(mu, Ksn @ np.linalg.solve(K, Y), rtol=1e-9, atol=1e-12)
    assert_allclose(s2, float(DENSE["s2_k"]) - np.diag(Ksn @ np.linalg.solve(K, Ksn.T)), rtol=1e-9)


def test_vshgp_without_noise_process_is_vsgp(kernel):
    # The clean limit is k_g -> 0: r = exp(mu0), and the price of g vanishes with it (maths: erratum 9).
    quiet = FULL | {"s2_kg": np.asarray(1e-13)}
    found = vshgp.bound(quiet, X, Y, workspace(kernel))
    expected = sparse(SPARSE | {"sigma2": np.exp(FULL["mu0"])}, "vfe", kernel, jitter=1e-6)
    assert found.value == pytest.approx(expected.value, rel=1e-11)
    assert relative_error(found.grads["Xm"], expected.grads["Xm"]) < 1e-10
    # by mu0 the noise variance e^mu0 moves
    assert float(found.grads["mu0"]) == pytest.approx(
        float(expected.grads["sigma2"] * np.exp(FULL["mu0"])), rel=1e-9
    )


def test_prior_noise_process_costs_a_quarter_of_its_variance(kernel):
    # lambda = 0 is q(g_u) = p(g_u) up to the tied mean; with the mean free at zero it is the prior itself.
    still = FULL | {"lam": np.full(len(X), 1e-14), "w": np.zeros(len(FULL["Xu"]))}
    s2_kg = float(FULL["s2_kg"]) * (1 + 1e-6)
    found = vshgp.bound(still, X, Y, workspace(kernel)).value
    shrunk = SPARSE | {"sigma2": np.exp(FULL["mu0"] - 0.5 * s2_kg)}
    expected = sparse(shrunk, "vfe", kernel, jitter=1e-6).value - 0.25 * len(X) * s2_kg
    assert found == pytest.approx(expected, rel=1e-11)


def dense_f(values, mu_m: np.ndarray, S_m: np.ndarray, jitter: float) -> float:
    """The uncollapsed bound F at q(f_m) = N(mu_m, S_m), as the paper prints it."""
    Kmm, Knm, kd = prior(X, values["Xm"], values["s2_kf"], values["ell_f"], jitter)
    _, _, mu_g, s2_g, kl_g = dense_q_g(values, X, jitter)
    r = np.exp(mu_g - 0.5 * s2_g)
    Onm = np.linalg.solve(Kmm, Knm.T).T
    mu_f = Onm @ mu_m
    s2_f = kd - np.sum(Onm * Knm, axis=1) + np.sum((Onm @ S_m) * Onm, axis=1)
    log_lik = -0.5 * (np.log(2 * np.pi * r) + (Y - mu_f) ** 2 / r)
    kl_f = 0.5 * (
        np.trace(np.linalg.solve(Kmm, S_m))
        + mu_m @ np.linalg.solve(Kmm, mu_m)
        - len(Kmm)
        + np.linalg.slogdet(Kmm)[1]
        - np.linalg.slogdet(S_m)[1]
    )
    return float(np.sum(log_lik - 0.25 * s2_g - 0.5 * s2_f / r) - kl_f - kl_g)


def test_f_at_its_best_q_is_f_v_and_lower_elsewhere():
    FV = vshgp.bound(FULL, X, Y, workspace("se")).value
    Kmm, Knm, _ = prior(X, FULL["Xm"], FULL["s2_kf"], FULL["ell_f"], 1e-6)
    _, _, mu_g, s2_g, _ = dense_q_g(FULL, X, 1e-6)
    rho = np.exp(0.5 * s2_g - mu_g)
    KR = Kmm + Knm.T @ (rho[:, None] * Knm)
    mu_m, S_m = Kmm @ np.linalg.solve(KR, Knm.T @ (rho * Y)), Kmm @ np.linalg.solve(KR, Kmm)
    assert dense_f(FULL, mu_m, S_m, 1e-6) == pytest.approx(FV, rel=1e-11)

    rng = np.random.default_rng(13)
    for size in (1e-3, 1e-1, 1.0):
        elsewhere = mu_m + size * rng.normal(size=len(mu_m))
        assert dense_f(FULL, elsewhere, S_m, 1e-6) < FV
        A = rng.normal(size=S_m.shape)
        assert dense_f(FULL, mu_m, S_m + size * A @ A.T, 1e-6) < FV
        assert dense_f(FULL, mu_m, S_m / (1.0 + size), 1e-6) < FV


def test_more_inducing_points_bring_vshgp_to_vhgp():
    # VHGP is VSHGP with Xm = Xu = X; at fixed kernels the best bound rises towards it.
    bounds = []
    for m in (5, 15, 25, len(X)):
        values = FULL | {"Xm": X[:m], "Xu": X[:m], "w": np.zeros(m)}
        projection = vshgp.project(values, X, vshgp.Workspace(len(X), m, m))
        for _ in range(40):
            step = vshgp.refine(values, Y, projection)
            values |= {"lam": step.lam, "w": step.w}
        bounds.append(step.value)
    assert (np.diff(bounds) > 0.0).all()
