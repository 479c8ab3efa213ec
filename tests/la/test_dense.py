"""Factorisations: right, bounded and honest about jitter."""

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.la.dense import cholesky, inverse, inverse_factor, logdet, rowdots


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
