"""Products of symmetric and lower triangular (m, m) matrices, block by block.

BLAS can leave out the zeros of a triangle (trmm) or half of a symmetric result (syrk), but not both, and not
the half of a product of which only the lower triangle is wanted. By blocks all of that is gemm and symm,
which run at the processor's rate at sizes where trmm does not. Blocks go by their addresses, without copies.
"""

from functools import cache
from itertools import pairwise

from hgpbench.la import dense, fortran
from hgpbench.la.dense import Array
from hgpbench.la.fortran import N, T, integer, matrix, real

BLOCK = 48
"""About as many columns as gemm needs for its full rate; with smaller blocks fewer zeros are multiplied."""


def symmetric_times_lower(
    S: Array, L: Array, out: Array, alpha: float = 1.0, beta: float = 0.0, *, whole: bool
) -> Array:
    """alpha S L + beta out into ``out``, from the lower triangle of a symmetric S.

    ``L`` must hold zeros above its diagonal. All are Fortran-ordered (m, m). Takes a little more than m^3
    flops for the ``whole``; for the blocks on and below the diagonal alone, a little more than 2/3 m^3.
    """
    m = _size(S, L, out)
    at_S, at_L, at_out, step = matrix(S), matrix(L), matrix(out), integer(m)
    by, add = real(alpha), real(beta)
    for start, size in _blocks(m):
        corner, columns = 8 * (start * m + start), 8 * start * m
        below, across = integer(m - start), integer(size)
        # fmt: off
        dense.free.symm(
            fortran.L, fortran.L, below, across, by, at_S + corner, step, at_L + corner, step,
            add, at_out + corner, step,
        )
        if whole and start > 0:
            dense.free.gemm(
                T, N, integer(start), across, below, by, at_S + 8 * start, step, at_L + corner, step,
                add, at_out + columns, step,
            )
        # fmt: on
    return out


def lower_of_product(L: Array, G: Array, out: Array) -> Array:
    """The lower triangle of L^T G into ``out``, of which the upper part is undefined.

    ``L`` must hold zeros above its diagonal; of ``G`` the blocks on and below the diagonal are read. Takes a
    little more than 1/3 m^3 flops.
    """
    m = _size(L, G, out)
    at_L, at_G, at_out, step = matrix(L), matrix(G), matrix(out), integer(m)
    one, zero = real(1.0), real(0.0)
    for start, size in _blocks(m):
        # fmt: off
        dense.free.gemm(
            T, N, integer(size), integer(start + size), integer(m - start),
            one, at_L + 8 * (start * m + start), step, at_G + 8 * start, step, zero, at_out + 8 * start, step,
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
        if A.shape != (m, m) or not A.flags.f_contiguous:
            raise ValueError(f"these products are of Fortran-ordered ({m}, {m}) matrices")
    return m
