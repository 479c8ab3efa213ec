"""One latent process through inducing points: V = Knm L^-T in reused memory, and the way back.

Every bound here is a function of the whitened matrix V, where Kmm = L L^T and so V V^T = Qnn, of the prior
variance and of diagonals. The products are arranged so that nearly all flops are gemm, symm, syrk and trmm,
which run at the processor's rate, where trsm, trtri and potri do not: L^-1 is formed once and multiplies.

Work on (n, m) matrices goes by panels of rows that fit the second-level cache, so that scaling, product and
elementwise passes over one panel find it there. Where there are many panels, they are dealt out to shards,
which may run at the same time; sums are taken shard by shard in one order, so that the number of threads
changes no bit.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hgpbench.gp.kernels import SEARD, KernelGrad
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import passes
from hgpbench.la.dense import JITTER, Array, blas, diagonal, free, inverse, inverse_factor, logdet, rowdots
from hgpbench.la.passes import Outer, Terms
from hgpbench.la.triangular import lower_of_product, symmetric_times_lower

PANEL_BYTES = 600_000
SHARDS = 8  # more cores than these gain nothing
PANELS_PER_SHARD = 4  # with fewer, what shards cost is no longer small beside what they gain


class Sums(NamedTuple):
    """Of W = dKnm * Knm: ``rows`` = W 1 (n,) and ``columns`` = W^T X_aug (m, d + 2)."""

    rows: Array
    columns: Array


class Process:
    """Buffers and state of one process with ``m`` inducing points at ``n`` inputs.

    ``project`` fills Knm, V (n, m), Kmm, Linv (m, m) and the prior variance kd; ``factor`` fills B, LBinv and
    ``condition`` Bi, N, M (m, m); the way back may use up B, N and M. One evaluation at a time may use it.
    """

    def __init__(self, n: int, m: int, run: Run = serially) -> None:
        self.m, self.run = m, run
        self.Kmm, self.Linv, self.B, self.LBinv, self.Bi, self.N, self.M, self.spare = (
            np.zeros((m, m), order="F") for _ in range(8)
        )
        self.kd = self.jitter = self._logdet_B = np.nan
        self._factored: Array | None = None  # the weights of B and LBinv, while these are whole
        self._conditioned = False  # whether Bi, N and M go with them
        self._tall = [np.empty((0, m)) for _ in range(3)]
        self._scratch: list[Array] = []
        self._grams: list[Array] = []
        self.resize(n)

    def resize(self, n: int) -> None:
        """Serve ``n`` inputs from now on; memory grows where it must and is kept for the largest n."""
        self.n, self._factored = n, None
        if n > len(self._tall[0]):
            self._tall = [np.empty((n, self.m)) for _ in range(3)]
        self.Knm, self.V, self.P = (memory[:n] for memory in self._tall)
        n_panels = -(-n // max(32, PANEL_BYTES // (8 * self.m)))
        panel = -(-n // n_panels)
        panels = [slice(start, min(start + panel, n)) for start in range(0, n, panel)]
        shards = max(1, min(SHARDS, len(panels) // PANELS_PER_SHARD))
        self._shards = [
            panels[len(panels) * i // shards : len(panels) * (i + 1) // shards] for i in range(shards)
        ]
        if len(self._scratch) < shards or panel > len(self._scratch[0]):
            self._scratch = [np.empty((panel, self.m)) for _ in range(shards)]
        while len(self._grams) < shards - 1:
            self._grams.append(np.zeros((self.m, self.m), order="F"))

    def project(self, kernel: SEARD, X: Array, Z: Array, jitter: float = JITTER) -> None:
        """Kmm, its inverse factor, Knm and V = Knm L^-T: n m^2 flops."""
        self.kernel, self.Z, shift = kernel, Z, Z.mean(axis=0)
        self._factored = None
        self.X_aug, self.Z_aug = kernel.augment(X, shift), kernel.augment(Z, shift)
        dual = np.asfortranarray(kernel.dual(self.Z_aug))
        blas.dgemm(1.0, dual, self.Z_aug.T, c=self.Kmm, overwrite_c=True)
        passes.exponential(self.Kmm)  # symmetric
        self.jitter = inverse_factor(self.Kmm, kernel.s2_k, jitter, out=self.Linv).jitter
        # The jitter belongs to the prior: Kmm and the prior variances carry the same nugget.
        self.kd = kernel.s2_k * (1.0 + self.jitter)
        diagonal(self.Kmm)[...] = self.kd
        self._spread(partial(self._project, dual))

    def _project(self, dual: Array, products: Any, shard: int) -> None:
        for rows in self._shards[shard]:
            K, V = self.Knm[rows], self.V[rows]
            products.dgemm(1.0, dual, self.X_aug[rows].T, c=K.T, overwrite_c=True)
            V[...] = passes.exponential(K)
            products.dtrmm(1.0, self.Linv, V.T, lower=True, overwrite_b=True)

    def gram(self, weights: Array, out: Array) -> Array:
        """Lower triangle of V^T diag(weights) V, weights >= 0, into a Fortran ``out`` (m, m): n m^2 flops."""
        self._factored, parts = None, [out, *self._grams]
        self._spread(partial(self._gram, np.sqrt(weights), parts))
        for part in parts[1 : len(self._shards)]:
            out += part
        return out

    def _gram(self, roots: Array, parts: list[Array], products: Any, shard: int) -> None:
        for i, rows in enumerate(self._shards[shard]):
            S = passes.scale(self.V[rows], roots[rows], out=self._room(shard, rows))
            products.dsyrk(1.0, S.T, beta=float(i > 0), c=parts[shard], lower=True, overwrite_c=True)

    def factor(self, weights: Array) -> float:
        """B = I + V^T diag(weights) V, of which the lower triangle, and LBinv; returns log |B|.

        A natural step ends with the weights from which the next evaluation starts: theirs are kept.
        """
        if self._factored is None or not np.array_equal(weights, self._factored):
            self.gram(weights, out=self.B)
            diagonal(self.B)[...] += 1.0
            inverse_factor(self.B, max_jitter=0.0, out=self.LBinv)
            self._factored, self._conditioned = weights.copy(), False
            self._logdet_B = -logdet(self.LBinv)
        return self._logdet_B

    def condition(self, weights: Array) -> float:
        """As ``factor``; also Bi = B^-1 (its lower triangle), N = B^-1 L^-1 and M = L^-1 - N."""
        logdet_B = self.factor(weights)
        if not self._conditioned:
            inverse(self.LBinv, out=self.Bi)
            symmetric_times_lower(self.Bi, self.Linv, out=self.N, whole=True)
            np.subtract(self.Linv, self.N, out=self.M)
            self._conditioned = True
        return logdet_B

    def explained(self) -> Array:
        """diag(V (I - B^-1) V^T) (n,), what B takes off the prior variances, after ``factor``: n m^2."""
        found = np.empty(self.n)
        self._spread(partial(self._explain, found))
        return found

    def _explain(self, found: Array, products: Any, shard: int) -> None:
        for rows in self._shards[shard]:
            V, C = self.V[rows], self._room(shard, rows)
            C[...] = V
            products.dtrmm(1.0, self.LBinv, C.T, lower=True, overwrite_b=True)
            found[rows] = rowdots(V, V) - rowdots(C, C)

    def solve(self, b: Array) -> Array:
        """B^-1 b for a vector (m,)."""
        return (self.LBinv @ b) @ self.LBinv

    def apply(self, M: Array) -> Array:
        """P = (V M) * Knm, kept for ``pull``; returns its row sums, diag(V M Kmn): 2 n m^2 flops."""
        self.p = np.empty(self.n)
        self._spread(partial(self._apply, M))
        return self.p

    def _apply(self, M: Array, products: Any, shard: int) -> None:
        for rows in self._shards[shard]:
            P = self.P[rows]
            products.dgemm(1.0, M, self.V[rows].T, c=P.T, trans_a=True, overwrite_c=True)
            self.p[rows] = passes.modulate(P, self.Knm[rows])

    def pull(
        self, weights: Array, M: Array, outer: Sequence[Outer], applied: Array | None = None
    ) -> tuple[Array, Sums]:
        """The sums of dKnm = diag(weights) V M + outer products [+ diag(applied) V M of ``apply``].

        Returns diag(V M Kmn) as well: 2 n m^2 flops.
        """
        self._factored = None  # the way back uses up B, N and M
        terms = Terms(weights, outer, self.P, applied)
        columns = [np.zeros((self.X_aug.shape[1], self.m)).T for _ in self._shards]
        row_sums = np.empty(self.n)
        self._spread(partial(self._pull, terms, M, columns, row_sums))
        total = weights * row_sums
        if applied is not None:
            total += applied * self.p
        for left, _, along in outer:
            total += left * along
        return row_sums, Sums(total, sum(columns[1:], columns[0]))

    def _pull(
        self, terms: Terms, M: Array, columns: list[Array], row_sums: Array, products: Any, shard: int
    ) -> None:
        for rows in self._shards[shard]:
            W, K, X_aug = self._room(shard, rows), self.Knm[rows], self.X_aug[rows]
            products.dgemm(1.0, M, self.V[rows].T, c=W.T, trans_a=True, overwrite_c=True)
            row_sums[rows] = passes.add_sums(terms, rows, W, K, X_aug, columns[shard], products)

    def gather(self, sums: Sums, low: Array, product: Array, dkd: float) -> KernelGrad:
        """Pull dKnm (its ``sums``), dKmm = -1/2 L^-T H L^-1, H L^-1 = symmetric(low) L^-1 + product, and dkd.

        H is dV^T V; where it is not symmetric (a mean free in the whitened coordinates), the derivative of
        the Cholesky factor needs its lower triangle mirrored: ``low``, of which the upper part is not read.
        Destroys ``product``.
        """
        symmetric_times_lower(low, self.Linv, out=product, alpha=-0.5, beta=-0.5, whole=False)
        W = lower_of_product(self.Linv, product, out=self.spare)
        W *= self.Kmm
        grad = self.kernel.gather(self.X_aug, self.Z_aug, *sums, self.kernel.sums_sym(self.Z_aug, W))
        return KernelGrad(grad.ds2_k + dkd * self.kd / self.kernel.s2_k, grad.dell, grad.dZ)

    def posterior(self, mean: Array, prior_mean: float = 0.0) -> Posterior:
        """The process at new inputs, given the whitened mean (m,) and the covariance B^-1."""
        root = self.Linv.copy(order="F")
        blas.dtrmm(1.0, self.LBinv, root, lower=True, overwrite_b=True)
        a, Linv = mean @ self.Linv, self.Linv.copy(order="F")
        return Posterior(self.kernel, self.Z.copy(), prior_mean, self.kd, a, Linv, root)

    def _spread(self, work: Callable[[Any, int], None]) -> None:
        """Call work(products, shard) for every shard."""
        if len(self._shards) == 1:
            work(blas, 0)
        else:
            self.run([partial(work, free, shard) for shard in range(len(self._shards))])

    def _room(self, shard: int, rows: slice) -> Array:
        """Scratch memory of a shard for some rows."""
        return self._scratch[shard][: rows.stop - rows.start]
