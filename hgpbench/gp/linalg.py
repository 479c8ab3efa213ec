"""Factorisations and products on BLAS and LAPACK, in place where that saves time.

Two conventions hold everywhere in ``gp``:

* a tall matrix such as ``Knm`` is C-ordered, so that its transpose is the Fortran-ordered (m, n) array which
  BLAS takes without a copy, and a slice of rows is contiguous;
* jitter is *relative*: ``cholesky(A, scale, jitter)`` factors ``A + jitter * scale * I``, and says so.
"""

from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

JITTER = 1e-6
"""Relative jitter of every kernel matrix unless told otherwise: the authors' value."""

MAX_JITTER = 1e-2
"""The ladder of ``cholesky`` ends here: beyond it the matrix is not the one that was asked for."""

_BLOCK = 64  # below this, LAPACK's unblocked code is as quick as ours


class Cholesky(NamedTuple):
    """The lower factor ``L`` of ``A + jitter * scale * I`` and the relative ``jitter`` that it took."""

    L: Array
    jitter: float


def cholesky(
    A: Array,
    scale: float = 1.0,
    jitter: float = 0.0,
    *,
    max_jitter: float = MAX_JITTER,
    out: Array | None = None,
) -> Cholesky:
    """Factor the symmetric ``A`` (m, m) plus ``jitter * scale * I``; ten times more jitter at each failure.

    ``out`` is a Fortran-ordered (m, m) buffer. Raises LinAlgError when ``A`` is not finite or when
    ``max_jitter`` is not enough.
    """
    L = np.empty(A.shape, order="F") if out is None else out
    diagonal = np.einsum("ii->i", L)
    while True:
        L[...] = A
        diagonal += jitter * scale
        # clean=True: callers multiply by L, so its upper triangle must be zero.
        _, info = lapack.dpotrf(L, lower=True, clean=True, overwrite_a=True)
        if info == 0 and np.isfinite(diagonal).all():
            return Cholesky(L, jitter)
        next_jitter = 10.0 * jitter if jitter > 0.0 else 1e-10
        if next_jitter > max_jitter * (1.0 + 1e-9) or not np.isfinite(A).all():
            raise LinAlgError(
                f"matrix of {len(A)} rows is not positive definite with relative jitter {jitter:.0e} "
                f"(at most {max_jitter:.0e} is tried)"
            )
        jitter = next_jitter


def logdet(L: Array) -> float:
    """log |L L^T| of a triangular factor."""
    return 2.0 * float(np.log(np.einsum("ii->i", L)).sum())


def tri_inverse(L: Array, out: Array | None = None) -> Array:
    """L^-1 of a lower triangular (m, m) matrix, Fortran-ordered, upper triangle zero: O(m^3 / 3).

    Halving turns nearly all of LAPACK's slow ``trtri`` into matrix products: [[A, 0], [C, B]]^-1 has
    -B^-1 C A^-1 below the diagonal.
    """
    inverse = np.zeros(L.shape, order="F") if out is None else out
    inverse[...] = L
    _invert_in_place(inverse)
    return inverse


def _invert_in_place(L: Array) -> None:
    m = len(L)
    if m <= _BLOCK:
        # Slices of a Fortran array are not contiguous: f2py works on a copy, hence the assignment.
        block, info = lapack.dtrtri(L, lower=True)
        if info != 0:
            raise LinAlgError("triangular matrix is singular")
        L[...] = block
        return
    half = (m // 2 + 7) // 8 * 8
    top, low, corner = L[:half, :half], L[half:, half:], L[half:, :half]
    _invert_in_place(top)
    _invert_in_place(low)
    np.matmul(low @ corner, top, out=corner)
    np.negative(corner, out=corner)


def solve_lower(L: Array, B: Array) -> Array:
    """L^-1 B for a vector or a matrix ``B`` (m, k)."""
    X, _ = lapack.dtrtrs(L, B, lower=True)
    return X


def solve_lower_t(L: Array, B: Array) -> Array:
    """L^-T B for a vector or a matrix ``B`` (m, k)."""
    X, _ = lapack.dtrtrs(L, B, lower=True, trans=True)
    return X


def mirror(low: Array, out: Array | None = None) -> Array:
    """The symmetric matrix with lower triangle ``low`` (m, m), whose upper triangle must be zero."""
    full = np.add(low, low.T, out=out)
    np.einsum("ii->i", full)[...] *= 0.5
    return full


def spd_inverse(Linv: Array, out: Array | None = None) -> Array:
    """(L L^T)^-1 = L^-T L^-1, full and symmetric, from the inverse of the lower factor: O(m^3 / 3)."""
    low, _ = lapack.dlauum(Linv, lower=True)
    return mirror(low, out=out)


def rowdots(A: Array, B: Array) -> Array:
    """diag(A B^T): the dot products of the rows of two (n, m) matrices, without the product."""
    return np.vecdot(A, B)
