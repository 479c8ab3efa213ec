"""One latent process through inducing points: V = Knm L^-T in reused memory, and the way back.

Every bound here is a function of the whitened matrix V, where Kmm = L L^T and so V V^T = Qnn, of the prior
variance and of diagonals. The products are arranged so that nearly all flops are gemm, symm, syrk and trmm,
which run at the processor's rate, where trsm, trtri and potri do not: L^-1 is formed once and multiplies.

Work on (n, m) matrices goes by panels of rows that fit the second-level cache, so that scaling, product and
elementwise passes over one panel find it there.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hgpbench.gp import passes
from hgpbench.gp.kernels import SEARD, KernelGrad
from hgpbench.gp.linalg import JITTER, Array, blas, diagonal, inverse, inverse_factor, logdet, rowdots
from hgpbench.gp.passes import Outer
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.triangular import lower_of_product, symmetric_times_lower

PANEL_BYTES = 600_000


class Sums(NamedTuple):
    """Of W = dKnm * Knm: ``rows`` = W 1 (n,) and ``columns`` = W^T X_aug (m, d + 2)."""

    rows: Array
    columns: Array


class Latent:
    """Buffers and state of one process with ``m`` inducing points at ``n`` inputs.

    ``project`` fills Knm, V (n, m), Kmm, Linv (m, m) and the prior variance kd; ``factor`` fills B, LBinv and
    ``condition`` Bi, N, M (m, m); the way back may use up B, N and M. One evaluation at a time may use it.
    """

    def __init__(self, n: int, m: int) -> None:
        self.m = m
        self.Kmm, self.Linv, self.B, self.LBinv, self.Bi, self.N, self.M, self.spare = (
            np.zeros((m, m), order="F") for _ in range(8)
        )
        self.kd = self.jitter = self._logdet_B = np.nan
        self._factored: Array | None = None  # the weights of B and LBinv, while these are whole
        self._conditioned = False  # whether Bi, N and M go with them
        self._tall = [np.empty((0, m)) for _ in range(3)]
        self._scratch = np.empty((0, m))
        self.resize(n)

    def resize(self, n: int) -> None:
        """Serve ``n`` inputs from now on; memory grows where it must and is kept for the largest n."""
        self.n = n
        if n > len(self._tall[0]):
            self._tall = [np.empty((n, self.m)) for _ in range(3)]
        self.Knm, self.V, self.P = (memory[:n] for memory in self._tall)
        n_panels = -(-n // max(32, PANEL_BYTES // (8 * self.m)))
        self._panel = -(-n // n_panels)
        if self._panel > len(self._scratch):
            self._scratch = np.empty((self._panel, self.m))

    def project(self, kernel: SEARD, X: Array, Z: Array, jitter: float = JITTER) -> None:
        """Kmm, its inverse factor, Knm and V = Knm L^-T: n m^2 flops."""
        self.kernel, self.Z, shift = kernel, Z, Z.mean(axis=0)
        self._factored = None
        self.X_aug, self.Z_aug = kernel.augment(X, shift), kernel.augment(Z, shift)
        dual = np.asfortranarray(kernel.dual(self.Z_aug))
        _exp_product(dual, self.Z_aug, out=self.Kmm)  # symmetric
        self.jitter = inverse_factor(self.Kmm, kernel.s2_k, jitter, out=self.Linv).jitter
        # The jitter belongs to the prior: Kmm and the prior variances carry the same nugget.
        self.kd = kernel.s2_k * (1.0 + self.jitter)
        diagonal(self.Kmm)[...] = self.kd
        for rows in self._panels():
            K, V = self.Knm[rows], self.V[rows]
            _exp_product(dual, self.X_aug[rows], out=K.T)
            V[...] = K
            blas.dtrmm(1.0, self.Linv, V.T, lower=True, overwrite_b=True)

    def gram(self, weights: Array, out: Array) -> Array:
        """Lower triangle of V^T diag(weights) V, weights >= 0, into a Fortran ``out`` (m, m): n m^2 flops."""
        self._factored, roots = None, np.sqrt(weights)
        for rows in self._panels():
            S = passes.scale(self.V[rows], roots[rows], out=self._scratch[: rows.stop - rows.start])
            blas.dsyrk(1.0, S.T, beta=float(rows.start > 0), c=out, lower=True, overwrite_c=True)
        return out

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
        for rows in self._panels():
            V, C = self.V[rows], self._scratch[: rows.stop - rows.start]
            C[...] = V
            blas.dtrmm(1.0, self.LBinv, C.T, lower=True, overwrite_b=True)
            found[rows] = rowdots(V, V) - rowdots(C, C)
        return found

    def solve(self, b: Array) -> Array:
        """B^-1 b for a vector (m,)."""
        return (self.LBinv @ b) @ self.LBinv

    def apply(self, M: Array) -> Array:
        """P = (V M) * Knm, kept for ``pull``; returns its row sums, diag(V M Kmn): 2 n m^2 flops."""
        self.p = np.empty(self.n)
        for rows in self._panels():
            self.p[rows] = passes.modulate(self._product(rows, M, out=self.P[rows]), self.Knm[rows])
        return self.p

    def pull(
        self, weights: Array, M: Array, outer: Sequence[Outer], applied: Array | None = None
    ) -> tuple[Array, Sums]:
        """The sums of dKnm = diag(weights) V M + outer products [+ diag(applied) V M of ``apply``].

        Returns diag(V M Kmn) as well: 2 n m^2 flops.
        """
        self._factored = None  # the way back uses up B, N and M
        terms = passes.Terms(weights, outer, self.P, applied)
        columns, row_sums = np.zeros((self.X_aug.shape[1], self.m)).T, np.empty(self.n)
        for rows in self._panels():
            W = self._product(rows, M, out=self._scratch[: rows.stop - rows.start])
            row_sums[rows] = passes.add_sums(terms, rows, W, self.Knm[rows], self.X_aug[rows], out=columns)
        total = weights * row_sums
        if applied is not None:
            total += applied * self.p
        for left, _, along in outer:
            total += left * along
        return row_sums, Sums(total, columns)

    def _product(self, rows: slice, M: Array, out: Array) -> Array:
        """V M of some rows into ``out``."""
        blas.dgemm(1.0, M, self.V[rows].T, c=out.T, trans_a=True, overwrite_c=True)
        return out

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

    def _panels(self) -> Iterator[slice]:
        for start in range(0, self.n, self._panel):
            yield slice(start, min(start + self._panel, self.n))


def _exp_product(dual: Array, aug: Array, out: Array) -> None:
    """exp(dual aug^T), ``dual`` and ``out`` in Fortran order: a kernel matrix from its augmented inputs."""
    blas.dgemm(1.0, dual, aug.T, c=out, overwrite_c=True)
    passes.exponential(out)
