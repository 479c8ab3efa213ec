"""PIC's evidence and posterior against the dense n by n formulas and central differences."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from hgpbench.gp import block, pic
from hgpbench.gp.block import Block
from hgpbench.gp.pic import Blocks
from hgpbench.la import JITTER
from tests.gp.reference import (
    Values,
    central_differences,
    collapsed_values,
    draw,
    kernel,
    prior,
    relative_error,
)

X, Y, FULL = draw(seed=3, n=40)
VALUES = collapsed_values(FULL)
STARTS = [0, 9, 10, 25, 40]
OWNER = np.repeat(np.arange(4), np.diff(STARTS))
XS = np.random.default_rng(4).normal(size=(12, 3))
OWNER_S = np.array([0, 3, 1, 2, 2, 0, 3, 3, 1, 0, 2, 3])


def conditional(values: Values, A: np.ndarray, a: np.ndarray, B: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Prior covariance of rows A in blocks a and rows B in blocks b: exact inside blocks, else Q."""
    Kmm, Kam, _ = prior(A, values["Xm"], values["s2_k"], values["ell"], JITTER)
    _, Kbm, _ = prior(B, values["Xm"], values["s2_k"], values["ell"], JITTER)
    Q = Kam @ np.linalg.solve(Kmm, Kbm.T)
    return np.where(np.equal.outer(a, b), kernel(A, B, values["s2_k"], values["ell"]), Q)


def dense_covariance(values: Values) -> np.ndarray:
    nugget = JITTER * float(values["s2_k"]) + float(values["sigma2"])
    return conditional(values, X, OWNER, X, OWNER) + nugget * np.eye(len(X))


def test_value_is_the_log_density_under_the_block_prior():
    found = Blocks(X, Y, STARTS).evidence(VALUES)
    expected = multivariate_normal(cov=dense_covariance(VALUES)).logpdf(Y)
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert found.jitter == JITTER


@pytest.mark.parametrize("name", ["s2_k", "ell", "Xm", "sigma2"])
def test_gradient_matches_central_differences(name):
    evidence = Blocks(X, Y, STARTS).evidence
    found = evidence(VALUES).grads[name]
    assert found.shape == VALUES[name].shape
    assert relative_error(found, central_differences(evidence, VALUES, name)) < 1e-7


def test_prediction_is_the_conditional_normal_of_the_block_prior():
    mu, s2 = Blocks(X, Y, STARTS).posterior(VALUES).moments(XS, OWNER_S)
    Ksn = conditional(VALUES, XS, OWNER_S, X, OWNER)
    weights = np.linalg.solve(dense_covariance(VALUES), Ksn.T)
    assert_allclose(mu, weights.T @ Y, rtol=1e-10)
    kd = float(VALUES["s2_k"]) * (1 + JITTER)
    assert_allclose(s2, kd - np.einsum("sn,ns->s", Ksn, weights), rtol=1e-9)


def test_chunks_of_test_rows_do_not_matter(monkeypatch):
    posterior = Blocks(X, Y, STARTS).posterior(VALUES)
    expected = posterior.moments(XS, OWNER_S)
    monkeypatch.setattr(block, "CHUNK_ROWS", 2)
    assert_allclose(posterior.moments(XS, OWNER_S), expected, rtol=1e-12)


def test_far_from_the_data_the_prior_returns():
    mu, s2 = Blocks(X, Y, STARTS).posterior(VALUES).moments(np.full((1, 3), 1e3), np.array([2]))
    assert mu == pytest.approx(0.0)
    assert s2 == pytest.approx(float(VALUES["s2_k"]) * (1 + JITTER))


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(5)
    n = 400
    inputs, target = rng.normal(size=(n, 3)), rng.normal(size=n)
    starts = [0, *np.sort(rng.choice(np.arange(1, n), 60, replace=False)).tolist(), n]
    owners = rng.integers(len(starts) - 1, size=len(XS))
    alone = Blocks(inputs, target, starts)
    expected, moments = alone.evidence(VALUES), alone.posterior(VALUES).moments(XS, owners)
    with ThreadPoolExecutor(3) as pool:

        def run(tasks):
            for future in [pool.submit(task) for task in reversed(tasks)]:
                future.result()

        together = Blocks(inputs, target, starts, run)
        found = together.evidence(VALUES)
        assert found.value == expected.value
        for name, grad in expected.grads.items():
            assert_array_equal(found.grads[name], grad)
        assert_array_equal(together.posterior(VALUES).moments(XS, owners, run), moments)


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_that_are_kept_change_no_bit(monkeypatch, threads):
    with ThreadPoolExecutor(threads) as pool:
        problem = Blocks(X, Y, STARTS, lambda tasks: list(pool.map(lambda task: task(), tasks)))
        kept = problem.evidence(VALUES)
        monkeypatch.setattr(pic, "KEEP_BYTES", 0)
        again = problem.evidence(VALUES)
    assert kept.value == again.value
    for name, grad in kept.grads.items():
        assert_array_equal(again.grads[name], grad)


def test_blocks_are_kept_while_they_fit(monkeypatch):
    made = []
    monkeypatch.setattr(pic, "Block", lambda *given: made.append(1) or Block(*given))
    sizes, m = np.diff(STARTS), len(VALUES["Xm"])
    needed = 8 * np.sum(sizes * (3 * m + 2 * sizes))
    for budget, count in [(needed, 4), (needed - 1, 8)]:
        made.clear()
        monkeypatch.setattr(pic, "KEEP_BYTES", budget)
        Blocks(X, Y, STARTS).evidence(VALUES)
        assert len(made) == count


def test_memory_does_not_grow_with_the_rows_once_blocks_are_too_many_to_keep(monkeypatch):
    monkeypatch.setattr(pic, "KEEP_BYTES", 1_000_000)
    rng = np.random.default_rng(6)
    m, size = 40, 50
    peaks = []
    for n in (2_000, 8_000):  # several blocks a bundle in both
        inputs, target = rng.normal(size=(n, 3)), rng.normal(size=n)
        problem = Blocks(inputs, target, list(range(0, n + 1, size)))
        values = VALUES | {"Xm": inputs[:m]}
        problem.evidence(values)
        tracemalloc.start()
        problem.evidence(values)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 0.5 * 8 * 8_000 * m


def test_evaluations_repeat_and_leave_the_data_alone():
    before = X.copy(), Y.copy()
    problem = Blocks(X, Y, STARTS)
    first = problem.evidence(VALUES)
    posterior = problem.posterior(VALUES)
    moments = posterior.moments(XS, OWNER_S)
    problem.evidence(VALUES | {"sigma2": np.asarray(2.0), "ell": np.ones(3)})
    assert problem.evidence(VALUES).value == first.value
    assert_array_equal(posterior.moments(XS, OWNER_S), moments)
    assert_array_equal(X, before[0])
    assert_array_equal(Y, before[1])


def test_duplicated_rows_without_noise_are_carried_by_the_jitter():
    repeated = np.repeat(X[:20], 2, axis=0)
    found = Blocks(repeated, Y, STARTS).evidence(VALUES | {"sigma2": np.asarray(0.0)})
    assert np.isfinite(found.value)
    assert np.isfinite(found.grads["Xm"]).all()


def test_what_cannot_be_evaluated_is_a_linalg_error_in_any_thread():
    bad = VALUES | {"ell": np.full(3, 1e-320)}
    with np.errstate(all="ignore"), pytest.raises(LinAlgError):
        Blocks(X, Y, STARTS).evidence(bad)
    with np.errstate(all="ignore"), ThreadPoolExecutor(1) as pool, pytest.raises(LinAlgError):
        Blocks(X, Y, STARTS, lambda tasks: [pool.submit(task).result() for task in tasks]).evidence(bad)
