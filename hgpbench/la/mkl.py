"""The routines of Intel's MKL that the bounds live on, where its wheel is installed (the extra ``fast``).

MKL has what OpenBLAS lacks, quick small triangular kernels.
"""

import ctypes
from importlib import metadata

from hgpbench.la.fortran import L, N, U, integer, matrix, real, subroutine
from hgpbench.la.products import Array, Products

_INT32 = 0  # MKL_INTERFACE_LP64, whatever the environment says
_REPRODUCIBLE = 2  # MKL_CBWR_AUTO: the same bits wherever in memory the same numbers lie
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


class MKL(Products):
    """Products and factorisations in place, on Fortran-ordered matrices in double precision."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.MKL_Set_Interface_Layer(_INT32)
        library.MKL_CBWR_Set(_REPRODUCIBLE)
        super().__init__(library.__getitem__)
        self._potrf, self._trtri, self._lauum, self._laset = (
            subroutine(library[name], count) for name, count in _LAPACK.items()
        )

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
