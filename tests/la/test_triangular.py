"""Products of symmetric and triangular matrices by blocks, beside those of whole matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.la.triangular import BLOCK, lower_of_product, symmetric_times_lower

SIZES = [1, 7, 8, BLOCK - 1, BLOCK, 2 * BLOCK + 1, 175, 300]


def draw(m, seed=0):
    return np.asfortranarray(np.random.default_rng(seed).normal(size=(m, m)) / np.sqrt(m))


def lower_only(A):
    """The lower triangle, and above it what nobody may read."""
    return np.asfortranarray(np.where(np.tri(len(A), dtype=bool), A, np.nan))


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("whole", [True, False])
def test_symmetric_times_lower(m, whole):
    S, L, C = draw(m) + draw(m).T, np.asfortranarray(np.tril(draw(m, 1))), draw(m, 2)
    expected = -0.5 * S @ L + 2.0 * C
    found = symmetric_times_lower(lower_only(S), L, out=C, alpha=-0.5, beta=2.0, whole=whole)
    assert found is C
    keep = np.asarray if whole else np.tril
    assert_allclose(keep(found), keep(expected), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("m", SIZES)
def test_lower_of_product(m):
    L, G = np.asfortranarray(np.tril(draw(m))), draw(m, 1)
    found = lower_of_product(L, G, out=np.full((m, m), np.nan, order="F"))
    assert_allclose(np.tril(found), np.tril(L.T @ G), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("m", SIZES)
def test_together_they_find_the_lower_triangle_of_a_congruence(m):
    """The second may read no more than the first one leaves."""
    S, L = draw(m) + draw(m).T, np.asfortranarray(np.tril(draw(m, 1)))
    G = symmetric_times_lower(lower_only(S), L, out=np.full((m, m), np.nan, order="F"), whole=False)
    found = lower_of_product(L, G, out=np.empty((m, m), order="F"))
    assert_allclose(np.tril(found), np.tril(L.T @ S @ L), rtol=1e-13, atol=1e-13)


def test_other_shapes_and_orders_are_refused():
    A = draw(5)
    with pytest.raises(ValueError, match=r"Fortran-ordered \(5, 5\)"):
        lower_of_product(A, np.ascontiguousarray(A), out=A.copy(order="F"))
    with pytest.raises(ValueError, match=r"Fortran-ordered \(5, 5\)"):
        symmetric_times_lower(A, draw(4), out=A.copy(order="F"), whole=True)
