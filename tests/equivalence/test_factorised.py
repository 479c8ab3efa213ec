"""Where the factorised bound is another one: F_V at its optimum, VSGP's, SVGP's, its own over batches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.gp import collapsed, factorised, vshgp
from hgpbench.gp.factorised import Workspace
from hgpbench.gp.process import Process
from hgpbench.gp.whitened import Natural, Rooted, Whitened
from tests.gp.reference import draw, relative_error

X, Y, FULL = draw(seed=21, n=36)
LAM, N, M, U = FULL.pop("lam"), len(Y), len(FULL["Xm"]), len(FULL["Xu"])


def q_of_lambda() -> Natural:
    """VSHGP's q(g_u), with its mean tied to lambda, in whitened coordinates."""
    V = vshgp.project(FULL, X, vshgp.Workspace(N, M, U)).g.V
    B = np.eye(U) + V.T @ (LAM[:, None] * V)
    return Natural.of(B @ ((LAM - 0.5) @ V), B)


def some_q(m: int) -> Rooted:
    rng = np.random.default_rng(22)
    return Rooted.of(0.5 * rng.normal(size=m), np.tril(0.2 * rng.normal(size=(m, m))) + 0.7 * np.eye(m))


def evaluate(values, q, rows=slice(None)):
    return factorised.evaluate(values, q, X[rows], Y[rows], N, Workspace(N, M, U if "g" in q else 0))


def natural(q: Whitened) -> Natural:
    Lam = np.linalg.inv(q.S)
    return Natural.of(Lam @ q.mean, Lam)


@pytest.fixture
def q_g() -> Natural:
    return q_of_lambda()


@pytest.fixture
def optimum(q_g) -> Natural:
    """q(f_m) after one unit natural step from some other place."""
    pulls = evaluate(FULL, {"f": some_q(M).q, "g": q_g.q}).pulls
    return natural(some_q(M).q).step(pulls["f"], 1.0)


def test_a_unit_natural_step_reaches_the_optimum_and_there_the_bound_is_the_collapsed_one(q_g, optimum):
    expected = vshgp.bound(FULL | {"lam": LAM}, X, Y, vshgp.Workspace(N, M, U))
    found = evaluate(FULL, {"f": optimum.q, "g": q_g.q})
    assert found.bound.value == pytest.approx(expected.value, rel=1e-12)
    # By the envelope theorem the derivatives agree as well, where q(g_u) does not move with the parameter.
    for name in ("s2_kf", "ell_f", "Xm"):
        assert relative_error(found.bound.grads[name], expected.grads[name]) < 1e-9


def test_the_optimum_is_the_papers(q_g, optimum):
    # q*(f_m) = N(Kmm KR^-1 Kmn R^-1 y, Kmm KR^-1 Kmm) with KR = Kmm + Kmn R^-1 Knm; whitened by L.
    space = vshgp.Workspace(N, M, U)
    state = vshgp.evaluate(FULL | {"lam": LAM}, X, Y, space)
    assert_allclose(optimum.q.mean, state.alpha, rtol=1e-9)
    again = optimum.step(evaluate(FULL, {"f": optimum.q, "g": q_g.q}).pulls["f"], 1.0)
    assert_allclose(again.Lam, optimum.Lam, rtol=1e-10)
    assert_allclose(again.q.mean, optimum.q.mean, rtol=1e-9)


def test_any_other_q_of_f_is_lower(q_g, optimum):
    best = evaluate(FULL, {"f": optimum.q, "g": q_g.q}).bound.value
    rng = np.random.default_rng(23)
    for _ in range(20):
        mean = optimum.q.mean + 0.01 * rng.normal(size=M)
        bent = np.eye(M) + 0.01 * rng.normal(size=(M, M))
        C = np.linalg.cholesky(bent @ optimum.q.S @ bent.T)
        assert evaluate(FULL, {"f": Rooted.of(mean, C).q, "g": q_g.q}).bound.value < best


@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_the_natural_step_on_g_is_that_of_vshgp(q_g, optimum, gamma):
    # VSHGP keeps the covariance as lambda and the whitened mean free; its q(f_m) is the optimum.
    values = FULL | {"lam": LAM, "w": q_g.q.mean}
    projection = vshgp.project(values, X, vshgp.Workspace(N, M, U))
    V = projection.g.V.copy()
    refined = vshgp.refine(values, Y, projection, gamma, max_shift=np.inf)
    found = q_g.step(evaluate(FULL, {"f": optimum.q, "g": q_g.q}).pulls["g"], gamma)
    assert_allclose(found.Lam, np.eye(U) + V.T @ (refined.lam[:, None] * V), rtol=1e-9)
    assert_allclose(found.q.mean, refined.w, rtol=1e-8)


def test_batches_average_to_the_bound_and_its_derivatives(q_g):
    q = {"f": some_q(M).q, "g": q_g.q}
    whole = evaluate(FULL, q)
    parts = np.array_split(np.random.default_rng(24).permutation(N), 4)
    states = [evaluate(FULL, q, rows) for rows in parts]
    assert np.mean([state.bound.value for state in states]) == pytest.approx(whole.bound.value, rel=1e-12)
    for name, grad in whole.bound.grads.items():
        mean = np.mean([state.bound.grads[name] for state in states], axis=0)
        assert relative_error(mean, grad) < 1e-10
    for letter, pull in whole.pulls.items():
        assert_allclose(
            np.mean([state.pulls[letter].N for state in states], axis=0), pull.N, rtol=1e-9, atol=1e-10
        )


def test_the_sum_of_likelihoods_less_divergence_is_the_bound(q_g):
    q = {"f": some_q(M).q, "g": q_g.q}
    space = Workspace(N, M, U)
    rows = [slice(0, 10), slice(10, 11), slice(11, N)]
    total = sum(factorised.log_likelihood(FULL, q, X[part], Y[part], space) for part in rows)
    assert total - factorised.divergence(q) == pytest.approx(evaluate(FULL, q).bound.value, rel=1e-12)


def test_without_noise_process_it_is_svgp():
    f, quiet = some_q(M).q, FULL | {"s2_kg": np.asarray(1e-13)}
    found = evaluate(quiet, {"f": f, "g": Natural.prior(U).q})
    constant = {name: FULL[name] for name in ("s2_kf", "ell_f", "Xm")} | {"sigma2": np.exp(FULL["mu0"])}
    expected = evaluate(constant, {"f": f})
    assert found.bound.value == pytest.approx(expected.bound.value, rel=1e-11)
    for name in ("s2_kf", "ell_f", "Xm"):
        assert relative_error(found.bound.grads[name], expected.bound.grads[name]) < 1e-10
    by_log = expected.bound.grads["sigma2"] * constant["sigma2"]
    assert float(found.bound.grads["mu0"]) == pytest.approx(float(by_log), rel=1e-9)


def test_svgp_at_its_optimum_is_vsgp():
    values = {name: FULL[name] for name in ("s2_kf", "ell_f", "Xm")} | {"sigma2": np.asarray(0.3)}
    start = Natural.prior(M)
    optimum = start.step(evaluate(values, {"f": start.q}).pulls["f"], 1.0)
    found = evaluate(values, {"f": optimum.q}).bound
    names = {"s2_kf": "s2_k", "ell_f": "ell", "Xm": "Xm", "sigma2": "sigma2"}
    expected = collapsed.bound({names[name]: value for name, value in values.items()}, X, Y, Process(N, M))
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    for name, other in names.items():
        assert relative_error(found.grads[name], expected.grads[other]) < 1e-9
