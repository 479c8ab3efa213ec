"""The libraries behind the door, and that they leave the interpreter's lock alone."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from hgpbench import la
from hgpbench.gp import vshgp
from hgpbench.la import routines
from hgpbench.la.routines import published

MKL = routines.mkl_library()
needs_mkl = pytest.mark.skipif(MKL is None, reason="the extra 'fast' is not installed")


class Stand:
    """scipy's routines behind the few names that the wheel of MKL is asked for."""

    def __getattr__(self, name):
        return lambda setting: 0

    def __getitem__(self, name):
        return routines.ctypes.CFUNCTYPE(None)(published(name))


@pytest.fixture(params=["stand", pytest.param("mkl", marks=needs_mkl)])
def other(request):
    return MKL if request.param == "mkl" else routines._loaded(Stand())


def draw(*shape, seed=0):
    return np.asfortranarray(np.random.default_rng(seed).normal(size=shape))


def test_the_bound_does_not_depend_on_the_library(other, monkeypatch):
    rng = np.random.default_rng(3)
    n, m, d = 150, 70, 4  # well conditioned: what differs is round-off
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    values = {
        "s2_kf": np.asarray(1.0), "ell_f": np.ones(d), "Xm": X[:m],
        "s2_kg": np.asarray(0.7), "ell_g": np.ones(d), "Xu": X[-m:],
        "mu0": np.asarray(-1.0), "lam": rng.uniform(0.4, 0.6, n),
    }  # fmt: skip
    monkeypatch.setattr(routines, "active", routines.scipy_library())
    expected = vshgp.bound(values, X, y, vshgp.Workspace(n, m, m))
    monkeypatch.setattr(routines, "active", other)
    bound = vshgp.bound(values, X, y, vshgp.Workspace(n, m, m))
    assert_allclose(bound.value, expected.value, rtol=1e-11)
    for name, grad in expected.grads.items():
        assert_allclose(bound.grads[name], grad, rtol=0, atol=1e-8 * np.abs(grad).max(), err_msg=name)


@pytest.mark.parametrize("m", [1, 2, 7, 100])
def test_inverse_factors(other, monkeypatch, m):
    root = draw(m, m)
    A = root @ root.T + m * np.eye(m)
    monkeypatch.setattr(routines, "active", other)
    Linv = la.inverse_factor(A).L
    assert_allclose(Linv, np.tril(np.linalg.inv(np.linalg.cholesky(A))), rtol=1e-10, atol=1e-12)


def test_mkl_is_asked_for_settings_that_repeat():
    asked = {}

    class Told(Stand):
        def __getattr__(self, name):
            return lambda setting: asked.setdefault(name, setting)

    assert routines._loaded(Told()).name == "mkl"
    assert asked == {"MKL_Set_Interface_Layer": 0, "MKL_CBWR_Set": 2}


def test_there_may_be_no_mkl(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(routines.metadata, "files", missing)
    assert routines.mkl_library() is None
    monkeypatch.setattr(routines.metadata, "files", lambda name: None)  # installed without a list of files
    assert routines.mkl_library() is None


@needs_mkl
def test_the_place_in_memory_does_not_matter(monkeypatch):
    monkeypatch.setattr(routines, "active", MKL)
    a, b = draw(60, 60), draw(60, 90)
    results = []
    for offset in range(8):
        memory = np.zeros(60 * 90 + 8)
        shifted = memory[offset : offset + 60 * 90].reshape(90, 60).T
        shifted[...] = b
        results.append(la.lower_times(a, shifted).copy())
    for result in results[1:]:
        assert_array_equal(result, results[0])


@needs_mkl
def test_threads_are_those_asked_for():
    with threadpool_limits(1):
        pools = [pool for pool in threadpool_info() if pool["internal_api"] == "mkl"]
        assert [pool["num_threads"] for pool in pools] == [1]


def test_constants_have_addresses_of_their_own():
    addresses = {routines.integer(7), routines.integer(8), routines.real(7.0), routines.single(7.0)}
    assert len(addresses) == 4
    assert routines.integer(7) == routines.integer(7)


def lock_was_free(work):
    """Whether another thread got on while ``work`` ran: it counts to the end of it, and beyond its start."""
    counts, running = [], threading.Event()

    def count():
        running.set()
        while running.is_set():
            counts.append(time.perf_counter())

    thread = threading.Thread(target=count)
    thread.start()
    running.wait()
    start = time.perf_counter()
    work()
    stop = time.perf_counter()
    running.clear()
    thread.join()
    inside = [
        moment for moment in counts if start + 0.25 * (stop - start) < moment < stop - 0.25 * (stop - start)
    ]
    return len(inside) > 0


M = 1200
WORK = {
    "times": lambda A, B: la.times(B.T, A, out=np.empty((M, M))),
    "gram": lambda A, B: la.gram(B.T, out=A),
    "lower_times": lambda A, B: la.lower_times(A, B),
    "symmetric_times": lambda A, B: la.symmetric_times(A, B, out=np.zeros((M, M), order="F")),
    "inverse_factor": lambda A, B: la.inverse_factor(A),
    "cholesky": lambda A, B: la.cholesky(A),
    "factor_to_inverse_": lambda A, B: la.factor_to_inverse_(A),
    "solve_each": lambda A, B: la.solve_each(A[None].copy(), np.ones((1, 300, M))),
}


@pytest.mark.parametrize("name", WORK)
def test_other_threads_go_on_meanwhile(name):
    rng = np.random.default_rng(0)
    A = np.asfortranarray(np.eye(M) + 1e-4 * rng.normal(size=(M, M)))
    A, B = np.asfortranarray(0.5 * (A + A.T)), np.asfortranarray(rng.normal(size=(M, M)))
    # A busy machine may keep the other thread waiting; a lock would keep it every time.
    assert any(lock_was_free(lambda: WORK[name](A.copy(order="F"), B)) for _ in range(20))


def test_factors_of_two_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(0)
    roots = [rng.normal(size=(m, m)) for m in (90, 130)]
    matrices = [np.asfortranarray(root @ root.T + len(root) * np.eye(len(root))) for root in roots]
    expected = [la.inverse_factor(A).L for A in matrices]

    def repeat(A):
        return [la.inverse_factor(A).L for _ in range(50)]

    with ThreadPoolExecutor(2) as pool:
        for results, one in zip(pool.map(repeat, matrices), expected, strict=True):
            for result in results:
                assert_array_equal(result, one)
