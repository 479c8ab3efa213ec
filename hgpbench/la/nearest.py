"""The nearest of many rows to each of many points, exactly, by products of blocks.

|x - p|^2 / 2 is |x|^2 / 2 - x.p, but for a constant of the point: one product a block of rows, at the
processor's rate, and a comparison of each entry with the farthest kept so far. Trees do less where they can
tell that most rows are far; where the nearest rows lie as far away as inputs vary they cannot.
"""

from typing import NamedTuple, Self

import numpy as np

from hgpbench.la.arrays import Array
from hgpbench.la.local import Places

ROWS, POINTS = 2_048, 128  # of a block: its distances stay in the cache
SPARE = 8  # more than are asked for, as products may confuse those that are as far but for round-off


class Lengths(NamedTuple):
    """Rows ``X`` (n, d) about their mean ``shift``, so that products lose few digits, and |x|^2 / 2."""

    X: Array
    shift: Array
    half: Array

    @classmethod
    def of(cls, X: Array) -> Self:
        """With these rows."""
        shift = X.mean(axis=0)
        X = X - shift
        return cls(X, shift, 0.5 * np.einsum("nd,nd->n", X, X))


def nearest_of_all(rows: Lengths, points: Array, K: int) -> Places:
    """The K rows nearest to each point (s, d), the nearest first: (s, K)."""
    near = np.empty((len(points), K), dtype=np.int64)
    for start in range(0, len(points), POINTS):
        part = slice(start, start + POINTS)
        near[part] = _nearest(rows, points[part] - rows.shift, K)
    return near


def _nearest(rows: Lengths, points: Array, K: int) -> Places:
    count, most = len(points), K + SPARE
    kept: Array = np.empty((count, 0))
    at: Places = np.empty((count, 0), dtype=np.int64)
    for start in range(0, len(rows.X), ROWS):
        part = slice(start, start + ROWS)
        distances = np.matmul(points, rows.X[part].T)
        np.subtract(rows.half[part], distances, out=distances)
        if kept.shape[1] < most:
            places = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
        else:
            distances, places = _below(distances, kept.max(axis=1, keepdims=True))
        kept, at = np.hstack([kept, distances]), np.hstack([at, places + start])
        if kept.shape[1] > most:
            best = np.argpartition(kept, most - 1, axis=1)[:, :most]
            kept, at = np.take_along_axis(kept, best, axis=1), np.take_along_axis(at, best, axis=1)
    return _in_order(rows.X, points, at)[:, :K]


def _in_order(X: Array, points: Array, at: Places) -> Places:
    """The rows ``at`` (s, k) by their distances from each point, from differences, which lose no digits."""
    squares = np.zeros(at.shape)
    for x, p in zip(X.T, points.T, strict=True):
        squares += np.square(x[at] - p[:, None])
    return np.take_along_axis(at, np.lexsort((at, squares)), axis=1)


def _below(distances: Array, bound: Array) -> tuple[Array, Places]:
    """Of each row the entries below its bound, and their places, made as many as of any by infinities."""
    count = len(distances)
    which, places = np.divmod(np.flatnonzero(distances < bound), distances.shape[1])
    found = np.bincount(which, minlength=count)
    slots = np.arange(len(which)) - np.repeat(np.cumsum(found) - found, found)
    few = np.full((count, found.max(initial=0)), np.inf)
    at = np.zeros(few.shape, dtype=np.int64)
    few[which, slots], at[which, slots] = distances[which, places], places
    return few, at
