"""The mini-batch bound: against dense formulas, central differences, and itself."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp import factorised
from hgpbench.gp.factorised import Workspace
from hgpbench.gp.params import Bound
from hgpbench.gp.whitened import Natural, Rooted
from tests.gp.reference import Values, central_differences, draw, prior, relative_error

N, JITTER = 100, 1e-6  # rows that the batch stands for; relative jitter
M, U = 7, 5


def problem(
    seed: int = 0, constant: bool = False
) -> tuple[np.ndarray, np.ndarray, Values, dict[str, Rooted]]:
    """A batch of 40 rows, parameters, and a q that is neither prior nor optimum."""
    X, y, values = draw(seed, m=M, u=U)
    del values["lam"]
    rng = np.random.default_rng(seed + 100)
    q = {letter: some_q(size, rng) for letter, size in (("f", M), ("g", U))}
    if constant:
        values = {name: values[name] for name in ("s2_kf", "ell_f", "Xm")} | {"sigma2": np.asarray(0.3)}
        del q["g"]
    return X, y, values, q


def some_q(m: int, rng: np.random.Generator) -> Rooted:
    return Rooted.of(0.5 * rng.normal(size=m), np.tril(0.3 * rng.normal(size=(m, m))) + 0.6 * np.eye(m))


def evaluate(values, q, X, y, workspace=None, n=N):
    moments = {letter: one.q for letter, one in q.items()}
    workspace = workspace or Workspace(len(y), M, U if "g" in q else 0)
    return factorised.evaluate(values, moments, X, y, n, workspace, JITTER)


def dense_moments(values: Values, letter: str, inputs: str, q: Rooted, X: np.ndarray):
    """Means, variances and KL of one process as the paper writes them, unwhitened."""
    Kzz, Knz, kd = prior(X, values[inputs], values[f"s2_k{letter}"], values[f"ell_{letter}"], JITTER)
    L = np.linalg.cholesky(Kzz)
    mean, S = L @ q.q.mean, L @ q.q.S @ L.T
    Onz = np.linalg.solve(Kzz, Knz.T).T
    s2 = np.diag(kd * np.eye(len(X)) - Onz @ Knz.T + Onz @ S @ Onz.T)
    log_ratio = np.linalg.slogdet(Kzz)[1] - np.linalg.slogdet(S)[1]
    trace = np.trace(np.linalg.solve(Kzz, S)) + mean @ np.linalg.solve(Kzz, mean)
    return Onz @ mean, s2, 0.5 * (trace - len(Kzz) + log_ratio)


@pytest.mark.parametrize("constant", [False, True])
def test_the_bound_is_the_papers(constant):
    X, y, values, q = problem(constant=constant)
    mu_f, s2_f, kl = dense_moments(values, "f", "Xm", q["f"], X)
    mu_g, s2_g = np.log(values.get("sigma2", np.ones(()))) * np.ones(40), np.zeros(40)
    if not constant:
        mu_g, s2_g, kl_g = dense_moments(values, "g", "Xu", q["g"], X)
        mu_g, kl = mu_g + values["mu0"], kl + kl_g
    # E log N(y | f, e^g) under independent normal f and g
    squares = (y - mu_f) ** 2 + s2_f
    rows = -0.5 * (np.log(2 * np.pi) + mu_g + np.exp(-mu_g + 0.5 * s2_g) * squares)
    assert evaluate(values, q, X, y).bound.value == pytest.approx(N / 40 * rows.sum() - kl, rel=1e-11)


@pytest.mark.parametrize("name", ["s2_kf", "ell_f", "Xm", "s2_kg", "ell_g", "Xu", "mu0"])
def test_derivatives(name):
    X, y, values, q = problem(1)
    workspace = Workspace(40, M, U)
    found = evaluate(values, q, X, y, workspace).bound.grads[name]
    expected = central_differences(lambda moved: evaluate(moved, q, X, y, workspace).bound, values, name)
    assert relative_error(found, expected) < 1e-7


@pytest.mark.parametrize("name", ["s2_kf", "ell_f", "Xm", "sigma2"])
def test_derivatives_with_constant_noise(name):
    X, y, values, q = problem(2, constant=True)
    workspace = Workspace(40, M)
    found = evaluate(values, q, X, y, workspace).bound.grads[name]
    expected = central_differences(lambda moved: evaluate(moved, q, X, y, workspace).bound, values, name)
    assert relative_error(found, expected) < 1e-7


@pytest.mark.parametrize("letter", ["f", "g"])
@pytest.mark.parametrize("name", ["mean", "C"])
def test_derivatives_by_q(letter, name):
    X, y, values, q = problem(3)
    workspace = Workspace(40, M, U)

    def bound(coordinates: Values) -> Bound:
        moved = Rooted.of(coordinates["mean"], np.tril(coordinates["C"]))
        return evaluate(values, q | {letter: moved}, X, y, workspace).bound

    dmean, dC = q[letter].grad(evaluate(values, q, X, y, workspace).pulls[letter])
    expected = central_differences(bound, q[letter].arrays(), name)
    assert relative_error({"mean": dmean, "C": dC}[name], expected) < 1e-6


@pytest.mark.parametrize("letter", ["f", "g"])
def test_the_natural_step_is_theta_plus_gamma_times_the_expectation_gradient(letter):
    X, y, values, q = problem(4)
    pull = evaluate(values, q, X, y).pulls[letter]
    old = q[letter].q
    Lam = np.linalg.inv(old.S)
    dmean, dC = q[letter].grad(pull)
    # dF/dC = tril(2 dF/dS C) holds dF/dS in its lower triangle; the rest is symmetry.
    dS = 0.5 * (Lam - np.eye(len(Lam)) - pull.N)
    assert_allclose(dC, np.tril(2 * dS @ q[letter].C), atol=1e-10)
    gamma = 0.3
    step = Natural.of(Lam @ old.mean, Lam).step(pull, gamma)
    assert_allclose(step.theta1, Lam @ old.mean + gamma * (dmean - 2 * dS @ old.mean), rtol=1e-10)
    assert_allclose(-0.5 * step.Lam, -0.5 * Lam + gamma * dS, rtol=1e-10)
    assert_allclose(step.q.S @ step.Lam, np.eye(len(Lam)), atol=1e-12)
    assert_allclose(step.Lam @ step.q.mean, step.theta1, rtol=1e-10)


@pytest.mark.parametrize("gamma", [1e-4, 0.5, 1.0])
def test_the_natural_step_stays_positive_definite(gamma):
    X, y, values, q = problem(5)
    for letter, size in (("f", M), ("g", U)):
        step = Natural.prior(size).step(evaluate(values, q, X, y, n=10**9).pulls[letter], gamma)
        assert np.linalg.eigvalsh(step.Lam)[0] >= 1.0 - 1e-6  # I, and never less, is in every combination


def test_a_step_changes_nothing_that_it_was_given():
    X, y, values, q = problem(6)
    before = {name: value.copy() for name, value in values.items()}
    arrays = {letter: {name: a.copy() for name, a in one.arrays().items()} for letter, one in q.items()}
    for array in (X, y, *values.values()):
        array.flags.writeable = False
    evaluate(values, q, X, y)
    for name, value in before.items():
        assert_array_equal(values[name], value)
    for letter, one in q.items():
        for name, array in one.arrays().items():
            assert_array_equal(array, arrays[letter][name])


def test_memory_may_be_larger_than_the_batch_and_is_used_again():
    X, y, values, q = problem(7)
    large = Workspace(90, M, U)
    expected = evaluate(values, q, X, y)
    for _ in range(2):
        found = evaluate(values, q, X, y, large)
        assert found.bound.value == expected.bound.value
        for name, grad in expected.bound.grads.items():
            assert_array_equal(found.bound.grads[name], grad)
        evaluate(values, q, X[:13], y[:13], large)


def test_threads_change_no_bit():
    X, y, values, q = problem(8)
    with ThreadPoolExecutor(3) as pool:

        def together(tasks):
            for future in [pool.submit(task) for task in reversed(tasks)]:
                future.result()

        found = evaluate(values, q, X, y, Workspace(40, M, U, run=together))
    expected = evaluate(values, q, X, y)
    assert found.bound.value == expected.bound.value
    for name, grad in expected.bound.grads.items():
        assert_array_equal(found.bound.grads[name], grad)
    for letter, pull in expected.pulls.items():
        assert_array_equal(found.pulls[letter].N, pull.N)


def test_single_precision_products_are_close():
    X, y, values, q = problem(9)
    found, expected = evaluate(values, q, X, y, Workspace(40, M, U, single=True)), evaluate(values, q, X, y)
    assert found.bound.value == pytest.approx(expected.bound.value, rel=1e-5)
    for name, grad in expected.bound.grads.items():
        assert relative_error(found.bound.grads[name], grad) < 1e-4
        assert found.bound.grads[name].dtype == np.float64
    for pull in found.pulls.values():
        assert np.linalg.eigvalsh(pull.N)[0] > -1e-12 * np.trace(pull.N)  # not negative, as in double


def test_posteriors_are_the_moments_of_the_bound():
    X, _, values, q = problem(10)
    moments = {letter: one.q for letter, one in q.items()}
    found = factorised.posteriors(values, moments, Workspace(40, M, U), JITTER)
    for letter, inputs, mean in (("f", "Xm", 0.0), ("g", "Xu", values["mu0"])):
        mu, s2, _ = dense_moments(values, letter, inputs, q[letter], X)
        assert_allclose(found[letter].moments(X)[0], mu + mean, rtol=1e-9)
        assert_allclose(found[letter].moments(X)[1], s2, rtol=1e-9)


def test_inducing_points_that_coincide_take_more_jitter():
    X, y, values, q = problem(11)
    values["Xm"][1:] = values["Xm"][0]
    moments = {letter: one.q for letter, one in q.items()}
    found = factorised.evaluate(values, moments, X, y, N, Workspace(40, M, U), jitter=0.0)
    assert 0.0 < found.bound.jitter <= 1e-2
    assert np.isfinite(found.bound.value)
