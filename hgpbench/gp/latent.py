"""One latent process through inducing points: V = Knm L^-T in reused memory, and the way back.

Every bound here is a function of the whitened matrix V, where Kmm = L L^T and so V V^T = Qnn, of the prior
variance and of diagonals. The products are arranged so that nearly all flops are gemm, symm, syrk and trmm,
which run at the processor's rate, where trsm, trtri and potri do not: L^-1 is formed once and multiplies.

Work on (n, m) matrices goes by panels of rows that fit the second-level cache, so that scaling, product and
elementwise passes over one panel find it there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import blas

from hgpbench.gp.kernels import SEARD, KernelGrad
from hgpbench.gp.linalg import JITTER, Array, diagonal, inverse_factor, logdet, rowdots
from hgpbench.gp.posterior import Posterior

PANEL_BYTES = 600_000
RANK = 2  # columns kept free for the outer products of a derivative


class Latent:
    """Buffers and state of one process with ``m`` inducing points at ``n`` inputs.

    ``project`` fills Knm, V (n, m), Kmm, Linv (m, m) and the prior variance kd; ``condition`` fills B, LBinv,
    N and M (m, m), of which the way back may use up B, N and M. One evaluation at a time may use a Latent.
    """

    def __init__(self, n: int, m: int) -> None:
        self.m = m
        self.Kmm, self.Linv, self.B, self.LBinv, self.N, self.M = (
            np.zeros((m, m), order="F") for _ in range(6)
        )
        self.kd = self.jitter = np.nan
        self._stack = np.zeros((m + RANK, m), order="F")
        self._tall = [np.empty((0, m)) for _ in range(3)]
        self._scaled, self._stacked = np.empty((0, m)), np.empty((0, m + RANK))
        self.resize(n)

    def resize(self, n: int) -> None:
        """Serve ``n`` inputs from now on; memory grows where it must and is kept for the largest n."""
        self.n = n
        if n > len(self._tall[0]):
            self._tall = [np.empty((n, self.m)) for _ in range(3)]
        self.Knm, self.V, self.P = (memory[:n] for memory in self._tall)
        n_panels = -(-n // max(32, PANEL_BYTES // (8 * self.m)))
        self._panel = -(-n // n_panels)
        if self._panel > len(self._scaled):
            self._scaled = np.empty((self._panel, self.m))
            self._stacked = np.zeros((self._panel, self.m + RANK))

    def project(self, kernel: SEARD, X: Array, Z: Array, jitter: float = JITTER) -> None:
        """Kmm, its inverse factor, Knm and V = Knm L^-T: n m^2 flops."""
        self.kernel, self.Z, shift = kernel, Z, Z.mean(axis=0)
        self.X_aug, self.Z_aug = kernel.augment(X, shift), kernel.augment(Z, shift)
        dual = kernel.dual(self.Z_aug)
        np.exp(np.matmul(self.Z_aug, dual.T, out=self.Kmm.T), out=self.Kmm)
        self.jitter = inverse_factor(self.Kmm, kernel.s2_k, jitter, out=self.Linv).jitter
        # The jitter belongs to the prior: Kmm and the prior variances carry the same nugget.
        self.kd = kernel.s2_k * (1.0 + self.jitter)
        diagonal(self.Kmm)[...] = self.kd
        for rows in self._panels():
            K, V = self.Knm[rows], self.V[rows]
            np.exp(np.matmul(self.X_aug[rows], dual.T, out=K), out=K)
            V[...] = K
            blas.dtrmm(1.0, self.Linv, V.T, lower=True, overwrite_b=True)

    def gram(self, weights: Array, out: Array) -> Array:
        """Lower triangle of V^T diag(weights) V, weights >= 0, into a Fortran ``out`` (m, m): n m^2 flops."""
        roots = np.sqrt(weights)
        for rows in self._panels():
            S = self._scaled[: rows.stop - rows.start]
            np.einsum("nm,n->nm", self.V[rows], roots[rows], out=S)  # quicker than broadcasting
            blas.dsyrk(1.0, S.T, beta=float(rows.start > 0), c=out, lower=True, overwrite_c=True)
        return out

    def condition(self, weights: Array) -> float:
        """B = I + V^T diag(weights) V, its inverse factor, N = B^-1 L^-1, M = L^-1 - N; returns log |B|."""
        self.gram(weights, out=self.B)
        diagonal(self.B)[...] += 1.0
        inverse_factor(self.B, max_jitter=0.0, out=self.LBinv)
        self.N[...] = self.Linv
        blas.dtrmm(1.0, self.LBinv, self.N, lower=True, overwrite_b=True)  # m^3
        blas.dtrmm(1.0, self.LBinv, self.N, lower=True, trans_a=True, overwrite_b=True)  # m^3
        np.subtract(self.Linv, self.N, out=self.M)
        return -logdet(self.LBinv)

    def solve(self, b: Array) -> Array:
        """B^-1 b for a vector (m,)."""
        return (self.LBinv @ b) @ self.LBinv

    def apply(self, M: Array) -> Array:
        """P = V M, kept for ``pull``; returns diag(P Kmn): 2 n m^2 flops."""
        dots = np.empty(self.n)
        for rows in self._panels():
            P = self.P[rows]
            blas.dgemm(1.0, M, self.V[rows].T, c=P.T, trans_a=True, overwrite_c=True)
            dots[rows] = rowdots(P, self.Knm[rows])
        return dots

    def pull(
        self,
        weights: Array,
        M: Array,
        outer: Sequence[tuple[Array, Array]],
        applied: Array | None = None,
    ) -> tuple[Array, KernelGrad]:
        """Pull dKnm = diag(weights) V M + sum of outer products [+ diag(applied) P] back to the kernel.

        The outer products are pairs (n,), (m,), at most ``RANK``. Returns the row sums of dKnm * Knm as
        well, and destroys P: 2 n m^2 flops.
        """
        m, stack = self.m, self._stack
        stack[:m] = M
        for k, (_, right) in enumerate(outer):
            stack[m + k] = right
        sums, row_sums, ones = np.zeros((m, self.X_aug.shape[1]), order="F"), np.empty(self.n), np.ones(m)
        for rows in self._panels():
            S, W = self._stacked[: rows.stop - rows.start], self.P[rows]
            np.einsum("nm,n->nm", self.V[rows], weights[rows], out=S[:, :m])
            for k, (left, _) in enumerate(outer):
                S[:, m + k] = left[rows]
            if applied is not None:
                np.einsum("nm,n->nm", W, applied[rows], out=W)
            blas.dgemm(
                1.0, stack, S.T, beta=float(applied is not None), c=W.T, trans_a=True, overwrite_c=True
            )
            W *= self.Knm[rows]
            np.matmul(W, ones, out=row_sums[rows])
            blas.dgemm(1.0, W.T, self.X_aug[rows].T, beta=1.0, c=sums, trans_b=True, overwrite_c=True)
        stack[m:] = 0.0
        return row_sums, self.kernel.gather(self.X_aug, self.Z_aug, row_sums, sums)

    def pull_inducing(self, low: Array, product: Array, dkd: float) -> KernelGrad:
        """Pull dKmm = -1/2 L^-T H L^-1, with H L^-1 = symmetric(low) L^-1 + product, and dkd to the kernel.

        H is dV^T V; where it is not symmetric (a mean free in the whitened coordinates), the derivative of
        the Cholesky factor needs its lower triangle mirrored: ``low``, of which the upper part is not read.
        Destroys ``product``.
        """
        blas.dsymm(-0.5, low, self.Linv, beta=-0.5, c=product, lower=True, overwrite_c=True)  # 2 m^3
        blas.dtrmm(1.0, self.Linv, product, trans_a=True, lower=True, overwrite_b=True)  # m^3
        product *= self.Kmm
        grad = self.kernel.gather_sym(self.Z_aug, product)
        return replace(grad, ds2_k=grad.ds2_k + dkd * self.kd / self.kernel.s2_k)

    def posterior(self, mean: Array, prior_mean: float = 0.0) -> Posterior:
        """The process at new inputs, given the whitened mean (m,) and the covariance B^-1."""
        root = self.Linv.copy(order="F")
        blas.dtrmm(1.0, self.LBinv, root, lower=True, overwrite_b=True)
        a, Linv = mean @ self.Linv, self.Linv.copy(order="F")
        return Posterior(self.kernel, self.Z.copy(), prior_mean, self.kd, a, Linv, root)

    def _panels(self) -> Iterator[slice]:
        for start in range(0, self.n, self._panel):
            yield slice(start, min(start + self._panel, self.n))
