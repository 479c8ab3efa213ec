"""BLAS products by address: what scipy's wrappers do, without the interpreter's lock.

They stand in for scipy's of the same names and arguments (``scipy.linalg.blas.dgemm`` and so on), always in
place and always with lower triangles. A call takes some microseconds more than scipy's, but other threads go
on meanwhile.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hgpbench.la.fortran import L, N, R, T, integer, matrix, real, subroutine

Array = NDArray[np.float64]

_ARGUMENTS = {"dgemm": 13, "dsymm": 12, "dsyrk": 10, "dtrmm": 11}


class Products:
    """Products in place, on Fortran-ordered matrices in double precision.

    ``gemm`` and ``symm`` are the routines themselves, all of whose arguments are addresses.
    """

    def __init__(self, find: Callable[[str], Any]) -> None:
        self.gemm, self.symm, self._syrk, self._trmm = (
            subroutine(find(name), count) for name, count in _ARGUMENTS.items()
        )

    def dgemm(
        self,
        alpha: float,
        a: Array,
        b: Array,
        beta: float = 0.0,
        *,
        c: Array,
        trans_a: bool = False,
        trans_b: bool = False,
        overwrite_c: Literal[True] = True,
    ) -> Array:
        """c = alpha op(a) op(b) + beta c."""
        m, n, k = *c.shape, a.shape[not trans_a]
        if a.shape != ((k, m) if trans_a else (m, k)) or b.shape != ((n, k) if trans_b else (k, n)):
            raise ValueError(f"gemm of shapes {a.shape} and {b.shape} into {c.shape}")
        # fmt: off
        self.gemm(
            T if trans_a else N, T if trans_b else N, integer(m), integer(n), integer(k), real(alpha),
            matrix(a), integer(len(a)), matrix(b), integer(len(b)), real(beta), matrix(c), integer(m),
        )
        # fmt: on
        return c

    def dsymm(
        self,
        alpha: float,
        a: Array,
        b: Array,
        beta: float = 0.0,
        *,
        c: Array,
        lower: Literal[True] = True,
        overwrite_c: Literal[True] = True,
    ) -> Array:
        """c = alpha a b + beta c, with a symmetric."""
        m, n = c.shape
        if a.shape != (m, m) or b.shape != c.shape:
            raise ValueError(f"symm of shapes {a.shape} and {b.shape} into {c.shape}")
        # fmt: off
        self.symm(
            L, L, integer(m), integer(n), real(alpha),
            matrix(a), integer(m), matrix(b), integer(m), real(beta), matrix(c), integer(m),
        )
        # fmt: on
        return c

    def dsyrk(
        self,
        alpha: float,
        a: Array,
        beta: float = 0.0,
        *,
        c: Array,
        lower: Literal[True] = True,
        overwrite_c: Literal[True] = True,
    ) -> Array:
        """c = alpha a a^T + beta c."""
        m, k = a.shape
        if c.shape != (m, m):
            raise ValueError(f"syrk of shape {a.shape} into {c.shape}")
        self._syrk(
            L,
            N,
            integer(m),
            integer(k),
            real(alpha),
            matrix(a),
            integer(m),
            real(beta),
            matrix(c),
            integer(m),
        )
        return c

    def dtrmm(
        self,
        alpha: float,
        a: Array,
        b: Array,
        *,
        side: bool = False,
        lower: Literal[True] = True,
        trans_a: bool = False,
        overwrite_b: Literal[True] = True,
    ) -> Array:
        """b = alpha op(a) b, or alpha b op(a) with ``side``."""
        m, n = b.shape
        k = n if side else m
        if a.shape != (k, k):
            raise ValueError(f"trmm of shapes {a.shape} and {b.shape}")
        # fmt: off
        self._trmm(
            R if side else L, L, T if trans_a else N, N, integer(m), integer(n), real(alpha),
            matrix(a), integer(k), matrix(b), integer(m),
        )
        # fmt: on
        return b
