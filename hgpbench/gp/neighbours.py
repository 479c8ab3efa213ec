"""f at new inputs from the training rows next to them, given the noise variance of every row.

Exact conditioning on the K nearest rows, in lengthscales, of each point: what an exact GP comes to
where the kernel has decayed beyond them (Vecchia, 1988; Gramacy and Apley, 2015). No border between experts
lies between a point and its neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from hgpbench.gp.kernels import Stationary
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import JITTER, Array, rowdots, solve_each

CHUNK = 16_000_000  # bytes for the matrices of some points: larger ones would leave the caches
FEWEST_POINTS = 8  # at a time: with fewer, calls would take longer than they compute


@dataclass(eq=False)
class Neighbourhood:
    """Training rows ``X`` (n, d) with targets ``y`` and noise variances ``r`` (n,), searched by a tree."""

    kernel: Stationary
    X: Array
    y: Array
    r: Array
    K: int
    scale: float = 1.0  # times the kernel's lengthscales
    _tree: KDTree = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.K = min(self.K, len(self.y))
        # Cut at midpoints and not balanced: built in half the time, searched in the same.
        self._tree = KDTree(self.X / self.kernel.ell, leafsize=32, balanced_tree=False, compact_nodes=False)

    def moments(self, Xs: Array, chunk: int = CHUNK, run: Run = serially) -> tuple[Array, Array]:
        """Mean and variance of f at ``Xs`` (s, d), each (s,): K^3 / 3 flops a point beside the search.

        Matrices take ``chunk`` bytes at a time in each of the tasks that ``run`` runs at once.
        """
        mu, s2 = np.empty(len(Xs)), np.empty(len(Xs))

        def condition(rows: slice) -> None:
            scaled = Xs[rows] / self.kernel.ell
            near = self._tree.query(scaled, self.K)[1].reshape(-1, self.K)
            mu[rows], s2[rows] = self._condition(scaled, near, self.scale)

        run([partial(condition, part) for part in self._pieces(len(Xs), self.K, chunk)])
        return mu, s2

    def choose(
        self, counts: Sequence[int], scales: Sequence[float], rows: NDArray[np.int64], run: Run = serially
    ) -> None:
        """Set K, then the scale, to those from which these training rows are best predicted by the others.

        Best by the sum of log N(y_i | mu_i, s2_i + r_i), f at row i conditioned on its K nearest others; the
        scale is one of ``scales``, or stays 1. A sparse bound likes its lengthscales long, for then its
        inducing points explain more; the exact conditioning here does better with somewhat shorter ones.
        Another scale leaves the nearest the same.
        """
        counts = sorted({min(count, len(self.y) - 1) for count in counts})
        points = self._tree.data[rows]
        nearest = _others(self._tree.query(points, counts[-1] + 1)[1].reshape(len(rows), -1), rows)

        def fit(count: int, scale: float) -> float:
            """The log density with so many neighbours at this scale, but for a constant."""
            densities = np.empty(len(rows))

            def judge(part: slice) -> None:
                mu, s2 = self._condition(points[part], nearest[part, :count], scale)
                s2 += self.r[rows[part]]
                densities[part] = -0.5 * (np.log(s2) + (self.y[rows[part]] - mu) ** 2 / s2)

            run([partial(judge, part) for part in self._pieces(len(rows), count)])
            return float(densities.sum())

        by_count = {count: fit(count, 1.0) for count in counts}
        self.K = max(by_count, key=by_count.__getitem__)
        by_scale = {1.0: by_count[self.K]} | {scale: fit(self.K, scale) for scale in scales}
        self.scale = max(by_scale, key=by_scale.__getitem__)

    def _pieces(self, n: int, K: int, chunk: int = CHUNK) -> list[slice]:
        """``n`` points in parts whose matrices take about ``chunk`` bytes, with K neighbours each."""
        points = max(FEWEST_POINTS, min(chunk, CHUNK) // (8 * K * (K + 3 * self.X.shape[1] + 8)))
        return [slice(start, start + points) for start in range(0, n, points)]

    def _condition(self, points: Array, near: NDArray[np.int64], scale: float) -> tuple[Array, Array]:
        """mu* = k*^T A^-1 y and s2* = k - k*^T A^-1 k*, for scaled points, with A = K + diag(r) each."""
        kernel, kd = self.kernel, self.kernel.s2_k * (1.0 + JITTER)
        Z = self._tree.data[near]  # (s, K, d), in lengthscales
        seen = (Z - points[:, None]) / scale  # from the point
        ks = kernel.at(rowdots(seen, seen))
        # Among themselves seen from their middle: from a far point their distances would cancel.
        Z -= Z.mean(axis=1, keepdims=True)
        Z /= scale
        square = rowdots(Z, Z)
        A = Z @ Z.transpose(0, 2, 1)  # (s, K, K)
        A -= 0.5 * square[:, :, None]
        A -= 0.5 * square[:, None, :] - kernel.offset
        kernel.fill(A)
        diagonal = np.einsum("skk->sk", A)
        diagonal[...] = kd + self.r[near]
        solved = np.stack([self.y[near], ks], axis=1)  # (s, 2, K)
        solve_each(A, solved)
        mu, explained = np.einsum("sk,sjk->js", ks, solved)
        # Round-off may carry a variance that vanishes below zero.
        return mu, np.maximum(kd - explained, 0.0)


def _others(near: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each row's nearest ones (s, K + 1) without the row itself, or the last where copies hide it: (s, K)."""
    is_self = near == rows[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    return near[~is_self].reshape(len(rows), -1)
