"""Factorisations: right, bounded and honest about jitter."""

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.la import (
    cholesky,
    diagonal,
    eigen,
    factor_,
    factor_solve,
    factor_to_inverse_,
    inverse,
    inverse_factor,
    invert_lower_,
    logdet,
    rowdots,
    solve_each,
)


def spd(m: int, seed: int = 0) -> np.ndarray:
    A = np.random.default_rng(seed).normal(size=(m, m + 5))
    return A @ A.T / m + 0.1 * np.eye(m)


@pytest.mark.parametrize("m", [1, 2, 63, 64, 65, 97, 130, 201])
def test_inverse_factor_inverts_the_cholesky_factor(m):
    A = spd(m)
    found = inverse_factor(A)
    assert found.jitter == 0.0
    assert_allclose(found.L @ np.linalg.cholesky(A), np.eye(m), atol=1e-12)
    assert_array_equal(np.triu(found.L, 1), 0.0)


def test_inverse_factor_reads_the_lower_triangle_only_and_leaves_its_argument():
    A = np.asfortranarray(spd(90))
    soiled = A + np.triu(np.full(A.shape, 7.0), 1)
    before = soiled.copy()
    out = np.full(A.shape, np.nan, order="F")
    found = inverse_factor(soiled, out=out)
    assert found.L is out
    assert_array_equal(soiled, before)
    assert_allclose(out, inverse_factor(A).L, rtol=1e-14)


@pytest.mark.parametrize("m", [1, 64, 130])
def test_inverse_from_the_inverse_factor(m):
    A = spd(m)
    Linv = inverse_factor(A).L
    before = Linv.copy()
    found = inverse(Linv, out=np.empty((m, m), order="F"))
    assert_allclose(np.tril(found), np.tril(np.linalg.inv(A)), rtol=1e-9, atol=1e-12)
    assert_array_equal(Linv, before)


@pytest.mark.parametrize("factor", [cholesky, inverse_factor])
def test_jitter_is_relative_to_the_scale(factor):
    A = 4.0 * np.eye(3)
    found = factor(A, scale=4.0, jitter=0.01)
    assert found.jitter == 0.01
    expected = np.sqrt(4.04) if factor is cholesky else 1.0 / np.sqrt(4.04)
    assert_allclose(np.diag(found.L), expected, rtol=1e-15)


@pytest.mark.parametrize("factor", [cholesky, inverse_factor])
def test_a_singular_matrix_takes_more_jitter_and_says_so(factor):
    A = np.ones((80, 80)) - 1e-7 * np.eye(80)  # smallest eigenvalue -1e-7
    found = factor(A, scale=1.0, jitter=1e-8)
    assert found.jitter == pytest.approx(1e-6)
    assert np.isfinite(found.L).all()


@pytest.mark.parametrize("factor", [cholesky, inverse_factor])
@pytest.mark.parametrize("entry", [-1.0, np.nan, np.inf])
def test_what_no_jitter_can_mend_raises(factor, entry):
    A = np.eye(70)
    A[40, 40] = entry
    with pytest.raises(LinAlgError, match="70 rows is not positive definite"):
        factor(A, jitter=1e-6)


def test_max_jitter_of_zero_allows_none():
    with pytest.raises(LinAlgError):
        inverse_factor(np.zeros((2, 2)), max_jitter=0.0)


def test_logdet_and_rowdots_agree_with_numpy():
    A = spd(20)
    L = cholesky(A).L
    assert logdet(L) == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-13)
    assert_allclose(rowdots(A, A @ A), np.diag(A @ (A @ A).T), rtol=1e-13)


@pytest.mark.parametrize("m", [1, 2, 48, 49, 120, 201])
def test_factors_in_place(m):
    A = np.asfortranarray(spd(m))
    soiled = np.asfortranarray(A + np.triu(np.full(A.shape, 7.0), 1))  # nothing above the diagonal is read
    assert factor_(soiled)
    L = np.linalg.cholesky(A)
    assert_allclose(np.tril(soiled), L, rtol=1e-12, atol=1e-13)
    b = np.arange(1.0, m + 1.0)
    assert_allclose(factor_solve(soiled, b), np.linalg.solve(A, b), rtol=1e-9)
    assert_array_equal(b, np.arange(1.0, m + 1.0))
    inverted = soiled.copy(order="F")
    invert_lower_(inverted)
    assert_allclose(np.tril(inverted), np.linalg.inv(L), rtol=1e-9, atol=1e-12)
    factor_to_inverse_(soiled)
    assert_allclose(np.tril(soiled), np.tril(np.linalg.inv(A)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("entry", [-1.0, np.nan, np.inf])
def test_what_has_no_factor_is_told(entry):
    A = np.asfortranarray(np.diag([1.0, entry, 1.0]))
    assert not factor_(A)


def test_singular_triangles_are_told():
    with pytest.raises(LinAlgError, match="triangle of 3 rows is singular"):
        invert_lower_(np.asfortranarray(np.diag([1.0, 0.0, 1.0])))
    with pytest.raises(LinAlgError, match="matrix of 3 rows is singular"):
        factor_to_inverse_(np.asfortranarray(np.diag([1.0, 0.0, 1.0])))


def test_matrices_that_lapack_would_misread_are_refused():
    with pytest.raises(TypeError, match="contiguous"):
        factor_(np.eye(6, order="F")[::2, ::2])
    with pytest.raises(ValueError, match="takes float64"):
        factor_(np.eye(3, dtype=np.float32, order="F"))


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
    with pytest.raises(LinAlgError, match="matrix 1 of 2, of 2 rows"):
        solve_each(A, np.ones((2, 1, 2)))
    with pytest.raises(ValueError, match="C-ordered"):
        solve_each(np.asfortranarray(np.stack([np.eye(3)] * 2)), np.ones((2, 1, 3)))
    with pytest.raises(ValueError, match="shapes"):
        solve_each(np.stack([np.eye(3)] * 2), np.ones((2, 3, 1)))


def test_eigenvalues_from_the_smallest_on():
    A = spd(6)
    values, vectors = eigen(A)
    assert (np.diff(values) > 0).all()
    assert_allclose(vectors * values @ vectors.T, A, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("order", ["C", "F"])
def test_diagonals_are_views(order):
    A = np.array(spd(4), order=order)
    diagonal(A)[...] += 1.0
    assert_allclose(A, spd(4) + np.eye(4))
