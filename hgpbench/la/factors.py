"""Cholesky factors, their inverses, and what follows from them; jitter is *relative*, and told.

``cholesky(A, scale, jitter)`` factors ``A + jitter * scale * I``. Where a factor multiplies many matrices, as
L^-1 does in every bound, its inverse is formed once: products run at the processor's rate, solves do not.
"""

import ctypes
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import eigh as _eigh

from hgpbench.la import routines
from hgpbench.la.arrays import Array, diagonal
from hgpbench.la.routines import L, N, R, U, at, integer, real

JITTER = 1e-6
"""Relative jitter of every kernel matrix unless told otherwise: the authors' value."""

MAX_JITTER = 1e-2
"""The ladder of ``cholesky`` ends here: beyond it the matrix is not the one that was asked for."""


class Factor(NamedTuple):
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
) -> Factor:
    """Factor the symmetric ``A`` (m, m) plus ``jitter * scale * I``; ten times more jitter at each failure.

    Reads the lower triangle of ``A``; the factor has zeros above its diagonal. ``out`` is a Fortran-ordered
    (m, m) buffer. Raises LinAlgError when ``A`` is not finite or when ``max_jitter`` is not enough.
    """
    return _with_jitter(_factor_and_clear, A, scale, jitter, max_jitter, out)


def inverse_factor(
    A: Array,
    scale: float = 1.0,
    jitter: float = 0.0,
    *,
    max_jitter: float = MAX_JITTER,
    out: Array | None = None,
) -> Factor:
    """L^-1 of the Cholesky factor L of ``A`` (m, m), lower triangular; otherwise as ``cholesky``."""
    return _with_jitter(_factor_and_invert, A, scale, jitter, max_jitter, out)


def logdet(A: Array) -> float:
    """log |A A^T| of a triangular factor."""
    return 2.0 * float(np.log(diagonal(A)).sum())


def inverse(Linv: Array, *, out: Array) -> Array:
    """The lower triangle of A^-1 = L^-T L^-1, from an inverse factor, into a Fortran-ordered ``out``."""
    out[...] = Linv
    size, info = integer(len(out)), ctypes.c_int()
    routines.active.lauum(L, size, at(out), size, ctypes.addressof(info))
    return out


def factor_(A: Array) -> bool:
    """Replace the lower triangle of a Fortran-ordered ``A`` by its factor; False where it has none."""
    size, info = integer(len(A)), ctypes.c_int()
    routines.active.potrf(L, size, at(A), size, ctypes.addressof(info))
    return info.value == 0 and _is_proper(A)


def factor_to_inverse_(A: Array) -> None:
    """Replace a factor by the inverse of the matrix, lower triangles: 2/3 m^3 flops."""
    size, info = integer(len(A)), ctypes.c_int()
    routines.active.potri(L, size, at(A), size, ctypes.addressof(info))
    if info.value:
        raise LinAlgError(f"matrix of {len(A)} rows is singular")


def invert_lower_(A: Array) -> None:
    """Replace a lower triangle by its inverse: 1/3 m^3 flops."""
    info = ctypes.c_int()
    _invert_triangle(at(A), len(A), len(A), ctypes.addressof(info))
    if info.value:
        raise LinAlgError(f"triangle of {len(A)} rows is singular")


def factor_solve(A: Array, b: Array) -> Array:
    """(A A^T)^-1 b for a lower factor ``A`` (m, m) and a vector (m,)."""
    size, x, info = integer(len(A)), b.copy(), ctypes.c_int()
    routines.active.potrs(L, size, integer(1), at(A), size, at(x), size, ctypes.addressof(info))
    return x


def solve_each(A: Array, B: Array) -> None:
    """Replace the rows of each B_i (j, K) by A_i^-1 times them, for stacks A (s, K, K) and B (s, j, K).

    Each A_i is symmetric, positive definite and used up: K^3 / 3 flops, half of what a general solve takes.
    """
    (count, K, _), j = A.shape, B.shape[1]
    ordered = A.flags.c_contiguous and B.flags.c_contiguous and A.dtype == B.dtype == np.float64
    if A.shape != (count, K, K) or B.shape != (count, j, K) or not ordered:
        raise ValueError(
            f"solve_each of shapes {A.shape} and {B.shape}: they must be C-ordered stacks of doubles"
        )
    info, solve = ctypes.c_int(), routines.active.posv
    status, size, columns = ctypes.addressof(info), integer(K), integer(j)
    start, right = A.ctypes.data, B.ctypes.data
    for i in range(count):
        solve(L, size, columns, start + 8 * i * K * K, size, right + 8 * i * j * K, size, status)
        if info.value:
            raise LinAlgError(f"matrix {i} of {count}, of {K} rows, is not positive definite")


def eigen(A: Array) -> tuple[Array, Array]:
    """Eigenvalues (m,) of a symmetric matrix, from the smallest on, and eigenvectors as columns (m, m)."""
    values, vectors = _eigh(A)
    return values, vectors


def _with_jitter(
    factor: Callable[[Array], bool], A: Array, scale: float, jitter: float, most: float, out: Array | None
) -> Factor:
    """Factor ``A`` plus jitter into ``out``, with ten times more jitter at each failure."""
    if out is None:
        out = np.empty(A.shape, order="F")
    while True:
        out[...] = A
        diagonal(out)[...] += jitter * scale
        if factor(out) and _is_proper(out):
            return Factor(out, jitter)
        following = 10.0 * jitter if jitter > 0.0 else 1e-10
        if following > most * (1.0 + 1e-9) or not np.isfinite(A).all():
            raise LinAlgError(
                f"matrix of {len(A)} rows is not positive definite with relative jitter {jitter:.0e} "
                f"(at most {most:.0e} is tried)"
            )
        jitter = following


def _is_proper(A: Array) -> bool:
    """Whether the diagonal is positive and finite; LAPACK lets NaN and infinity pass."""
    entries = diagonal(A)
    return bool(entries.min() > 0.0 and entries.max() < np.inf)


def _factor_and_clear(A: Array) -> bool:
    size, info = integer(len(A)), ctypes.c_int()
    routines.active.potrf(L, size, at(A), size, ctypes.addressof(info))
    _clear_above(A)
    return info.value == 0


def _factor_and_invert(A: Array) -> bool:
    """LAPACK's trtri is slow at these sizes, so the inverse grows by halves: see ``_invert_triangle``."""
    m, start, info = len(A), at(A), ctypes.c_int()
    size, status = integer(m), ctypes.addressof(info)
    routines.active.potrf(L, size, start, size, status)
    if info.value:
        return False
    _invert_triangle(start, m, m, status)
    _clear_above(A)
    return info.value == 0


def _clear_above(A: Array) -> None:
    """Zeros above the diagonal: the block to the right of it, from its own diagonal upwards."""
    m = len(A)
    if m > 1:
        rest, zero = integer(m - 1), real(0.0)
        routines.active.laset(U, rest, rest, zero, zero, at(A) + 8 * m, integer(m))


def _invert_triangle(start: int, m: int, stride: int, status: int) -> None:
    """Invert the lower triangle of the (m, m) block at this address, of a matrix with ``stride`` rows.

    By halves, so that nearly all of it are products: 1/3 m^3 flops,

        [[A, 0], [C, D]]^-1 = [[A^-1, 0], [-D^-1 C A^-1, D^-1]].
    """
    step, library = integer(stride), routines.active
    if m <= library.leaf:
        library.trtri(L, N, integer(m), start, step, status)
        return
    half = (m // 2 + 7) // 8 * 8
    corner, low = start + 8 * half, start + 8 * half * (stride + 1)
    _invert_triangle(start, half, stride, status)
    _invert_triangle(low, m - half, stride, status)
    sizes = integer(m - half), integer(half)
    for side, factor, by in ((L, -1.0, low), (R, 1.0, start)):
        library.trmm(side, L, N, N, *sizes, real(factor), by, step, corner, step)
