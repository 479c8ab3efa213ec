"""The rows nearest to points, exactly and in one order: whoever searches, in whichever way, finds the same.

Of rows as far as each other the first in the table are taken, where squares of distances are sums of squared
differences over the inputs in their order. A tree or products may miss ties by round-off, so that a few more
rows are looked at than asked for; where all of these are as far as the last one asked for, closer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy.spatial import KDTree

from hgpbench.gp.kernels import EPS, Stationary
from hgpbench.gp.tasks import Run, Task, serially
from hgpbench.la import Array, Lengths, Places, nearest_of_all, rowdots

SEARCHED = 1_024  # points whose neighbours one task looks for
LEAF = 32  # rows in a leaf of the tree
PROBED, NEAR = 16, 50  # rows that tell how far off so many others are
MANY, FAR = 20_000, 1.2  # from so many rows and standard deviations on, a tree leaves next to nothing out
FEW = 16  # points, for which products are too thin to be quick
SPARE, CLOSER = 8, 4  # rows looked at beside K, to see who else is as far; times as many at a closer look
BLUR = 1e-12  # relative difference of two squared distances that round-off may make or hide
UNRELATED = 1e3  # lengthscales, at which covariances are zero


@runtime_checkable
class Helpers(Protocol):
    """Others who look for neighbours and condition on them, to the same bits.

    Whatever else there is to run is run here.
    """

    def __call__(self, tasks: Sequence[Task]) -> None: ...

    def nearest(self, search: "Search", points: Array, K: int) -> Places:
        """What ``Search.nearest`` answers, for points in its reach."""

    def conditioned(
        self, kernel: Stationary, X: Array, y: Array, r: Array, near: Places, points: Array
    ) -> tuple[Array, Array]:
        """What the function of that name answers."""


class Ranked(NamedTuple):
    """Rows near each point and their squared distances, (s, k) both; of rows as far the first comes first."""

    squares: Array
    near: Places

    @classmethod
    def of(cls, X: Array, points: Array, at: Places) -> "Ranked":
        """These rows in order; by differences, which lose no digits, and the same bits however they came."""
        squares = np.zeros(at.shape)
        for x, p in zip(X.T, points.T, strict=True):
            squares += np.square(x[at] - p[:, None])
        order = np.lexsort((at, squares))
        return cls(np.take_along_axis(squares, order, axis=1), np.take_along_axis(at, order, axis=1))


@dataclass(frozen=True, eq=False)
class Copies:
    """The distinct ones of some rows: copy j of the i-th of them is row ``order[starts[i] + j]``."""

    tree: KDTree
    order: Places
    starts: Places

    @classmethod
    def of(cls, X: Array) -> "Copies":
        """Of these rows."""
        order = np.lexsort(X.T)
        Z = X[order]
        starts = np.flatnonzero(np.append(True, (Z[1:] != Z[:-1]).any(axis=1)))
        return cls(_tree(Z[starts]), order, np.append(starts, len(X)))

    def nearest(self, X: Array, point: Array, K: int) -> Ranked:
        """The K rows nearest to a point (1, d), however many are as far as the last of them."""
        distinct = len(self.starts) - 1
        k = min(K + SPARE, distinct)
        while True:
            some = np.atleast_1d(self.tree.query(point[0], k)[1])
            rows = [self.order[self.starts[i] : self.starts[i + 1]][:K] for i in some]
            found = Ranked.of(X, point, np.concatenate(rows)[None])
            last = found.squares[0, min(K, found.squares.shape[1]) - 1]
            if k == distinct or found.squares[0, -1] > last * (1.0 + BLUR):
                return Ranked(found.squares[:, :K], found.near[:, :K])
            k = min(2 * k, distinct)


@dataclass(frozen=True, eq=False)
class Search:
    """Rows ``X`` (n, d), in lengthscales, among which the nearest are looked for; exactly.

    By a k-d tree; for many points among many rows whose inputs vary alike, by all distances.
    """

    X: Array

    @cached_property
    def _tree(self) -> KDTree:
        return _tree(self.X)

    @cached_property
    def _all(self) -> Lengths | None:
        """What distances to all rows are made from; None where the tree is quicker.

        It cuts one input at a time, and leaves nothing out where the nearest rows lie as far off as inputs
        vary: with ten inputs alike and 100,000 rows the products take a fifth of its time, with twenty a
        twenty-fifth.
        """
        n = len(self.X)
        if n < MANY:
            return None
        reach, _ = self._tree.query(self.X[:: n // PROBED], [NEAR])
        crowded = np.median(reach) > FAR * self.X.std(axis=0).max()
        return Lengths.of(self.X) if crowded else None

    @cached_property
    def _copies(self) -> Copies:
        return Copies.of(self.X)

    @cached_property
    def _box(self) -> tuple[Array, Array]:
        return self.X.min(axis=0) - UNRELATED, self.X.max(axis=0) + UNRELATED

    def __getstate__(self) -> dict[str, Array]:
        """The rows alone: what they are searched by is made again faster than it is read."""
        return {"X": self.X}

    def nearest(self, points: Array, K: int, run: Run = serially) -> Places:
        """The K rows nearest to each point (s, d), the nearest first: (s, K); no more than there are.

        A point from which all rows are ``UNRELATED`` is moved towards them: there round-off would make
        all of them as far, and nothing depends on which are taken.
        """
        K, points = min(K, len(self.X)), np.clip(points, *self._box)
        if isinstance(run, Helpers):
            return run.nearest(self, points, K)
        return self.ranked(points, K, run).near

    def ranked(self, points: Array, K: int, run: Run = serially) -> Ranked:
        """The same with squared distances, for points not much farther than the rows are from each other."""
        found = Ranked(np.empty((len(points), K)), np.empty((len(points), K), dtype=np.int64))
        tree = self._tree
        rows = None if len(points) < FEW else self._all

        def look(part: slice) -> None:
            here = points[part]
            if rows is None:
                at = tree.query(here, range(1, min(K + SPARE, len(self.X)) + 1))[1]
                answer = self._sure(here, Ranked.of(self.X, here, at), K, 0.0)
            else:
                at = nearest_of_all(rows, here, min(K + SPARE, len(self.X)))
                answer = self._sure(here, Ranked.of(self.X, here, at), K, _blurred(rows, here))
            found.squares[part], found.near[part] = answer

        run([partial(look, part) for part in _parts(len(points))])
        return found

    def _sure(self, points: Array, found: Ranked, K: int, blur: Array | float) -> Ranked:
        """The first K of those found; after a closer look where others may be as near as the last of them.

        ``blur`` is what the squares of rows that were not found may be off by.
        """
        best = Ranked(found.squares[:, :K], found.near[:, :K])
        if found.near.shape[1] == len(self.X):
            return best
        last = found.squares[:, -1] - blur
        unsure = np.flatnonzero(last <= best.squares[:, -1] * (1.0 + BLUR))
        most = CLOSER * (K + SPARE)
        if len(unsure) and found.near.shape[1] < most:
            here = points[unsure]
            at = self._tree.query(here, range(1, min(most, len(self.X)) + 1))[1]
            closer = self._sure(here, Ranked.of(self.X, here, at), K, 0.0)
            best.squares[unsure], best.near[unsure] = closer
            return best
        for place in unsure:
            closer = self._copies.nearest(self.X, points[place : place + 1], K)
            best.squares[place], best.near[place] = closer.squares[0], closer.near[0]
        return best

    def others(self, rows: Places, K: int, run: Run = serially) -> Places:
        """The K rows nearest to each of these rows (s,), without itself: (s, K)."""
        near = self.nearest(self.X[rows], K + 1, run)
        is_self = near == rows[:, None]
        # Where more copies of a row than neighbours hide the row itself, the last of them goes.
        is_self[~is_self.any(axis=1), -1] = True
        return np.ascontiguousarray(near[~is_self].reshape(len(rows), -1))


def _tree(X: Array) -> KDTree:
    # Cut at midpoints and not balanced: built in half the time, searched in less.
    return KDTree(X, leafsize=LEAF, balanced_tree=False, compact_nodes=False)


def _blurred(rows: Lengths, points: Array) -> Array:
    """By how much products may misjudge the squares of distances from each point, (s,)."""
    far = np.sqrt(2.0 * rows.half.max()) + np.sqrt(rowdots(points - rows.shift, points - rows.shift))
    return 8.0 * EPS * (rows.X.shape[1] + 4) * far**2


def _parts(n: int) -> Iterator[slice]:
    return (slice(start, min(start + SEARCHED, n)) for start in range(0, n, SEARCHED))
