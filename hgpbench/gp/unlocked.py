"""Triangular products that leave other threads alone.

``np.matmul`` releases the interpreter's lock; scipy's wrappers of trmm do not (a thread that waits for one
stands still). scipy also publishes the routines themselves, for Cython, with their C signatures: called
through ctypes they run unlocked. Blocks of ``np.matmul`` instead were a third slower.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas

AnyArray = NDArray[Any]


def _routine(name: str) -> Callable[..., None]:
    """A Fortran subroutine of eleven arguments, all by address: trmm's four letters, two sizes, and so on."""
    capsule = cython_blas.__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, name_of(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 11)(address)


_TRMM = {
    np.dtype(np.float64): (_routine("dtrmm"), ctypes.c_double),
    np.dtype(np.float32): (_routine("strmm"), ctypes.c_float),
}


def trmm(L: AnyArray, B: AnyArray, *, right: bool = False, trans: bool = False) -> AnyArray:
    """L B in place of ``B`` for lower triangular ``L``; B L where ``right``; with L^T where ``trans``.

    Both are Fortran-ordered and of one precision: m m n flops.
    """
    if not (L.flags.f_contiguous and B.flags.f_contiguous and B.flags.writeable and L.dtype == B.dtype):
        raise ValueError("trmm needs Fortran-ordered arrays of one precision, and B writeable")
    rows, columns = B.shape
    if L.shape != (columns, columns) if right else L.shape != (rows, rows):
        raise ValueError(f"trmm of shapes {L.shape} and {B.shape}")
    if B.size == 0:
        return B
    routine, real = _TRMM[B.dtype]
    letters = [
        ctypes.c_char(letter) for letter in (b"R" if right else b"L", b"L", b"T" if trans else b"N", b"N")
    ]
    sizes = [ctypes.c_int(size) for size in (rows, columns)]
    one, L_step, B_step = real(1.0), ctypes.c_int(len(L)), ctypes.c_int(rows)
    routine(
        *map(ctypes.addressof, letters),
        *map(ctypes.addressof, sizes),
        ctypes.addressof(one),
        L.ctypes.data,
        ctypes.addressof(L_step),
        B.ctypes.data,
        ctypes.addressof(B_step),
    )
    return B
