"""Triangular products and factors that leave other threads alone.

``np.matmul`` releases the interpreter's lock; scipy's wrappers of trmm, potrf and trtri do not (a thread that
waits for one stands still). scipy also publishes the routines themselves, for Cython, with their signatures:
called through ctypes they run unlocked, and on blocks of a matrix without copies of them.
"""

import ctypes
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

from hgpbench.la import fortran

AnyArray = NDArray[Any]

_LAPACK = {"dpotrf": 5, "dtrtri": 6, "dlauum": 5, "dlaset": 7, "dposv": 8}
_DTRMM, _STRMM = (fortran.subroutine(fortran.published(cython_blas, name), 11) for name in ("dtrmm", "strmm"))
_POTRF, _TRTRI, _LAUUM, _LASET, _POSV = (
    fortran.subroutine(fortran.published(cython_lapack, name), count) for name, count in _LAPACK.items()
)
_TRMM = {
    np.dtype(np.float64): (_DTRMM, fortran.real(1.0)),
    np.dtype(np.float32): (_STRMM, fortran.single(1.0)),
}

_LEAF = 48  # below this, LAPACK's unblocked trtri is as quick as products


def trmm(L: AnyArray, B: AnyArray, *, right: bool = False, trans: bool = False) -> AnyArray:
    """L B in place of ``B`` for lower triangular ``L``; B L where ``right``; with L^T where ``trans``.

    Both are Fortran-ordered and of one precision: m m n flops.
    """
    if not (L.flags.f_contiguous and B.flags.f_contiguous and B.flags.writeable and L.dtype == B.dtype):
        raise ValueError("trmm needs Fortran-ordered arrays of one precision, and B writeable")
    rows, columns = B.shape
    if L.shape != (columns, columns) if right else L.shape != (rows, rows):
        raise ValueError(f"trmm of shapes {L.shape} and {B.shape}")
    if B.size == 0:
        return B
    routine, one = _TRMM[B.dtype]
    # fmt: off
    routine(
        fortran.R if right else fortran.L, fortran.L, fortran.T if trans else fortran.N, fortran.N,
        fortran.integer(rows), fortran.integer(columns), one,
        L.ctypes.data, fortran.integer(len(L)), B.ctypes.data, fortran.integer(rows),
    )
    # fmt: on
    return B


def invert_factor(A: NDArray[np.float64]) -> bool:
    """Replace ``A`` (m, m) by the inverse of its Cholesky factor; False when it is not positive definite.

    Reads the lower triangle of a Fortran-ordered matrix and leaves zeros above it: 2/3 m^3 flops. LAPACK's
    trtri is slow at these sizes, so the inverse grows by halves, nearly all of it in products,

        [[L, 0], [C, D]]^-1 = [[L^-1, 0], [-D^-1 C L^-1, D^-1]].
    """
    m, start, info = len(A), fortran.matrix(A), ctypes.c_int()
    status = ctypes.addressof(info)
    _POTRF(fortran.L, fortran.integer(m), start, fortran.integer(m), status)
    if info.value:
        return False
    _invert_triangle(start, m, m, status)
    if info.value == 0 and m > 1:  # the block to the right of the diagonal, from its own diagonal upwards
        rest, zero = fortran.integer(m - 1), fortran.real(0.0)
        _LASET(fortran.U, rest, rest, zero, zero, start + 8 * m, fortran.integer(m))
    return info.value == 0


def square_factor(A: NDArray[np.float64]) -> None:
    """Replace the lower triangle of ``A`` (m, m), Fortran-ordered, by that of A^T A: 1/3 m^3 flops."""
    size, info = fortran.integer(len(A)), ctypes.c_int()
    _LAUUM(fortran.L, size, fortran.matrix(A), size, ctypes.addressof(info))


def _invert_triangle(start: int, m: int, stride: int, status: int) -> None:
    """Invert the lower triangle of the (m, m) block at this address, of a matrix with ``stride`` rows."""
    step = fortran.integer(stride)
    if m <= _LEAF:
        _TRTRI(fortran.L, fortran.N, fortran.integer(m), start, step, status)
        return
    half = (m // 2 + 7) // 8 * 8
    corner, low = start + 8 * half, start + 8 * half * (stride + 1)
    _invert_triangle(start, half, stride, status)
    _invert_triangle(low, m - half, stride, status)
    sizes = fortran.integer(m - half), fortran.integer(half)
    for side, factor, by in ((fortran.L, -1.0, low), (fortran.R, 1.0, start)):
        plain = side, fortran.L, fortran.N, fortran.N
        _DTRMM(*plain, *sizes, fortran.real(factor), by, step, corner, step)


def solve_each(A: NDArray[np.float64], B: NDArray[np.float64]) -> None:
    """Replace the rows of each B_i (j, K) by A_i^-1 times them, for stacks A (s, K, K) and B (s, j, K).

    Each A_i is symmetric, positive definite and used up: K^3 / 3 flops, half of what a general solve takes.
    """
    (count, K, _), j = A.shape, B.shape[1]
    ordered = A.flags.c_contiguous and B.flags.c_contiguous and A.dtype == B.dtype == np.float64
    if A.shape != (count, K, K) or B.shape != (count, j, K) or not ordered:
        raise ValueError(
            f"solve_each of shapes {A.shape} and {B.shape}: they must be C-ordered stacks of doubles"
        )
    info = ctypes.c_int()
    status, size, columns = ctypes.addressof(info), fortran.integer(K), fortran.integer(j)
    start, right = A.ctypes.data, B.ctypes.data
    for i in range(count):
        matrix, rows = start + 8 * i * K * K, right + 8 * i * j * K
        _POSV(fortran.L, size, columns, matrix, size, rows, size, status)
        if info.value:
            raise LinAlgError(f"matrix {i} of {count}, of {K} rows, is not positive definite")
