"""Rows that occur more than once, by a hash of 64 bits a row.

Among two million rows two different ones agree by chance once in some ten million tables. A copy of a row,
target and all, is no second observation where targets are measured on a scale so fine that two of them hardly
ever agree; where they do, as counts do, nothing tells a copy from another measurement.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hgpbench.columns import Array, chunks

ROWS = 65_536  # at a time, so that no copy of the inputs is made
FINE = 1e-3  # share of pairs of targets that agree, below which one that agrees with its inputs is a copy
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, as in Steele et al. (2014), SplitMix
_MIX = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_LAST = np.uint64(31)


def hashes(X: Array, y: Array | None = None) -> Iterator[NDArray[np.uint64]]:
    """One number a row, target and all where there is one; by pieces. A zero is one whatever its sign."""
    for rows in chunks(len(X), ROWS):
        part = X[rows] if y is None else np.column_stack([X[rows], y[rows]])
        bits = (np.asarray(part, dtype=np.float64) + 0.0).view(np.uint64)
        mixed = np.zeros(len(bits), dtype=np.uint64)
        for column in bits.T:
            mixed += _ODD  # a column of zeros moves the state, too
            mixed ^= column
            for shift, factor in _MIX:
                mixed ^= mixed >> shift
                mixed *= factor
            mixed ^= mixed >> _LAST
        yield mixed


def distinct(X: Array, y: Array) -> NDArray[np.intp]:
    """The first of rows that agree in inputs and target, by number, in order."""
    every = np.empty(len(y), dtype=np.uint64)
    for rows, part in zip(chunks(len(y), ROWS), hashes(X, y), strict=True):
        every[rows] = part
    ordered = np.sort(every)
    if not np.any(ordered[1:] == ordered[:-1]):  # as a rule; then no more numbers of each row are held
        return np.arange(len(y))
    return np.sort(np.unique(every, return_index=True)[1])


def observed(X: Array, y: Array) -> NDArray[np.intp]:
    """The rows that are observations: all, but for copies where targets are fine enough to tell."""
    rows = distinct(X, y)
    if len(rows) < len(y) and _is_fine(y[rows]):
        return rows
    return np.arange(len(y))


def _is_fine(y: Array) -> bool:
    """Whether hardly any two of these targets agree."""
    n, counts = len(y), np.unique(y, return_counts=True)[1].astype(float)
    return float(counts @ (counts - 1.0)) <= FINE * n * (n - 1.0)
