"""Products in place, without copies: general, triangular, symmetric, and halves of them by blocks.

Square matrices are Fortran-ordered, tall ones such as Knm C-ordered, so that their transposes are what BLAS
reads. BLAS can leave out the zeros of a triangle (trmm) or half of a symmetric result (syrk), but not both,
and not the half of a product of which only the lower triangle is wanted. By blocks all of that is gemm and
symm, which run at the processor's rate at sizes where trmm does not.
"""

from functools import cache
from itertools import pairwise

from hgpbench.la import routines
from hgpbench.la.arrays import Array
from hgpbench.la.routines import ONE, SINGLE, ZERO, L, N, R, T, at, at_fixed, at_rows, integer, real, single

BLOCK = 48
"""About as many columns as gemm needs for its full rate; with smaller blocks fewer zeros are multiplied."""


def times(V: Array, A: Array, *, out: Array) -> Array:
    """V A into ``out``, both C-ordered (n, m), for a Fortran-ordered A (m, m): 2 n m^2 flops."""
    n, m = V.shape
    if A.shape != (m, m) or out.shape != (n, m):
        raise ValueError(f"times of shapes {V.shape} and {A.shape} into {out.shape}")
    m_ = integer(m)
    # fmt: off
    routines.active.gemm(
        T, N, m_, integer(n), m_, ONE, at(A), m_, at_rows(V), m_, ZERO, at_rows(out), m_
    )
    # fmt: on
    return out


def times_transposed(X: Array, Z: Array, *, out: Array) -> Array:
    """X Z^T into a C-ordered ``out`` (n, m), for C-ordered X (n, k) and Fortran-ordered Z (m, k)."""
    (n, k), m = X.shape, len(Z)
    if Z.shape != (m, k) or out.shape != (n, m):
        raise ValueError(f"times_transposed of shapes {X.shape} and {Z.shape} into {out.shape}")
    m_, k_ = integer(m), integer(k)
    # fmt: off
    routines.active.gemm(
        N, N, m_, integer(n), k_, ONE, at_fixed(Z), m_, at_rows(X), k_, ZERO, at_rows(out), m_
    )
    # fmt: on
    return out


def add_transposed_times(W: Array, X: Array, *, out: Array) -> Array:
    """out + W^T X in place of a Fortran-ordered ``out`` (m, k), for C-ordered W (n, m) and X (n, k).

    Not numpy's product, which is slow for tall and narrow matrices.
    """
    (n, m), k = W.shape, X.shape[1]
    if len(X) != n or out.shape != (m, k):
        raise ValueError(f"add_transposed_times of shapes {W.shape} and {X.shape} to {out.shape}")
    m_, k_ = integer(m), integer(k)
    # fmt: off
    routines.active.gemm(
        N, T, m_, k_, integer(n), ONE, at_rows(W), m_, at_rows(X), k_, ONE, at(out), m_
    )
    # fmt: on
    return out


def gram(S: Array, *, out: Array, beta: float = 0.0) -> Array:
    """The lower triangle of S^T S + beta out into ``out`` (m, m), for C-ordered S (n, m): n m^2 flops."""
    n, m = S.shape
    if out.shape != (m, m):
        raise ValueError(f"gram of shape {S.shape} into {out.shape}")
    m_, n_ = integer(m), integer(n)
    routines.active.syrk(L, N, m_, n_, ONE, at_rows(S), m_, real(beta), at(out), m_)
    return out


def lower_times(A: Array, B: Array, *, right: bool = False, trans: bool = False) -> Array:
    """A B in place of ``B`` for lower triangular ``A``; B A where ``right``; with A^T where ``trans``.

    Both are Fortran-ordered and of one precision, single or double: m^2 n flops. What is above the diagonal
    of ``A`` is not read, and ``A`` need not be writeable.
    """
    rows, columns = B.shape
    size = columns if right else rows
    if A.shape != (size, size):
        raise ValueError(f"lower_times of shapes {A.shape} and {B.shape}")
    if B.size == 0:
        return B
    side, op, m, n = R if right else L, T if trans else N, integer(rows), integer(columns)
    if B.dtype == SINGLE:
        one, by, on = single(1.0), at_fixed(A, SINGLE), at(B, SINGLE)
        routines.active.single_trmm(side, L, op, N, m, n, one, by, integer(size), on, m)
    else:
        routines.active.trmm(side, L, op, N, m, n, ONE, at_fixed(A), integer(size), at(B), m)
    return B


def symmetric_times(S: Array, B: Array, *, out: Array, alpha: float = 1.0, beta: float = 0.0) -> Array:
    """alpha S B + beta out into ``out``, from the lower triangle of a symmetric S (m, m): 2 m^2 n flops."""
    m, n = out.shape
    if S.shape != (m, m) or B.shape != out.shape:
        raise ValueError(f"symmetric_times of shapes {S.shape} and {B.shape} into {out.shape}")
    m_, n_ = integer(m), integer(n)
    # fmt: off
    routines.active.symm(L, L, m_, n_, real(alpha), at(S), m_, at(B), m_, real(beta), at(out), m_)
    # fmt: on
    return out


def add_outer(A: Array, x: Array, y: Array, alpha: float = 1.0) -> Array:
    """A + alpha x y^T in place of ``A`` (m, m); of a symmetric product, x = y, the lower triangle alone."""
    m = integer(len(A))
    if A.shape != (len(x), len(y)) or len(x) != len(y):
        raise ValueError(f"add_outer of {len(x)} and {len(y)} numbers to {A.shape}")
    one = integer(1)
    if x is y:
        routines.active.syr(L, m, real(alpha), at(x), one, at(A), m)
    else:
        routines.active.ger(m, m, real(alpha), at(x), one, at(y), one, at(A), m)
    return A


def symmetric_times_lower(
    S: Array, A: Array, *, out: Array, alpha: float = 1.0, beta: float = 0.0, whole: bool
) -> Array:
    """alpha S A + beta out into ``out``, from the lower triangle of a symmetric S.

    ``A`` must hold zeros above its diagonal. All are Fortran-ordered (m, m). Takes a little more than m^3
    flops for the ``whole``; for the blocks on and below the diagonal alone, a little more than 2/3 m^3.
    """
    m = _size(S, A, out)
    at_S, at_A, at_out, step = at(S), at(A), at(out), integer(m)
    by, add, library = real(alpha), real(beta), routines.active
    for start, size in _blocks(m):
        corner, columns = 8 * (start * m + start), 8 * start * m
        below, across = integer(m - start), integer(size)
        # fmt: off
        library.symm(
            L, L, below, across, by, at_S + corner, step, at_A + corner, step, add, at_out + corner, step
        )
        if whole and start > 0:
            library.gemm(
                T, N, integer(start), across, below, by, at_S + 8 * start, step, at_A + corner, step,
                add, at_out + columns, step,
            )
        # fmt: on
    return out


def lower_of_product(A: Array, G: Array, *, out: Array) -> Array:
    """The lower triangle of A^T G into ``out``, of which the upper part is undefined.

    ``A`` must hold zeros above its diagonal; of ``G`` the blocks on and below the diagonal are read. Takes a
    little more than 1/3 m^3 flops.
    """
    m = _size(A, G, out)
    at_A, at_G, at_out, step = at(A), at(G), at(out), integer(m)
    library = routines.active
    for start, size in _blocks(m):
        # fmt: off
        library.gemm(
            T, N, integer(size), integer(start + size), integer(m - start),
            ONE, at_A + 8 * (start * m + start), step, at_G + 8 * start, step, ZERO, at_out + 8 * start, step,
        )
        # fmt: on
    return out


@cache
def _blocks(m: int) -> tuple[tuple[int, int], ...]:
    """(start, size) of blocks that are as equal as multiples of eight can be."""
    count = max(1, round(m / BLOCK))
    edges = [min(m, -(-m * i // (8 * count)) * 8) for i in range(count + 1)]
    return tuple((start, stop - start) for start, stop in pairwise(edges) if stop > start)


def _size(*matrices: Array) -> int:
    m = len(matrices[0])
    for A in matrices:
        if A.shape != (m, m):
            raise ValueError(f"product by blocks of shapes {', '.join(str(A.shape) for A in matrices)}")
    return m
