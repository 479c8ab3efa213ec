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
from hgpbench.gp.linalg import JITTER, Array, cholesky, logdet, mirror, rowdots, spd_inverse, tri_inverse
from hgpbench.gp.posterior import Posterior

PANEL_BYTES = 400_000
RANK = 2  # columns kept free for the outer products of a derivative


class Latent:
    """Buffers and state of one process with ``m`` inducing points at ``n`` inputs.

    ``project`` fills Knm, V (n, m), Kmm, L, Linv (m, m) and the prior variance kd; ``condition`` fills B,
    its inverse Bi and factors. They stay valid until the next call. One evaluation at a time may use a
    Latent.
    """

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m
        self.Knm, self.V, self.P = (np.empty((n, m)) for _ in range(3))
        self.Kmm, self.L, self.Linv = (np.zeros((m, m), order="F") for _ in range(3))
        self.B, self.LB, self.LBinv, self.Bi = (np.zeros((m, m), order="F") for _ in range(4))
        self.N, self.M, self.low, self.H = (np.zeros((m, m), order="F") for _ in range(4))
        self.kd = self.jitter = np.nan
        self._panel = min(n, max(32, PANEL_BYTES // (8 * m)))
        self._scaled = np.empty((self._panel, m))
        self._stacked = np.zeros((self._panel, m + RANK))

    def project(self, kernel: SEARD, X: Array, Z: Array, jitter: float = JITTER) -> None:
        """Kmm, its factor, Knm and V = Knm L^-T: n m^2 flops."""
        self.kernel, self.Z, self.shift = kernel, Z, Z.mean(axis=0)
        kernel.gram(Z, out=self.Kmm)
        self.jitter = cholesky(self.Kmm, kernel.s2_k, jitter, out=self.L).jitter
        # The jitter belongs to the prior: Kmm and the prior variances carry the same nugget.
        self.kd = kernel.s2_k * (1.0 + self.jitter)
        np.einsum("ii->i", self.Kmm)[...] = self.kd
        tri_inverse(self.L, out=self.Linv)
        self.X_aug = kernel.augment(X, self.shift)
        Z_aug = kernel.augment_right(Z, self.shift)
        for rows in self._panels():
            K, V = self.Knm[rows], self.V[rows]
            np.exp(np.matmul(self.X_aug[rows], Z_aug.T, out=K), out=K)
            V[...] = K
            blas.dtrmm(1.0, self.Linv, V.T, lower=True, overwrite_b=True)

    def gram(self, weights: Array, out: Array) -> Array:
        """Lower triangle of V^T diag(weights) V, weights >= 0, into a Fortran-ordered ``out``: n m^2 flops."""
        roots = np.sqrt(weights)
        for rows in self._panels():
            S = self._scaled[: rows.stop - rows.start]
            np.multiply(self.V[rows], roots[rows, None], out=S)
            blas.dsyrk(1.0, S.T, beta=float(rows.start > 0), c=out, lower=True, overwrite_c=True)
        return out

    def condition(self, weights: Array) -> float:
        """B = I + V^T diag(weights) V, its factor and inverse, N = B^-1 L^-1; returns log |B|."""
        self.gram(weights, out=self.B)
        np.einsum("ii->i", self.B)[...] += 1.0
        cholesky(self.B, max_jitter=0.0, out=self.LB)
        tri_inverse(self.LB, out=self.LBinv)
        spd_inverse(self.LBinv, out=self.Bi)
        self.N[...] = self.Bi
        blas.dtrmm(1.0, self.Linv, self.N, side=True, lower=True, overwrite_b=True)  # (m, m), m^3
        np.subtract(self.Linv, self.N, out=self.M)  # (I - B^-1) L^-1
        return logdet(self.LB)

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
        m = self.m
        stack = np.zeros((m, m + RANK), order="F")
        stack[:, :m] = M.T
        for k, (_, right) in enumerate(outer):
            stack[:, m + k] = right
        sums, row_sums, ones = np.zeros((m, self.X_aug.shape[1])), np.empty(self.n), np.ones(m)
        for rows in self._panels():
            S, W = self._stacked[: rows.stop - rows.start], self.P[rows]
            np.multiply(self.V[rows], weights[rows, None], out=S[:, :m])
            for k, (left, _) in enumerate(outer):
                S[:, m + k] = left[rows]
            if applied is not None:
                W *= applied[rows, None]
            blas.dgemm(1.0, stack, S.T, beta=float(applied is not None), c=W.T, overwrite_c=True)
            W *= self.Knm[rows]
            np.matmul(W, ones, out=row_sums[rows])
            sums += W.T @ self.X_aug[rows]
        return row_sums, self.kernel.gather(self.X_aug, self.Z, self.shift, row_sums, sums)

    def pull_inducing(self, low: Array, product: Array, dkd: float) -> KernelGrad:
        """Pull dKmm = -1/2 L^-T H L^-1, with H L^-1 = mirror(low) L^-1 + product, and dkd to the kernel.

        H is dV^T V; where it is not symmetric (a mean free in the whitened coordinates), the derivative of
        the Cholesky factor needs its lower triangle mirrored, which ``low`` holds.
        """
        H = mirror(low, out=self.H)
        blas.dtrmm(-0.5, self.Linv, H, side=True, lower=True, overwrite_b=True)
        H -= 0.5 * product
        blas.dtrmm(1.0, self.Linv, H, trans_a=True, lower=True, overwrite_b=True)
        grad = self.kernel.pullback_sym(self.Z, self.Kmm, H, out=H)
        return replace(grad, ds2_k=grad.ds2_k + dkd * self.kd / self.kernel.s2_k)

    def posterior(self, mean: Array, prior_mean: float = 0.0) -> Posterior:
        """The process at new inputs, given the whitened mean (m,) and the covariance B^-1."""
        root = blas.dtrmm(1.0, self.Linv, self.LBinv, side=True, lower=True)
        return Posterior(
            self.kernel,
            self.Z.copy(),
            prior_mean,
            self.kd,
            self.Linv.T @ mean,
            self.Linv.copy(order="F"),
            root,
        )

    def _panels(self) -> Iterator[slice]:
        for start in range(0, self.n, self._panel):
            yield slice(start, min(start + self._panel, self.n))
