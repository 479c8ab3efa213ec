"""Products by address beside scipy's wrappers of the same routines; and MKL's, where it is installed."""

import itertools
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import blas, cython_blas

from hgpbench.la import fortran, mkl
from hgpbench.la.products import Products

MKL = mkl.load()
needs_mkl = pytest.mark.skipif(MKL is None, reason="the extra 'fast' is not installed")


@pytest.fixture(params=["scipy", pytest.param("mkl", marks=needs_mkl)])
def routines(request):
    return MKL if request.param == "mkl" else Products(partial(fortran.published, cython_blas))


def draw(*shape, seed=0):
    return np.asfortranarray(np.random.default_rng(seed).normal(size=shape))


@pytest.mark.parametrize(("trans_a", "trans_b"), list(itertools.product([False, True], repeat=2)))
def test_gemm(routines, trans_a, trans_b):
    a, b, c = draw(*((5, 7) if trans_a else (7, 5))), draw(*((4, 5) if trans_b else (5, 4))), draw(7, 4)
    options = {"trans_a": trans_a, "trans_b": trans_b, "beta": 0.5}
    expected = blas.dgemm(-2.0, a, b, c=c, **options)
    assert routines.dgemm(-2.0, a, b, c=c, **options) is c
    assert_allclose(c, expected, rtol=1e-13, atol=1e-13)


def test_symm_and_syrk_use_lower_triangles(routines):
    a, b, c = draw(5, 5), draw(5, 3), draw(5, 3, seed=1)
    expected = blas.dsymm(-0.5, a, b, beta=2.0, c=c, lower=True)
    assert_allclose(routines.dsymm(-0.5, a, b, beta=2.0, c=c), expected, rtol=1e-13, atol=1e-13)
    expected = blas.dsyrk(-1.0, b, beta=1.0, c=a, lower=True)
    assert_allclose(routines.dsyrk(-1.0, b, beta=1.0, c=a), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("side", "trans_a"), list(itertools.product([False, True], repeat=2)))
def test_trmm(routines, side, trans_a):
    a, b = draw(5, 5), draw(*((3, 5) if side else (5, 3)))
    expected = blas.dtrmm(-1.5, a, b, side=side, trans_a=trans_a, lower=True)
    assert routines.dtrmm(-1.5, a, b, side=side, trans_a=trans_a) is b
    assert_allclose(b, expected, rtol=1e-13, atol=1e-13)


def test_what_would_be_misread_is_refused(routines):
    square, wide = np.eye(3, order="F"), np.ones((3, 4), order="F")
    with pytest.raises(TypeError, match="contiguous"):
        routines.dtrmm(1.0, square, np.ones((3, 4)))
    with pytest.raises(ValueError, match="double"):
        routines.dtrmm(1.0, square.astype(np.float32), wide)
    with pytest.raises(ValueError, match="trmm of shapes"):
        routines.dtrmm(1.0, square, wide, side=True)
    with pytest.raises(ValueError, match="gemm of shapes"):
        routines.dgemm(1.0, square, wide, c=square)
    with pytest.raises(ValueError, match="symm of shapes"):
        routines.dsymm(1.0, square, wide, c=square)
    with pytest.raises(ValueError, match="syrk of shape"):
        routines.dsyrk(1.0, np.ones((4, 3), order="F"), c=square)
    wide.flags.writeable = False
    with pytest.raises(TypeError, match="not writable"):
        routines.dtrmm(1.0, square, wide)
