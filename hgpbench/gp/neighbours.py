"""A latent function at points from the K training rows nearest to each, exactly, and its pullback.

Conditioning on the nearest rows, in lengthscales, is what an exact GP comes to where the kernel has decayed
beyond them (Vecchia, 1988; Gramacy and Apley, 2015). With A = K_NN + R for the rows N near a point, k its
covariances with them, b = A^-1 y_N and a = A^-1 k,

    mu = k^T b,    s2 = k(0) - k^T a,

    dk = dmu b - 2 ds2 a,    dA = ds2 a a^T - dmu (a b^T + b a^T) / 2,

so that a bound's derivatives by mu and s2 of each point lead to those by the kernel's parameters in K^2 d
flops beside the K^3 / 3 of the factor. Points are independent of each other: neither their order, nor how
they are cut into pieces, nor who computes which, changes a bit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from hgpbench.gp.kernels import Stationary
from hgpbench.gp.search import Helpers, Search
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import (
    JITTER,
    Array,
    Places,
    local_products,
    local_sums,
    solve_each,
)

CHUNK = 1_500_000  # bytes for the matrices of some points: larger ones would leave the caches
FEWEST_POINTS = 4  # at a time: with fewer, calls would take longer than they compute
BLOCK = 4_000_000  # neighbours that are known at a time


def pieces(n: int, K: int) -> Iterator[slice]:
    """``n`` points in parts whose matrices take about ``CHUNK`` bytes, with K rows near each."""
    points = max(FEWEST_POINTS, CHUNK // (8 * K * (K + 8)))
    return (slice(start, min(start + points, n)) for start in range(0, n, points))


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

        def near(part: slice) -> Places:
            return self.search.nearest(points[part], self.K, run)

        return self._given(points, near, run)

    def holds(self, Xs: Array, run: Run = serially) -> Array:
        """Whether one of the rows has the same inputs as each point, (s,)."""
        points = Xs / self.kernel.ell
        return np.all(self.search.X[self.search.nearest(points, 1, run)[:, 0]] == points, axis=1)

    def left_out(self, rows: Places, run: Run = serially) -> tuple[Array, Array]:
        """The same moments at these rows (s,), each without itself."""
        return self._given(self.search.X[rows], lambda part: self.search.others(rows[part], self.K, run), run)

    def others(self, rows: Places, run: Run = serially) -> "Others":
        """How these rows (s,) follow from those near each, whatever the targets: K numbers a row are kept."""
        near = self.search.others(rows, self.K, run)
        a, s2 = np.empty(near.shape), np.empty(len(rows))

        def condition(part: slice) -> None:
            points = self.search.X[rows[part]]
            found = Conditioned.of(self.kernel, self.search.X, self.y, self.r, near[part], points, False)
            a[part], s2[part] = found.solved[:, 1], found.s2

        run([partial(condition, part) for part in pieces(*near.shape)])
        return Others(near, a, s2, self.mean)

    def _given(self, points: Array, near: Callable[[slice], Places], run: Run) -> tuple[Array, Array]:
        """The same at points in lengthscales from the rows ``near`` some of them."""
        mu, s2 = np.empty(len(points)), np.empty(len(points))
        y, most = self.y - self.mean, max(1, BLOCK // self.K)
        for start in range(0, len(points), most):
            part = slice(start, start + most)
            known = self.kernel, self.search.X, y, self.r, near(part), points[part]
            found = run.conditioned(*known) if isinstance(run, Helpers) else conditioned(*known, run)
            mu[part], s2[part] = self.mean + found[0], found[1]
        return mu, s2


@dataclass(frozen=True, eq=False)
class Others:
    """Rows as functions of the targets of those near each: mu = mean + a^T (y_N - mean), with variance s2."""

    near: Places  # (s, K)
    a: Array  # (s, K)
    s2: Array
    mean: float

    def means(self, y: Array) -> Array:
        """mu of every row where all have the targets ``y`` (n,): 2 K flops a row."""
        mu, centred, most = np.empty(len(self.a)), y - self.mean, max(1, BLOCK // self.a.shape[1])
        for start in range(0, len(mu), most):
            part = slice(start, start + most)
            mu[part] = self.mean + np.vecdot(self.a[part], centred[self.near[part]])
        return mu


def conditioned(
    kernel: Stationary, X: Array, y: Array, r: Array, near: Places, points: Array, run: Run = serially
) -> tuple[Array, Array]:
    """Moments of the function at some points given the rows near each, by pieces; see ``Conditioned.of``."""
    mu, s2 = np.empty(len(points)), np.empty(len(points))

    def condition(part: slice) -> None:
        found = Conditioned.of(kernel, X, y, r, near[part], points[part], False)
        mu[part], s2[part] = found.mu, found.s2

    run([partial(condition, part) for part in pieces(len(points), near.shape[1])])
    return mu, s2
