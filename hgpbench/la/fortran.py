"""Calls of Fortran routines: every argument goes by address, and they run without the interpreter's lock.

Sizes, factors and letters recur, so each is stored once and for good; a call then costs its arguments alone.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_kept: list[Any] = []


def _address(constant: Any) -> int:
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


L, U, R, N, T = (_address(ctypes.c_char(letter)) for letter in (b"L", b"U", b"R", b"N", b"T"))


def matrix(A: NDArray[np.float64]) -> int:
    """The address of a matrix of doubles; the buffer refuses one that is not contiguous or not writeable."""
    if A.dtype != np.float64:
        raise ValueError("these routines are those for double precision")
    return ctypes.addressof(ctypes.c_char.from_buffer(A.T.data))


def published(module: Any, name: str) -> Any:
    """A routine that scipy publishes for Cython (``scipy.linalg.cython_blas``, ``cython_lapack``)."""
    capsule = module.__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None)(pointer_of(capsule, name_of(capsule)))


def subroutine(routine: Any, count: int) -> Callable[..., None]:
    """A routine as one that takes ``count`` addresses."""
    routine.restype, routine.argtypes = None, [ctypes.c_void_p] * count
    return routine
