"""Products in place beside numpy's, with scipy's library and with MKL's where it is installed."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench import la
from hgpbench.la import routines
from hgpbench.la.products import BLOCK

MKL = routines.mkl_library()
needs_mkl = pytest.mark.skipif(MKL is None, reason="the extra 'fast' is not installed")
SIZES = [1, 7, 8, BLOCK - 1, BLOCK, 2 * BLOCK + 1, 175, 300]
close = {"rtol": 1e-13, "atol": 1e-13}


@pytest.fixture(params=["scipy", pytest.param("mkl", marks=needs_mkl)], autouse=True)
def library(request, monkeypatch):
    monkeypatch.setattr(routines, "active", MKL if request.param == "mkl" else routines.scipy_library())


def draw(*shape, order="F", seed=0):
    return np.asarray(np.random.default_rng(seed).normal(size=shape), order=order)


def lower_only(A):
    """The lower triangle, and above it what nobody may read."""
    return np.asfortranarray(np.where(np.tri(len(A), dtype=bool), A, np.nan))


def test_times():
    V, M, out = draw(7, 5, order="C"), draw(5, 5), np.full((7, 5), np.nan)
    assert la.times(V, M, out=out) is out
    assert_allclose(out, V @ M, **close)


def test_times_transposed():
    X, Z, out = draw(7, 3, order="C"), draw(5, 3), np.full((7, 5), np.nan)
    assert la.times_transposed(X, Z, out=out) is out
    assert_allclose(out, X @ Z.T, **close)


def test_add_transposed_times():
    W, X, out = draw(7, 5, order="C"), draw(7, 3, order="C"), draw(5, 3)
    expected = out + W.T @ X
    assert la.add_transposed_times(W, X, out=out) is out
    assert_allclose(out, expected, **close)


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_gram_writes_the_lower_triangle(beta):
    S, out = draw(7, 5, order="C"), draw(5, 5)
    expected = np.tril(S.T @ S + beta * out) + np.triu(out, 1)
    assert la.gram(S, out=out, beta=beta) is out
    assert_allclose(out, expected, **close)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("right", "trans"), list(itertools.product([False, True], repeat=2)))
def test_lower_times(dtype, right, trans):
    full = draw(5, 5).astype(dtype)
    A = np.tril(full).T if trans else np.tril(full)
    B = draw(*((7, 5) if right else (5, 7)), seed=1).astype(dtype)
    expected = B @ A if right else A @ B
    assert la.lower_times(lower_only(full).astype(dtype), B, right=right, trans=trans) is B
    assert_allclose(B, expected, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_factors_may_lie_in_a_file_that_is_only_read(dtype):
    A, B = np.asfortranarray(np.tril(draw(5, 5))).astype(dtype), draw(5, 3).astype(dtype)
    expected = A @ B
    A.flags.writeable = False
    assert_allclose(la.lower_times(A, B), expected, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-12)
    fixed = np.tril(draw(5, 5)).astype(dtype).T.copy(order="C")
    fixed.flags.writeable = False
    with pytest.raises(TypeError, match="contiguous"):
        la.lower_times(fixed, B)
    other = np.eye(5, order="F", dtype=np.float32 if dtype == np.float64 else np.float64)
    other.flags.writeable = False
    with pytest.raises(ValueError, match="takes float"):
        la.lower_times(other, B)


def test_empty_matrices():
    assert la.lower_times(np.eye(3, order="F"), np.empty((3, 0), order="F")).shape == (3, 0)


def test_symmetric_times_reads_the_lower_triangle():
    S, B, out = draw(5, 5), draw(5, 3, seed=1), draw(5, 3, seed=2)
    symmetric = np.tril(S) + np.tril(S, -1).T
    expected = -0.5 * symmetric @ B + 2.0 * out
    assert la.symmetric_times(lower_only(S), B, out=out, alpha=-0.5, beta=2.0) is out
    assert_allclose(out, expected, **close)


def test_add_outer():
    A, x, y = draw(5, 5), draw(5), draw(5, seed=1)
    expected = A - 2.0 * np.outer(x, y)
    assert la.add_outer(A, x, y, -2.0) is A
    assert_allclose(A, expected, **close)
    symmetric = la.add_outer(A.copy(order="F"), x, x)
    assert_allclose(np.tril(symmetric), np.tril(A + np.outer(x, x)), **close)


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("whole", [True, False])
def test_symmetric_times_lower(m, whole):
    S, C = draw(m, m) + draw(m, m).T, draw(m, m, seed=2)
    A = np.asfortranarray(np.tril(draw(m, m, seed=1)) / m)
    expected = -0.5 * S @ A + 2.0 * C
    found = la.symmetric_times_lower(lower_only(S), A, out=C, alpha=-0.5, beta=2.0, whole=whole)
    assert found is C
    keep = np.asarray if whole else np.tril
    assert_allclose(keep(found), keep(expected), **close)


@pytest.mark.parametrize("m", SIZES)
def test_lower_of_product(m):
    A, G = np.asfortranarray(np.tril(draw(m, m))) / m, draw(m, m, seed=1)
    found = la.lower_of_product(A, G, out=np.full((m, m), np.nan, order="F"))
    assert_allclose(np.tril(found), np.tril(A.T @ G), **close)


@pytest.mark.parametrize("m", SIZES)
def test_together_they_find_the_lower_triangle_of_a_congruence(m):
    """The second may read no more than the first one leaves."""
    S, A = (draw(m, m) + draw(m, m).T) / m, np.asfortranarray(np.tril(draw(m, m, seed=1)))
    G = la.symmetric_times_lower(lower_only(S), A, out=np.full((m, m), np.nan, order="F"), whole=False)
    found = la.lower_of_product(A, G, out=np.empty((m, m), order="F"))
    assert_allclose(np.tril(found), np.tril(A.T @ S @ A), rtol=1e-12, atol=1e-12)


SQUARE, TALL, WIDE = np.eye(3, order="F"), np.ones((4, 3)), np.ones((3, 4), order="F")


@pytest.mark.parametrize(
    "call",
    [
        lambda: la.times(TALL, np.eye(4), out=TALL.copy()),
        lambda: la.times_transposed(TALL, np.ones((5, 2), order="F"), out=np.ones((4, 5))),
        lambda: la.add_transposed_times(TALL, np.ones((5, 2)), out=np.ones((3, 2), order="F")),
        lambda: la.gram(TALL, out=np.eye(4, order="F")),
        lambda: la.lower_times(SQUARE, WIDE, right=True),
        lambda: la.symmetric_times(SQUARE, WIDE, out=SQUARE.copy(order="F")),
        lambda: la.add_outer(SQUARE, np.ones(3), np.ones(4)),
        lambda: la.symmetric_times_lower(SQUARE, np.eye(4, order="F"), out=SQUARE, whole=True),
        lambda: la.lower_of_product(SQUARE, WIDE, out=SQUARE),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call):
    with pytest.raises(ValueError, match=r"shape|numbers"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda A: la.times(np.ones((4, 3)), A, out=np.ones((4, 3))),
        lambda A: la.lower_times(np.eye(3, order="F"), A),
        lambda A: la.symmetric_times(A, np.eye(3, order="F"), out=np.eye(3, order="F")),
        lambda A: la.lower_of_product(A, np.eye(3, order="F"), out=np.eye(3, order="F")),
    ],
)
def test_what_blas_would_misread_is_refused(call):
    with pytest.raises(TypeError, match="contiguous"):
        call(np.arange(9.0).reshape(3, 3))
    with pytest.raises(TypeError, match="contiguous"):
        call(np.eye(6, order="F")[::2, ::2])
    with pytest.raises(ValueError, match="takes float"):
        call(np.eye(3, order="F", dtype=np.float32))
    fixed = np.eye(3, order="F")
    fixed.flags.writeable = False
    with pytest.raises(TypeError, match="not writable"):
        call(fixed)
