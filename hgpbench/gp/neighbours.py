"""A latent function at points from the K training rows nearest to each, exactly, and its pullback.

Conditioning on the nearest rows, in lengthscales, is what an exact GP comes to where the kernel has decayed
beyond them (Vecchia, 1988; Gramacy and Apley, 2015). With A = K_NN + R for the rows N near a point, k its
covariances with them, b = A^-1 y_N and a = A^-1 k,

    mu = k^T b,    s2 = k(0) - k^T a,

    dk = dmu b - 2 ds2 a,    dA = ds2 a a^T - dmu (a b^T + b a^T) / 2,

so that a bound's derivatives by mu and s2 of each point lead to those by the kernel's parameters in K^2 d
flops beside the K^3 / 3 of the factor. Points are independent of each other: neither their order, nor how
they are cut into pieces, nor who computes which, changes a bit; but which of rows as near as each other are
among the K is left to the search.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from hgpbench.gp.kernels import Stationary
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import (
    JITTER,
    Array,
    Lengths,
    Places,
    local_products,
    local_sums,
    nearest_of_all,
    solve_each,
)

CHUNK = 1_500_000  # bytes for the matrices of some points: larger ones would leave the caches
FEWEST_POINTS = 4  # at a time: with fewer, calls would take longer than they compute
SEARCHED = 1_024  # points whose neighbours one task looks for
LEAF = 32  # rows in a leaf of the tree
PROBED, NEAR = 16, 50  # rows that tell how far off so many others are
MANY, FAR = 20_000, 1.2  # from so many rows and standard deviations on, a tree leaves next to nothing out
FEW = 16  # points, for which products are too thin to be quick


def pieces(n: int, K: int) -> Iterator[slice]:
    """``n`` points in parts whose matrices take about ``CHUNK`` bytes, with K rows near each."""
    points = max(FEWEST_POINTS, CHUNK // (8 * K * (K + 8)))
    return (slice(start, min(start + points, n)) for start in range(0, n, points))


@dataclass(frozen=True, eq=False)
class Search:
    """Rows ``X`` (n, d), in lengthscales, among which the nearest are looked for; exactly.

    By a k-d tree; for many points among many rows whose inputs vary alike, by all distances.
    """

    X: Array

    @cached_property
    def _tree(self) -> KDTree:
        # Cut at midpoints and not balanced: built in half the time, searched in less.
        return KDTree(self.X, leafsize=LEAF, balanced_tree=False, compact_nodes=False)

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

    def __getstate__(self) -> dict[str, Array]:
        """The rows alone: what they are searched by is made again faster than it is read."""
        return {"X": self.X}

    def nearest(self, points: Array, K: int, run: Run = serially) -> Places:
        """The K rows nearest to each point (s, d), the nearest first: (s, K); no more than there are."""
        K, tree = min(K, len(self.X)), self._tree
        rows = None if len(points) < FEW else self._all
        near = np.empty((len(points), K), dtype=np.int64)

        def look(part: slice) -> None:
            if rows is None:
                near[part] = tree.query(points[part], K)[1].reshape(-1, K)
            else:
                near[part] = nearest_of_all(rows, points[part], K)

        run([partial(look, part) for part in _parts(len(points))])
        return near

    def others(self, rows: Places, K: int, run: Run = serially) -> Places:
        """The K rows nearest to each of these rows (s,), without itself: (s, K)."""
        near = self.nearest(self.X[rows], K + 1, run)
        is_self = near == rows[:, None]
        # Where more copies of a row than neighbours hide the row itself, the last of them goes.
        is_self[~is_self.any(axis=1), -1] = True
        return np.ascontiguousarray(near[~is_self].reshape(len(rows), -1))


def _parts(n: int) -> Iterator[slice]:
    return (slice(start, min(start + SEARCHED, n)) for start in range(0, n, SEARCHED))


class LocalGrad(NamedTuple):
    """Derivatives of a sum over some points by the kernel's parameters and the constants of the model."""

    ds2_k: float
    dlog_ell: Array
    dnoise: Array  # (s, K): by the noise variance of each row near each point
    dmean: float  # by a constant mean of the function


@dataclass(frozen=True, eq=False)
class Conditioned:
    """The function at some points given the rows near them: its moments, and what their pullback needs."""

    kernel: Stationary
    X: Array  # rows, in lengthscales
    points: Array  # likewise
    near: Places
    noise: Array  # (s, K)
    ks: Array  # (s, K), covariances with the rows near
    slopes: tuple[Array, Array]  # of the matrices, in their strictly lower triangles, and of ``ks``
    solved: Array  # (s, 2, K): b and a
    mu: Array
    s2: Array

    @classmethod
    def of(
        cls, kernel: Stationary, X: Array, y: Array, r: Array, near: Places, points: Array, slopes: bool
    ) -> "Conditioned":
        """Given rows ``X`` and ``points`` in lengthscales, targets ``y`` and noise ``r`` (n,): K^3 / 3 flops.

        The factor of each matrix takes its upper triangle; the strictly lower one keeps the covariances,
        which are the slopes of the squared exponential. Other kernels get them only where ``slopes`` are
        asked for.
        """
        A, ks = local_products(X, near, points)
        if kernel.offset:
            A += kernel.offset
            ks += kernel.offset
        apart = slopes and kernel.slopes_apart
        D, Dk = (np.empty_like(A), np.empty_like(ks)) if apart else (A, ks)
        kernel.fill(A, D if apart else None)
        kernel.fill(ks, Dk if apart else None)
        kd, noise = kernel.s2_k * (1.0 + JITTER), r[near]
        np.einsum("skk->sk", A)[...] = kd + noise
        solved = np.stack([y[near], ks], axis=1)
        solve_each(A, solved)
        mu, explained = np.einsum("sk,sjk->js", ks, solved)
        # Round-off may carry a variance that vanishes below zero.
        s2 = np.maximum(kd - explained, 0.0)
        return cls(kernel, X, points, near, noise, ks, (D, Dk), solved, mu, s2)

    def pullback(self, dmu: Array, ds2: Array) -> LocalGrad:
        """From the derivatives by both moments of each point (s,)."""
        b, a = self.solved[:, 0], self.solved[:, 1]
        dmu, ds2 = dmu[:, None], ds2[:, None]
        # Twice the coefficients of dA, as each pair of rows is met once.
        left = np.stack([2.0 * ds2 * a - dmu * b, -dmu * a, dmu * b - 2.0 * ds2 * a], axis=1)
        right = np.stack([a, b], axis=1)
        dlog_ell = local_sums(self.X, self.near, self.points, self.slopes, left, right)
        # With A = K + R, a^T K b = mu - a^T R b and a^T K a = k^T a - a^T R a: no K is needed.
        dnoise = ds2 * a * a - dmu * a * b
        of_k = np.vdot(left[:, 2], self.ks) + ds2.sum() * self.kernel.s2_k * (1.0 + JITTER)
        of_A = np.vdot(ds2, np.vecdot(a, self.ks)[:, None]) - np.vdot(dmu, self.mu[:, None])
        of_A -= np.vdot(dnoise, self.noise)
        dmean = float(np.vdot(dmu[:, 0], 1.0 - a.sum(axis=1)))
        return LocalGrad(float(of_k + of_A) / self.kernel.s2_k, dlog_ell, dnoise, dmean)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Rows with targets ``y`` (n,) about a mean ``mean`` and noise variances ``r`` (n,), to predict from."""

    kernel: Stationary
    search: Search  # of the rows, in the kernel's lengthscales
    y: Array
    r: Array
    K: int
    mean: float = 0.0

    @classmethod
    def of(
        cls, kernel: Stationary, X: Array, y: Array, r: Array, K: int, mean: float = 0.0
    ) -> "Neighbourhood":
        """From rows ``X`` (n, d) in the units of the lengthscales."""
        return cls(kernel, Search(X / kernel.ell), y, r, K, mean)

    def moments(self, Xs: Array, run: Run = serially) -> tuple[Array, Array]:
        """Mean and variance of the function at points ``Xs`` (s, d), each (s,)."""
        points = Xs / self.kernel.ell
        return self.given(points, self.search.nearest(points, self.K, run), run)

    def holds(self, Xs: Array, run: Run = serially) -> Array:
        """Whether one of the rows has the same inputs as each point, (s,)."""
        points = Xs / self.kernel.ell
        return np.all(self.search.X[self.search.nearest(points, 1, run)[:, 0]] == points, axis=1)

    def left_out(self, rows: Places, run: Run = serially) -> tuple[Array, Array]:
        """The same moments at these rows (s,), each without itself."""
        return self.given(self.search.X[rows], self.search.others(rows, self.K, run), run)

    def given(self, points: Array, near: Places, run: Run = serially) -> tuple[Array, Array]:
        """The same at points in lengthscales from the rows named."""
        mu, s2 = np.empty(len(points)), np.empty(len(points))
        y = self.y - self.mean

        def condition(part: slice) -> None:
            found = Conditioned.of(self.kernel, self.search.X, y, self.r, near[part], points[part], False)
            mu[part], s2[part] = self.mean + found.mu, found.s2

        run([partial(condition, part) for part in pieces(len(points), near.shape[1])])
        return mu, s2
