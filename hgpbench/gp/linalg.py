"""Factorisations and products on BLAS and LAPACK, in place where that saves time.

Two conventions hold everywhere in ``gp``:

* a tall matrix such as ``Knm`` is C-ordered, so that its transpose is the Fortran-ordered (m, n) array which
  BLAS takes without a copy, and a slice of rows is contiguous;
* jitter is *relative*: ``cholesky(A, scale, jitter)`` factors ``A + jitter * scale * I``, and says so.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import blas as scipy_blas
from scipy.linalg import lapack

from hgpbench.gp import mkl

Array = NDArray[np.float64]

JITTER = 1e-6
"""Relative jitter of every kernel matrix unless told otherwise: the authors' value."""

MAX_JITTER = 1e-2
"""The ladder of ``cholesky`` ends here: beyond it the matrix is not the one that was asked for."""

_mkl = mkl.load()
blas: Any = scipy_blas if _mkl is None else _mkl
"""The products of ``gp``: scipy's, or MKL's with the same arguments where the extra ``fast`` is installed."""

_LEAF = 64  # below this, LAPACK's unblocked code is as quick as ours


class Cholesky(NamedTuple):
    """The lower factor of ``A + jitter * scale * I``, or its inverse, and the jitter that it took."""

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
    return _with_jitter(_factor, A, scale, jitter, max_jitter, L)


def _is_proper(L: Array) -> bool:
    """Whether the diagonal is positive and finite; LAPACK lets NaN and infinity pass."""
    entries = diagonal(L)
    return bool(entries.min() > 0.0 and entries.max() < np.inf)


def logdet(L: Array) -> float:
    """log |L L^T| of a triangular factor."""
    return 2.0 * float(np.log(diagonal(L)).sum())


def diagonal(A: Array) -> Array:
    """The diagonal of a contiguous (m, m) matrix as a vector to read or write in place."""
    return A.ravel(order="K")[:: len(A) + 1]


def inverse_factor(
    A: Array,
    scale: float = 1.0,
    jitter: float = 0.0,
    *,
    max_jitter: float = MAX_JITTER,
    out: Array | None = None,
) -> Cholesky:
    """L^-1 of the Cholesky factor L of ``A`` (m, m), lower triangular; jitter as in ``cholesky``.

    Reads the lower triangle of ``A`` only. Factor and inverse grow together by halves,

        [[L, 0], [C, D]]^-1 = [[L^-1, 0], [-D^-1 C L^-1, D^-1]],

    which turns nearly all of LAPACK's potrf and trtri into products: 1.8 times as fast at m = 175. MKL's are
    quick as they are.
    """
    Linv = np.empty(A.shape, order="F") if out is None else out
    return _with_jitter(_invert_factor, A, scale, jitter, max_jitter, Linv)


def _invert_factor(A: Array) -> bool:
    """Replace ``A`` by the inverse of its Cholesky factor; False when it is not positive definite."""
    if _mkl is not None:
        return _mkl.invert_factor(A)
    m = len(A)
    if m <= _LEAF:
        L, info = lapack.dpotrf(A, lower=True, clean=True)
        if info == 0:
            A[...], info = lapack.dtrtri(L, lower=True, overwrite_c=True)
        return bool(info == 0)
    half = (m // 2 + 7) // 8 * 8
    # f2py takes contiguous arrays only: the blocks are worked on as copies, and put back at the end.
    top = A[:half, :half].copy(order="F")
    if not _invert_factor(top):
        return False
    C = blas.dtrmm(1.0, top, A[half:, :half], side=True, lower=True, trans_a=True)
    low = blas.dsyrk(-1.0, C, beta=1.0, c=A[half:, half:], lower=True)
    if not _invert_factor(low):
        return False
    blas.dtrmm(-1.0, low, C, lower=True, overwrite_b=True)
    blas.dtrmm(1.0, top, C, side=True, lower=True, overwrite_b=True)
    A[:half, :half], A[:half, half:], A[half:, :half], A[half:, half:] = top, 0.0, C, low
    return True


def _factor(A: Array) -> bool:
    # clean=True: callers multiply by L, so its upper triangle must be zero.
    _, info = lapack.dpotrf(A, lower=True, clean=True, overwrite_a=True)
    return bool(info == 0)


def _with_jitter(
    factor: Callable[[Array], bool], A: Array, scale: float, jitter: float, max_jitter: float, out: Array
) -> Cholesky:
    """Factor ``A`` plus jitter into ``out``, with ten times more jitter at each failure."""
    while True:
        out[...] = A
        diagonal(out)[...] += jitter * scale
        if factor(out) and _is_proper(out):
            return Cholesky(out, jitter)
        following = 10.0 * jitter if jitter > 0.0 else 1e-10
        if following > max_jitter * (1.0 + 1e-9) or not np.isfinite(A).all():
            raise LinAlgError(
                f"matrix of {len(A)} rows is not positive definite with relative jitter {jitter:.0e} "
                f"(at most {max_jitter:.0e} is tried)"
            )
        jitter = following


def rowdots(A: Array, B: Array) -> Array:
    """diag(A B^T): the dot products of the rows of two (n, m) matrices, without the product."""
    return np.vecdot(A, B)
