"""MKL beside scipy. Its wrapper is tested on scipy's own library too, so nothing hangs on MKL."""

from importlib import metadata

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import blas, cython_blas, cython_lapack
from threadpoolctl import threadpool_info, threadpool_limits

from hgpbench.gp import noise, process, vshgp
from hgpbench.la import dense, fortran, mkl, unlocked

INSTALLED = mkl.load()
needs_mkl = pytest.mark.skipif(INSTALLED is None, reason="the extra 'fast' is not installed")


class Stand:
    """scipy's BLAS and LAPACK behind the few names that the wrapper asks MKL for."""

    def __getattr__(self, name):
        return lambda setting: 0

    def __getitem__(self, name):
        module = cython_blas if name in cython_blas.__pyx_capi__ else cython_lapack
        return fortran.published(module, name)


@pytest.fixture(params=["stand", pytest.param("mkl", marks=needs_mkl)])
def routines(request):
    return INSTALLED if request.param == "mkl" else mkl.MKL(Stand())


def draw(*shape, seed=0):
    return np.asfortranarray(np.random.default_rng(seed).normal(size=shape))


def use(monkeypatch, chosen):
    """Let the bounds work with ``chosen``; None for scipy."""
    for module in (process, dense, noise):
        monkeypatch.setattr(module, "blas", chosen or blas)
    monkeypatch.setattr(dense, "free", chosen or dense.free)
    monkeypatch.setattr(dense, "factors", chosen or unlocked)


@pytest.mark.parametrize("m", [1, 2, 7, 100])
def test_inverse_factors(routines, m):
    root = draw(m, m)
    A = np.asfortranarray(root @ root.T + m * np.eye(m))
    expected = np.tril(np.linalg.inv(np.linalg.cholesky(A)))
    A[np.triu_indices(m, 1)] = np.nan  # not read, and cleared
    assert routines.invert_factor(A)
    assert_allclose(A, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 7, 100])
def test_squares_of_factors(routines, m):
    a = draw(m, m)
    lower, upper = np.tril(a), np.triu(a, 1)
    routines.square_factor(a)  # neither reads nor writes above the diagonal
    assert_allclose(a, np.tril(lower.T @ lower) + upper, rtol=1e-12, atol=1e-12)


def test_indefinite_matrices_are_told(routines):
    assert not routines.invert_factor(np.asfortranarray(np.diag([1.0, -1.0, 1.0])))


def test_the_bound_does_not_depend_on_the_library(routines, monkeypatch):
    rng = np.random.default_rng(3)
    n, m, d = 150, 70, 4  # well conditioned: what differs is round-off
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    values = {
        "s2_kf": np.asarray(1.0), "ell_f": np.ones(d), "Xm": X[:m],
        "s2_kg": np.asarray(0.7), "ell_g": np.ones(d), "Xu": X[-m:],
        "mu0": np.asarray(-1.0), "lam": rng.uniform(0.4, 0.6, n),
    }  # fmt: skip
    use(monkeypatch, None)
    expected = vshgp.bound(values, X, y, vshgp.Workspace(n, m, m))
    use(monkeypatch, routines)
    found = vshgp.bound(values, X, y, vshgp.Workspace(n, m, m))
    assert_allclose(found.value, expected.value, rtol=1e-11)
    for name, grad in expected.grads.items():
        assert_allclose(found.grads[name], grad, rtol=0, atol=1e-8 * np.abs(grad).max(), err_msg=name)


def test_there_may_be_none(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(mkl.metadata, "files", missing)
    assert mkl.load() is None
    monkeypatch.setattr(mkl.metadata, "files", lambda name: None)  # installed without a list of files
    assert mkl.load() is None


@needs_mkl
def test_the_place_in_memory_does_not_matter():
    a, b = draw(60, 60), draw(60, 90)
    found = []
    for offset in range(8):
        memory = np.zeros(60 * 90 + 8)
        shifted = memory[offset : offset + 60 * 90].reshape(90, 60).T
        shifted[...] = b
        found.append(INSTALLED.dtrmm(1.0, a, shifted).copy())
    for other in found[1:]:
        assert_array_equal(other, found[0])


@needs_mkl
def test_threads_are_those_asked_for():
    with threadpool_limits(1):
        pools = [pool for pool in threadpool_info() if pool["internal_api"] == "mkl"]
        assert [pool["num_threads"] for pool in pools] == [1]
