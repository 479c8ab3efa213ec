"""Test rows that were trained on: how many have exactly the inputs of a training row.

Rows are compared by a hash of 64 bits: among two million training and half a million test rows, two different
ones agree by chance once in some ten million data sets.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hgpbench.prediction import Array

ROWS = 65_536  # at a time, so that no copy of the inputs is made
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, as in Steele et al. (2014), SplitMix
_MIX = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_LAST = np.uint64(31)


def share_seen(X_train: Array, X_test: Array) -> float:
    """Share of the test rows whose inputs are, bit for bit, those of a training row."""
    if not len(X_test):
        return 0.0
    known = np.concatenate([np.empty(0, dtype=np.uint64), *_hashes(X_train)])
    known.sort()
    seen = sum(int(np.count_nonzero(_holds(known, part))) for part in _hashes(X_test))
    return seen / len(X_test)


def copies(X: Array, y: Array) -> int:
    """How many rows are those of another row before them, target and all."""
    if not len(y):
        return 0
    return len(y) - len(np.unique(np.concatenate([*_hashes(np.column_stack([X, y]))])))


def _holds(known: NDArray[np.uint64], asked: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the numbers are among the sorted ones."""
    if not known.size:
        return np.zeros(asked.size, dtype=bool)
    return known[np.minimum(np.searchsorted(known, asked), known.size - 1)] == asked


def _hashes(X: Array) -> Iterator[NDArray[np.uint64]]:
    """One number a row, by pieces; a zero counts as one whatever its sign."""
    for start in range(0, len(X), ROWS):
        bits = (np.asarray(X[start : start + ROWS], dtype=np.float64) + 0.0).view(np.uint64)
        mixed = np.zeros(len(bits), dtype=np.uint64)
        for column in bits.T:
            mixed += _ODD  # a column of zeros moves the state, too
            mixed ^= column
            for shift, factor in _MIX:
                mixed ^= mixed >> shift
                mixed *= factor
            mixed ^= mixed >> _LAST
        yield mixed
