"""The routines of Intel's MKL that the bounds live on, where its wheel is installed (the extra ``fast``).

They stand in for scipy's of the same names and arguments (``scipy.linalg.blas.dgemm`` and so on), always in
place and always with lower triangles. MKL has what OpenBLAS lacks, quick small triangular kernels. Called
through ctypes, it runs without the interpreter's lock.
"""

import ctypes
from importlib import metadata
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hgpbench.gp.fortran import L, N, R, T, U, integer, matrix, real, subroutine

Array = NDArray[np.float64]

_INT32 = 0  # MKL_INTERFACE_LP64, whatever the environment says
_REPRODUCIBLE = 2  # MKL_CBWR_AUTO: the same bits wherever in memory the same numbers lie
_BLAS = {"dgemm": 13, "dsymm": 12, "dsyrk": 10, "dtrmm": 11}
_LAPACK = {"dpotrf": 5, "dtrtri": 6, "dlauum": 5, "dlaset": 7}


def load() -> "MKL | None":
    """The library of the wheel, whatever else lies on the system's path; None where there is none."""
    try:
        files = metadata.files("mkl") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name.startswith(("libmkl_rt.so", "mkl_rt.")) and file.suffix != ".lib":
            return MKL(ctypes.CDLL(str(file.locate())))
    return None


class MKL:
    """Products and factorisations in place, on Fortran-ordered matrices in double precision.

    ``gemm`` and ``symm`` are the routines themselves, all of whose arguments are addresses.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        library.MKL_Set_Interface_Layer(_INT32)
        library.MKL_CBWR_Set(_REPRODUCIBLE)
        self.gemm, self.symm, self._syrk, self._trmm = (
            subroutine(library[name], count) for name, count in _BLAS.items()
        )
        self._potrf, self._trtri, self._lauum, self._laset = (
            subroutine(library[name], count) for name, count in _LAPACK.items()
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

    def invert_factor(self, a: Array) -> bool:
        """Replace ``a`` by the inverse of its Cholesky factor; False when it is not positive definite."""
        m, info = len(a), ctypes.c_int()
        status = ctypes.addressof(info)
        self._potrf(L, integer(m), matrix(a), integer(m), status)
        if info.value == 0:
            self._trtri(L, N, integer(m), matrix(a), integer(m), status)
        if m > 1:  # nothing above the diagonal: the block to the right of it, from its own diagonal upwards
            self._laset(
                U, integer(m - 1), integer(m - 1), real(0.0), real(0.0), matrix(a) + 8 * m, integer(m)
            )
        return info.value == 0

    def square_factor(self, a: Array) -> None:
        """Replace the lower triangle of ``a`` by that of a^T a."""
        size, info = integer(len(a)), ctypes.c_int()
        self._lauum(L, size, matrix(a), size, ctypes.addressof(info))
