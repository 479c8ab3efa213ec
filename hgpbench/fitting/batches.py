"""Mini-batches: shuffled passes over the training rows, from memory or from a file that does not fit in it.

A pass visits blocks of consecutive rows in random order and shuffles the rows of a window of several batches;
in memory a block is one row, so that a pass is a plain permutation, from a file it is one contiguous read.
The batch of a step depends on the seed and on the number of the step alone: a resumed fit sees the same ones.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hgpbench.columns import Array
from hgpbench.fitting.filerows import FileRows
from hgpbench.scaling import Scaling

FILE_BLOCK = 256  # rows of one read from a file
WINDOW = 8  # batches whose rows are read and shuffled together


Inputs = Array | FileRows
Numbers = NDArray[np.int64]
Batch = tuple[Array, Array]


class _Pass(NamedTuple):
    """One pass: its number, the order of its blocks, and the position at which each of them ends."""

    number: int
    blocks: Numbers
    ends: Numbers


class _Window(NamedTuple):
    """The rows of some consecutive batches, scaled and shuffled, from position ``start`` of a pass on."""

    number: tuple[int, int]
    start: int
    X: Array
    y: Array


class Batches:
    """Scaled batches of about ``size`` rows, and the rows that a share ``holdout`` keeps from them."""

    def __init__(
        self, X: Inputs, y: Array, scaling: Scaling, size: int, seed: int, *, holdout: float = 0.0
    ) -> None:
        self._X, self._y, self._scaling, self._seed = X, y, scaling, seed
        self._block = 1 if isinstance(X, np.ndarray) else FILE_BLOCK
        blocks = np.arange(-(-len(y) // self._block))
        order = np.random.default_rng([seed, 0]).permutation(blocks)
        held = round(holdout * len(blocks))
        self._held, self._blocks = np.sort(order[:held]), np.sort(order[held:])
        self.n = int(self._sizes(self._blocks).sum())
        # Batches of equal size but for one row: a small last one would be a noisy estimate.
        self.per_pass = max(1, round(self.n / size))
        self._edges = np.linspace(0, self.n, self.per_pass + 1).astype(np.int64)
        self.largest = int(np.diff(self._edges).max())
        self._pass = _Pass(-1, blocks[:0], blocks[:0])
        self._window = _Window((-1, -1), 0, np.empty((0, 0)), np.empty(0))

    def batch(self, step: int) -> Batch:
        """Inputs and targets of step 0, 1, ..."""
        number, place = divmod(step, self.per_pass)
        window = self._window_of(number, place // WINDOW)
        start, stop = self._edges[place : place + 2] - window.start
        return window.X[start:stop], window.y[start:stop]

    def some(self, count: int) -> Iterator[Batch]:
        """``count`` batches of a pass of their own, at most all of them: together they are all rows."""
        return (self.batch(step) for step in range(min(count, self.per_pass)))

    def sample(self, rows: int, rng: np.random.Generator) -> Batch:
        """About this many rows at random, scaled; all of them, in their order, where there are no more."""
        blocks = self._blocks
        if self.n > rows:
            blocks = np.sort(rng.choice(blocks, -(-rows // self._block), replace=False))
        return self._read(blocks)

    def held_out(self, rows: int) -> Batch:
        """At most this many of the rows that no batch has, scaled."""
        return self._read(self._held[: -(-rows // self._block)])

    def _window_of(self, number: int, window: int) -> _Window:
        if self._window.number != (number, window):
            current = self._pass_of(number)
            last = min((window + 1) * WINDOW, self.per_pass)
            start, stop = int(self._edges[window * WINDOW]), int(self._edges[last])
            first, end = np.searchsorted(current.ends, [start, stop - 1], side="right")
            X, y = self._read(current.blocks[first : end + 1])
            skipped = start - (int(current.ends[first - 1]) if first else 0)
            rng = np.random.default_rng([self._seed, 2, number, window])
            rows = skipped + rng.permutation(stop - start)
            self._window = _Window((number, window), start, X[rows], y[rows])
        return self._window

    def _pass_of(self, number: int) -> _Pass:
        if self._pass.number != number:
            blocks = np.random.default_rng([self._seed, 1, number]).permutation(self._blocks)
            self._pass = _Pass(number, blocks, np.cumsum(self._sizes(blocks)))
        return self._pass

    def _read(self, blocks: Numbers) -> Batch:
        """All rows of these blocks, scaled."""
        if isinstance(self._X, np.ndarray):
            return self._scaling.inputs(self._X[blocks]), self._scaling.target(self._y[blocks])
        slices = [slice(self._block * k, self._block * (k + 1)) for k in blocks.tolist()]
        X = np.concatenate([self._X[:0], *(self._X[rows] for rows in slices)])
        y = np.concatenate([self._y[:0], *(self._y[rows] for rows in slices)])
        return self._scaling.inputs(X), self._scaling.target(y)

    def _sizes(self, blocks: Numbers) -> Numbers:
        return np.minimum(self._block, len(self._y) - self._block * blocks)
