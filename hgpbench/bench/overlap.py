"""Test rows that were trained on: how many have exactly the inputs of a training row."""

import numpy as np
from numpy.typing import NDArray

from hgpbench.prediction import Array
from hgpbench.repeated import distinct, hashes


def share_seen(X_train: Array, X_test: Array) -> float:
    """Share of the test rows whose inputs are, bit for bit, those of a training row."""
    if not len(X_test):
        return 0.0
    known = np.concatenate([np.empty(0, dtype=np.uint64), *hashes(X_train)])
    known.sort()
    seen = sum(int(np.count_nonzero(_holds(known, part))) for part in hashes(X_test))
    return seen / len(X_test)


def copies(X: Array, y: Array) -> int:
    """How many rows are those of another row before them, target and all."""
    return len(y) - len(distinct(X, y))


def _holds(known: NDArray[np.uint64], asked: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the numbers are among the sorted ones."""
    if not known.size:
        return np.zeros(asked.size, dtype=bool)
    return known[np.minimum(np.searchsorted(known, asked), known.size - 1)] == asked
