"""One latent process at training inputs, through inducing points: V = Knm L^-T in reused memory.

The order of its steps is a type each. A ``Process`` is memory; ``project`` makes a ``Projected`` one, whose
matrices depend on kernel and inputs alone; weights of the rows make that ``Factored``, or ``Conditioned``
where the way back is wanted, which is a method of it and uses its matrices up. Nobody else writes to them.

Work on (n, m) matrices goes by panels of rows that fit the second-level cache, so that scaling, product and
elementwise passes over one panel find it there. Where there are many panels, they are dealt out to shares,
which may run at the same time; sums are taken share by share in one order, so that the number of threads
changes no bit. Nearly all flops are gemm, symm, syrk and trmm, which run at the processor's rate.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from hgpbench.gp.inducing import Inducing
from hgpbench.gp.kernels import SEARD, Family, KernelGrad, Sums
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import (
    JITTER,
    Array,
    Panel,
    RowSums,
    Terms,
    add_outer,
    add_sums,
    diagonal,
    gram,
    inverse,
    inverse_factor,
    logdet,
    lower_times,
    modulate,
    rowdots,
    scale_rows,
    symmetric_times,
    symmetric_times_lower,
    times,
)
from hgpbench.la import Outer as OuterProduct

PANEL_BYTES = 600_000
SHARES = 8  # more cores than these gain nothing
PANELS_PER_SHARE = 4  # with fewer, what shares cost is no longer small beside what they gain


class Outer(NamedTuple):
    """An outer product left right^T in dV: left (n,), right (m,), along = V right (n,), across = V^T left."""

    left: Array
    right: Array
    along: Array
    across: Array


class Filled(NamedTuple):
    """What the square matrices of a process hold: B and LB^-1 of which weights, and S, SL and RL too."""

    weights: Array | None = None
    logdet_B: float = np.nan
    conditioned: bool = False


class Process:
    """Memory for one process with ``m`` inducing points at ``n`` inputs, for one evaluation at a time.

    ``family`` is what kernel it will have: the slopes of some need memory of their own.
    """

    def __init__(self, n: int, m: int, run: Run = serially, family: Family = SEARD) -> None:
        self.m, self._run, self.family = m, run, family
        self._prior, self._prior_factor = (np.zeros((m, m), order="F") for _ in range(2))
        self._prior_slopes = np.zeros((m, m), order="F") if family.slopes_apart else self._prior
        self.B, self.LBinv, self.S, self.SL, self.RL, self.spare = (
            np.zeros((m, m), order="F") for _ in range(6)
        )
        self._tall = [np.empty((0, m))]
        self._scratch: list[Array] = []
        self.grams: list[Array] = []
        self.filled = Filled()
        self.resize(n)

    def resize(self, n: int) -> None:
        """Serve ``n`` inputs from now on; memory grows where it must and is kept for the largest n."""
        self.n = n
        if n > len(self._tall[0]):
            self._tall = [np.empty((n, self.m)) for _ in range(4 if self.family.slopes_apart else 3)]
        n_panels = -(-n // max(32, PANEL_BYTES // (8 * self.m)))
        panel = -(-n // n_panels)
        panels = [slice(start, min(start + panel, n)) for start in range(0, n, panel)]
        shares = max(1, min(SHARES, len(panels) // PANELS_PER_SHARE))
        self.shares = [
            panels[len(panels) * i // shares : len(panels) * (i + 1) // shares] for i in range(shares)
        ]
        if len(self._scratch) < shares or panel > len(self._scratch[0]):
            self._scratch = [np.empty((panel, self.m)) for _ in range(shares)]
        while len(self.grams) < shares - 1:
            self.grams.append(np.zeros((self.m, self.m), order="F"))

    def project(self, s2_k: Array, ell: Array, X: Array, Z: Array, jitter: float = JITTER) -> "Projected":
        """Kmm, its inverse factor, Knm and V = Knm L^-T: n m^2 flops. What was projected before is lost."""
        self.filled = Filled()
        kernel = self.family(float(s2_k), ell)
        inducing = Inducing.of(
            kernel, Z, jitter, Kmm=self._prior, Dmm=self._prior_slopes, Linv=self._prior_factor
        )
        return Projected(self, inducing, inducing.augment(X), [memory[: self.n] for memory in self._tall])

    def spread(self, work: Callable[[int], None]) -> None:
        """Call work(share) for every share, at the same time where the caller has threads."""
        if len(self.shares) == 1:
            work(0)
        else:
            self._run([partial(work, share) for share in range(len(self.shares))])

    def scratch(self, share: int, rows: slice) -> Array:
        """Memory of a share for some rows."""
        return self._scratch[share][: rows.stop - rows.start]


class Projected:
    """Knm, its slopes, V (n, m) and the prior: all that depends on the kernel and the inputs alone."""

    def __init__(self, process: Process, inducing: Inducing, X_aug: Array, tall: list[Array]) -> None:
        self.process, self.inducing, self.X_aug = process, inducing, X_aug
        self.Knm, self.V, self.P = tall[:3]
        self._Dnm = tall[-1] if process.family.slopes_apart else None
        self.n, self.m, self.kd, self.jitter = process.n, process.m, inducing.kd, inducing.jitter
        self.panels: list[list[Panel]] = [[] for _ in process.shares]
        process.spread(self._project)

    def _project(self, share: int) -> None:
        for rows in self.process.shares[share]:
            K, X_aug = self.Knm[rows], self.X_aug[rows]
            D = K if self._Dnm is None else self._Dnm[rows]
            self.inducing.project(X_aug, K, D, self.V[rows])
            self.panels[share].append(Panel(rows, K, D, X_aug))

    @cached_property
    def qnn(self) -> Array:
        """diag Qnn (n,)."""
        return rowdots(self.V, self.V)

    @property
    def slack(self) -> Array:
        """knn - qnn (n,), what the inducing points leave unexplained."""
        return self.kd - self.qnn

    def gram(self, weights: Array, *, out: Array) -> Array:
        """Lower triangle of V^T diag(weights) V, weights >= 0, into a Fortran ``out`` (m, m): n m^2 flops."""
        process, roots = self.process, np.sqrt(weights)
        parts = [out, *process.grams[: len(process.shares) - 1]]

        def add(share: int) -> None:
            for i, rows in enumerate(process.shares[share]):
                S = scale_rows(self.V[rows], roots[rows], out=process.scratch(share, rows))
                gram(S, out=parts[share], beta=float(i > 0))

        process.spread(add)
        for part in parts[1:]:
            out += part
        return out

    def factor(self, weights: Array) -> "Factored":
        """B = I + V^T diag(weights) V and the inverse of its factor."""
        return Factored(self, weights)

    def condition(self, weights: Array) -> "Conditioned":
        """As ``factor``, and what the way back needs."""
        return Conditioned(self.factor(weights))


class Factored:
    """B = I + V^T diag(weights) V (its lower triangle), LB^-1 (m, m) and log |B|, of a projected process.

    Good until other weights are factored in the same memory. A natural step ends with the weights from which
    the next evaluation starts: what the memory holds of them is taken as it is.
    """

    def __init__(self, projected: Projected, weights: Array) -> None:
        self.projected, process = projected, projected.process
        if process.filled.weights is None or not np.array_equal(weights, process.filled.weights):
            process.filled = Filled()  # a factorisation that fails leaves nothing
            B = projected.gram(weights, out=process.B)
            diagonal(B)[...] += 1.0
            inverse_factor(B, max_jitter=0.0, out=process.LBinv)
            process.filled = Filled(weights.copy(), -logdet(process.LBinv))
        self.weights, self.logdet_B, self.LBinv = weights, process.filled.logdet_B, process.LBinv

    @property
    def trace_B(self) -> float:
        """tr B, until the way back is taken."""
        return float(diagonal(self.projected.process.B).sum())

    def solve(self, b: Array) -> Array:
        """B^-1 b for a vector (m,)."""
        return (self.LBinv @ b) @ self.LBinv

    def explained(self) -> Array:
        """diag(V (I - B^-1) V^T) (n,), what B takes off the prior variances: n m^2."""
        process, V, variances = self.projected.process, self.projected.V, np.empty(self.projected.n)

        def explain(share: int) -> None:
            for rows in process.shares[share]:
                C = process.scratch(share, rows)
                C[...] = V[rows]
                lower_times(self.LBinv, C.T)
                variances[rows] = rowdots(V[rows], V[rows]) - rowdots(C, C)

        process.spread(explain)
        return variances

    def posterior(self, mean: Array, prior_mean: float = 0.0) -> Posterior:
        """The process at new inputs, given the whitened mean (m,) and the covariance B^-1."""
        inducing = self.projected.inducing
        root = lower_times(self.LBinv, inducing.Linv.copy(order="F"))
        return inducing.posterior(mean, root, prior_mean)


class Conditioned:
    """S = B^-1 (lower triangle), SL = S L^-1, RL = L^-1 - SL (m, m), and the ways back: one may be taken."""

    def __init__(self, factored: Factored) -> None:
        self.factored, self.projected = factored, factored.projected
        process, Linv = self.projected.process, self.projected.inducing.Linv
        self._S, self._SL, self._RL = process.S, process.SL, process.RL
        if not process.filled.conditioned:
            inverse(factored.LBinv, out=self._S)
            symmetric_times_lower(self._S, Linv, out=self._SL, whole=True)
            np.subtract(Linv, self._SL, out=self._RL)
            process.filled = process.filled._replace(conditioned=True)
        self._applied: Array | None = None

    def explained(self) -> Array:
        """diag(V (I - B^-1) V^T) (n,); P = (V RL) * D is kept for the way back: 2 n m^2 flops."""
        self._applied = sums = np.empty(self.projected.n)

        def apply(share: int) -> None:
            for rows, K, D, _ in self.projected.panels[share]:
                P = times(self.projected.V[rows], self._RL, out=self.projected.P[rows])
                sums[rows], _ = modulate(P, K, D)

        self.projected.process.spread(apply)
        return sums

    def pull_weighted(
        self, outer: Outer, dkd: float, excess: Array | None = None
    ) -> tuple[Array, KernelGrad]:
        """The way back for dV = diag(weights) V (I - B^-1) + outer [- diag(excess) V], and dkd: 2 n m^2.

        Returns diag(V (I - B^-1) V^T) (n,) as well, which is at hand on the way. With an ``excess``, for
        which n m^2 are added, ``explained`` comes first.
        """
        f, weights = self.projected, self.factored.weights
        B = self._use_up()
        if excess is None:
            explained, sums = self._pull(weights, self._RL, [outer])
        else:
            explained = self._kept()
            _, sums = self._pull(-excess, f.inducing.Linv, [outer], applied=weights)
            B -= f.gram(excess, out=self._RL)  # above the diagonal B is nobody's
        # dV^T V = (B - I) (I - B^-1) + right across^T [- V^T diag(excess) V]
        diagonal(B)[...] -= 2.0
        add_outer(B, outer.right, outer.across)
        return explained, self._gather(sums, B, self._SL, dkd)

    def pull_moments(self, t: Array, outer: Sequence[Outer]) -> tuple[Array, KernelGrad]:
        """The way back for dV = diag(t) V (I - B^-1) + diag(weights) V E + outer, dkd = -sum t / 2: 3 n m^2.

        E = B^-1 (V^T diag(t) V - B + I) B^-1 is what a change of the weights does to moments and KL together:
        diag(V E V^T) (n,) is returned as well. ``explained`` comes first; ``t`` must not be negative.
        """
        g, weights = self.projected, self.factored.weights
        self._kept()
        T = g.gram(t, out=self._use_up())
        # Only E L^-1 = B^-1 (T SL - RL) is needed.
        T_SL = symmetric_times(T, self._SL, out=self._RL, beta=-1.0)  # 2 m^3
        EL = symmetric_times(self._S, T_SL, out=g.process.spare)  # 2 m^3
        v_E, sums = self._pull(weights, EL, outer, applied=t)
        # dV^T V = T - I + B^-1 - E + right across^T
        diagonal(T)[...] -= 1.0
        for _, right, _, across in outer:
            add_outer(T, right, across)
        self._SL -= EL
        return v_E, self._gather(sums, T, self._SL, -0.5 * float(t.sum()))

    def _use_up(self) -> Array:
        """B, to be overwritten: the way back may be taken once."""
        process = self.projected.process
        if process.filled.weights is None:
            raise RuntimeError("the matrices of this process have been used up")
        process.filled = Filled()
        return process.B

    def _kept(self) -> Array:
        if self._applied is None:
            raise RuntimeError("the explained variances come first")
        return self._applied

    def _pull(
        self, weights: Array, A: Array, outer: Sequence[Outer], applied: Array | None = None
    ) -> tuple[Array, Sums]:
        """The sums of dKnm = diag(weights) V A + outer products [+ diag(applied) V RL].

        Returns diag(V A Kmn) as well: 2 n m^2 flops.
        """
        f = self.projected
        Linv = f.inducing.Linv
        terms = Terms(
            weights, [OuterProduct(left, right @ Linv) for left, right, _, _ in outer], f.P, applied
        )
        columns = [np.zeros((f.X_aug.shape[1], f.m)).T for _ in f.panels]
        row_sums = RowSums(*(np.empty(f.n) for _ in range(3)))

        def add(share: int) -> None:
            for panel in f.panels[share]:
                rows = panel.rows
                W = times(f.V[rows], A, out=f.process.scratch(share, rows))
                add_sums(terms, panel, W, columns[share], row_sums)

        f.process.spread(add)
        explained = row_sums.covariances
        total = weights * explained
        if applied is not None:
            total += applied * self._kept()
        pulled = sum(columns[1:], columns[0])
        if f.process.family.slopes_apart:
            total += row_sums.outer
            return explained, Sums(row_sums.slopes, pulled, float(total.sum()))
        for left, _, along, _ in outer:
            total += left * along
        # The sum of dKnm * Knm is taken from Knm itself: V is as exact, but its round-off is another.
        return explained, Sums(total, pulled, float(pulled[:, -2].sum()))

    def _gather(self, sums: Sums, low: Array, HL: Array, dkd: float) -> KernelGrad:
        f = self.projected
        # What EL holds has served, too.
        own = f.inducing.own_sums(low, HL, spare=f.process.spare)
        return f.inducing.gather(f.X_aug, sums, own, dkd)
