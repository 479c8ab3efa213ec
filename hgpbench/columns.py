"""Means and standard deviations of columns, safe at any magnitude and with no copy of the data."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUND_OFF = 10 * float(np.finfo(float).eps)  # of a column's largest magnitude: smaller deviations are none
CHUNK = 65_536  # rows at a time, so that two million rows need no second copy


def chunks(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Consecutive row slices of at most ``size`` rows."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def moments(table: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column; zero deviation where it is constant up to round-off.

    Each column is first divided by a power of two near its largest magnitude, which is exact, so that squares
    of values as large as 1e300 or as small as 1e-300 neither overflow nor vanish.
    """
    n, d = table.shape
    largest = np.maximum(table.max(axis=0), -table.min(axis=0))
    # 2^(e-1) <= largest < 2^e; the smaller power, as 2^1024 is no double.
    unit = np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)
    # Seen from the first row an exactly constant column is exactly zero, and a far-off mean costs no digits.
    origin, mean, square = table[0] / unit, np.zeros(d), np.zeros(d)
    for rows in chunks(n):
        mean += (table[rows] / unit - origin).sum(axis=0) / n
    for rows in chunks(n):
        square += np.square(table[rows] / unit - origin - mean).sum(axis=0) / n
    spread = np.sqrt(square)
    return (origin + mean) * unit, np.where(spread <= ROUND_OFF, 0.0, spread * unit)


def divisors(table: Array) -> Array:
    """Standard deviation of each column to divide by: one where it is constant up to round-off.

    A column that varies in a table may be constant in some of its rows, and numpy's deviation of equal
    numbers is not zero: their mean is rounded.
    """
    std = moments(table)[1]
    return np.where(std > 0.0, std, 1.0)
