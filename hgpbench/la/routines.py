"""BLAS and LAPACK by address: every argument is one, and a call runs without the interpreter's lock.

scipy's own wrappers keep the lock: a thread that waits for one stands still. But scipy publishes the routines
themselves, for Cython, and so does MKL, whose wheel (the extra ``fast``) has what OpenBLAS lacks, quick small
triangular kernels. Sizes, factors and letters recur, so each is stored once and for good; a call then costs
its arguments alone, two microseconds more than one of scipy's wrapper.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Self, cast

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from hgpbench.la.arrays import Array

Routine = Callable[..., None]

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
_INT32 = 0  # MKL_INTERFACE_LP64, whatever the environment says
_REPRODUCIBLE = 2  # MKL_CBWR_AUTO: the same bits wherever in memory the same numbers lie

_kept: list[ctypes.c_int | ctypes.c_double | ctypes.c_float | ctypes.c_char] = []


def _address(constant: ctypes.c_int | ctypes.c_double | ctypes.c_float | ctypes.c_char) -> int:
    _kept.append(constant)
    return ctypes.addressof(constant)


@cache
def integer(value: int) -> int:
    """The address of a constant integer."""
    return _address(ctypes.c_int(value))


@cache
def real(value: float) -> int:
    """The address of a constant in double precision."""
    return _address(ctypes.c_double(value))


@cache
def single(value: float) -> int:
    """The address of a constant in single precision."""
    return _address(ctypes.c_float(value))


ONE, ZERO = real(1.0), real(0.0)
L, U, R, N, T = (_address(ctypes.c_char(letter)) for letter in (b"L", b"U", b"R", b"N", b"T"))

_from_buffer = cast(Callable[[Array], ctypes.c_char], ctypes.c_char.from_buffer)
_addressof = ctypes.addressof


def at(A: Array, dtype: np.dtype[np.floating] = DOUBLE) -> int:
    """The address of a vector or Fortran-ordered matrix, of doubles unless told otherwise.

    The buffer refuses one that is not contiguous or not writeable.
    """
    if A.dtype is not dtype and A.dtype != dtype:
        raise ValueError(f"this routine takes {dtype}, not {A.dtype}")
    return _addressof(_from_buffer(A.T))


def at_fixed(A: Array, dtype: np.dtype[np.floating] = DOUBLE) -> int:
    """As ``at``, for a matrix that the routine only reads: it may not be writeable, as in a mapped file."""
    if A.flags.writeable:
        return at(A, dtype)
    if not A.flags.f_contiguous:
        raise TypeError("underlying buffer is not Fortran contiguous")
    if A.dtype != dtype:
        raise ValueError(f"this routine takes {dtype}, not {A.dtype}")
    return A.ctypes.data


def at_rows(A: Array) -> int:
    """The address of a C-ordered matrix of doubles; that of its transpose, to a routine."""
    if A.dtype is not DOUBLE and A.dtype != DOUBLE:
        raise ValueError(f"this routine takes {DOUBLE}, not {A.dtype}")
    return _addressof(_from_buffer(A))


@dataclass(frozen=True)
class Library:
    """The routines of one library, by their names without the letter for double precision."""

    name: str
    leaf: int  # rows of a triangle up to which its trtri is as quick as products are
    gemm: Routine
    symm: Routine
    syrk: Routine
    trmm: Routine
    single_trmm: Routine
    syr: Routine
    ger: Routine
    potrf: Routine
    potri: Routine
    potrs: Routine
    posv: Routine
    trtri: Routine
    lauum: Routine
    laset: Routine

    @classmethod
    def of(cls, name: str, leaf: int, address: Callable[[str], int]) -> Self:
        """The library whose routine of a name, such as dgemm, is at this address."""

        def routine(name: str, count: int) -> Routine:
            return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(address(name))

        return cls(
            name,
            leaf,
            gemm=routine("dgemm", 13),
            symm=routine("dsymm", 12),
            syrk=routine("dsyrk", 10),
            trmm=routine("dtrmm", 11),
            single_trmm=routine("strmm", 11),
            syr=routine("dsyr", 7),
            ger=routine("dger", 9),
            potrf=routine("dpotrf", 5),
            potri=routine("dpotri", 5),
            potrs=routine("dpotrs", 8),
            posv=routine("dposv", 8),
            trtri=routine("dtrtri", 6),
            lauum=routine("dlauum", 5),
            laset=routine("dlaset", 7),
        )


def scipy_library() -> Library:
    """The routines that scipy was built with: OpenBLAS's, in its wheels."""
    return Library.of("scipy", 48, published)


def published(name: str) -> int:
    """The address of a routine that scipy publishes for Cython."""
    module = cython_blas if name in cython_blas.__pyx_capi__ else cython_lapack
    capsule = module.__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = pointer_of(capsule, name_of(capsule))
    return address


def mkl_library() -> Library | None:
    """MKL from its wheel, whatever else lies on the system's path; None where there is none."""
    try:
        files = metadata.files("mkl") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name.startswith(("libmkl_rt.so", "mkl_rt.")) and file.suffix != ".lib":
            return _loaded(ctypes.CDLL(str(file.locate())))
    return None


def _loaded(mkl: ctypes.CDLL) -> Library:
    mkl.MKL_Set_Interface_Layer(_INT32)
    mkl.MKL_CBWR_Set(_REPRODUCIBLE)

    def address(name: str) -> int:
        return ctypes.cast(mkl[name], ctypes.c_void_p).value or 0

    return Library.of("mkl", 1_000_000_000, address)  # its trtri is quick at any size


active: Library = mkl_library() or scipy_library()
"""The library in use: everything in ``la`` looks its routines up here at every call."""
