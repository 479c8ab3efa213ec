"""Factorisations and products on BLAS and LAPACK, in place where that saves time.

Two conventions hold everywhere in ``gp``:

* a tall matrix such as ``Knm`` is C-ordered, so that its transpose is the Fortran-ordered (m, n) array which
  BLAS takes without a copy, and a slice of rows is contiguous;
* jitter is *relative*: ``cholesky(A, scale, jitter)`` factors ``A + jitter * scale * I``, and says so.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import blas as scipy_blas
from scipy.linalg import cython_blas, lapack

from hgpbench.la import mkl, unlocked
from hgpbench.la.fortran import published
from hgpbench.la.products import Products

Array = NDArray[np.float64]

JITTER = 1e-6
"""Relative jitter of every kernel matrix unless told otherwise: the authors' value."""

MAX_JITTER = 1e-2
"""The ladder of ``cholesky`` ends here: beyond it the matrix is not the one that was asked for."""

_mkl = mkl.load()
blas: Any = scipy_blas if _mkl is None else _mkl
"""The products of ``gp``: scipy's, or MKL's with the same arguments where the extra ``fast`` is installed."""

free: Products = Products(partial(published, cython_blas)) if _mkl is None else _mkl
"""The same without the interpreter's lock, for threads, and by address for blocks of matrices."""

factors: Any = unlocked if _mkl is None else _mkl
"""Where the same library's ``invert_factor`` and ``square_factor`` are."""


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

    Reads the lower triangle of ``A`` only. Runs without the interpreter's lock.
    """
    Linv = np.empty(A.shape, order="F") if out is None else out
    return _with_jitter(factors.invert_factor, A, scale, jitter, max_jitter, Linv)


def inverse(Linv: Array, out: Array) -> Array:
    """The lower triangle of A^-1 = L^-T L^-1, from an inverse factor, into a Fortran-ordered ``out``."""
    out[...] = Linv
    factors.square_factor(out)
    return out


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
