"""Triangular products and factors outside the interpreter's lock."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.la.unlocked import invert_factor, solve_each, square_factor, trmm


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("right", "trans"), list(itertools.product([False, True], repeat=2)))
def test_products(dtype, right, trans):
    rng = np.random.default_rng(0)
    full = np.asfortranarray(rng.normal(size=(5, 5)).astype(dtype))
    L = np.tril(full).T if trans else np.tril(full)
    B = np.asfortranarray(rng.normal(size=(7, 5) if right else (5, 7)).astype(dtype))
    expected = B @ L if right else L @ B
    found = trmm(full, B, right=right, trans=trans)  # the upper triangle is not read
    assert found is B
    assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_empty_matrices():
    assert trmm(np.eye(3, order="F"), np.empty((3, 0), order="F")).shape == (3, 0)


def test_what_blas_would_misread_is_refused():
    L, B = np.eye(3, order="F"), np.ones((3, 4), order="F")
    with pytest.raises(ValueError, match="Fortran"):
        trmm(L, np.ones((3, 4)))
    with pytest.raises(ValueError, match="precision"):
        trmm(L.astype(np.float32), B)
    with pytest.raises(ValueError, match="shapes"):
        trmm(L, B, right=True)
    B.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        trmm(L, B)


@pytest.mark.parametrize("m", [1, 2, 48, 49, 120, 201])
def test_inverse_factors(m):
    root = np.random.default_rng(m).normal(size=(m, m))
    A = np.asfortranarray(root @ root.T + m * np.eye(m))
    expected = np.tril(np.linalg.inv(np.linalg.cholesky(A)))
    A[np.triu_indices(m, 1)] = np.nan  # not read, and cleared
    assert invert_factor(A)
    assert_allclose(A, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 49, 175])
def test_squares_of_factors(m):
    A = np.asfortranarray(np.random.default_rng(2).normal(size=(m, m)))
    lower, upper = np.tril(A), np.triu(A, 1)
    square_factor(A)  # neither reads nor writes above the diagonal
    assert_allclose(A, np.tril(lower.T @ lower) + upper, rtol=1e-12, atol=1e-12)


def test_indefinite_matrices_are_told():
    assert not invert_factor(np.asfortranarray(np.diag([1.0, -1.0, 1.0])))


def test_matrices_that_lapack_would_misread_are_refused():
    with pytest.raises(TypeError, match="contiguous"):
        invert_factor(np.eye(6)[::2, ::2])
    with pytest.raises(ValueError, match="double"):
        invert_factor(np.eye(3, dtype=np.float32, order="F"))


def test_factors_of_two_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(0)
    roots = [rng.normal(size=(m, m)) for m in (90, 130)]
    matrices = [np.asfortranarray(root @ root.T + len(root) * np.eye(len(root))) for root in roots]
    expected = [A.copy(order="F") for A in matrices]
    assert all(invert_factor(A) for A in expected)

    def repeat(A):
        found = [A.copy(order="F") for _ in range(50)]
        return all(invert_factor(one) for one in found), found

    with ThreadPoolExecutor(2) as pool:
        for (succeeded, found), one in zip(pool.map(repeat, matrices), expected, strict=True):
            assert succeeded
            for other in found:
                assert_array_equal(other, one)


@pytest.mark.parametrize(("count", "K"), [(0, 3), (1, 1), (4, 7), (3, 60)])
def test_stacks_of_systems(count, K):
    rng = np.random.default_rng(K)
    root = rng.normal(size=(count, K, K))
    A = root @ root.transpose(0, 2, 1) + K * np.eye(K)
    B = rng.normal(size=(count, 2, K))
    expected = np.linalg.solve(A, B.transpose(0, 2, 1)).transpose(0, 2, 1)
    solve_each(A, B)
    assert_allclose(B, expected, rtol=1e-10, atol=1e-12)


def test_a_stack_names_the_matrix_that_fails():
    A = np.stack([np.eye(2), np.diag([1.0, -1.0])])
    with pytest.raises(np.linalg.LinAlgError, match="matrix 1 of 2, of 2 rows"):
        solve_each(A, np.ones((2, 1, 2)))
    with pytest.raises(ValueError, match="C-ordered"):
        solve_each(np.asfortranarray(np.stack([np.eye(3)] * 2)), np.ones((2, 1, 3)))
    with pytest.raises(ValueError, match="shapes"):
        solve_each(np.stack([np.eye(3)] * 2), np.ones((2, 3, 1)))
