"""What is common to all matrices here: their type, their diagonals, the products of their rows."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def diagonal(A: Array) -> Array:
    """The diagonal of a contiguous (m, m) matrix as a vector to read or write in place."""
    return A.ravel(order="K")[:: len(A) + 1]


def rowdots(A: Array, B: Array) -> Array:
    """diag(A B^T): the dot products of the rows of two (n, m) matrices, without the product."""
    return np.vecdot(A, B)
