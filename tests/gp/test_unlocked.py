"""Triangular products outside the interpreter's lock."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.gp.unlocked import trmm


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
