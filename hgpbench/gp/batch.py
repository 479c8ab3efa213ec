"""One latent process on one mini-batch: its moments at the batch, and the way back to kernel and q.

With V = Knm L^-T whitened and q(v) = N(mean, S),

    mu = mu0 + V mean,    s2 = kd - qs,    qs = diag(V (I - S) V^T),

and P = V M, M = (I - S) L^-1, serves twice: qs are the row sums of P * Knm, and dKnm = diag(omega) P +
beta a^T, where beta = dF/dmu, -omega / 2 = dF/ds2 and a = L^-T mean. The kernel wants sums of W = dKnm * Knm
only, and those follow from P * Knm and Knm by products with d + 2 columns: after the forward pass no
elementwise work on (b, m) matrices is left but the scaling of V for N = V^T diag(omega) V. That makes

    4 b m^2 (V: 1, P: 2, N: 1) + 7 m^3 flops

a step, nearly all of them in routines that run without the interpreter's lock: shards of rows, and the two
processes, may use threads of their own.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hgpbench.gp.kernels import SEARD, KernelGrad
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.whitened import Pull, Whitened
from hgpbench.la.dense import JITTER, Array, diagonal, inverse_factor
from hgpbench.la.passes import exponential
from hgpbench.la.triangular import lower_of_product, symmetric_times_lower
from hgpbench.la.unlocked import trmm

SHARDS = 2  # parts of a batch, summed in this order whatever the number of threads: same bits for all
PANEL_BYTES = 1_000_000  # rows at a time, so that K is still in the cache for V and P


class BatchProcess:
    """Buffers and state of one process with ``m`` inducing points on at most ``b`` rows.

    ``prepare``, ``forward`` and ``backward`` on every shard, ``finish``, in this order. With ``single`` the
    three large matrices and the products V and P are in single precision; N, which must not be negative, and
    everything of size (m, m) stay double.
    """

    def __init__(self, b: int, m: int, *, single: bool = False) -> None:
        self.m, self.dtype = m, np.dtype(np.float32 if single else np.float64)
        self._K, self._V, self._P = (np.empty((b, m), self.dtype) for _ in range(3))
        self._mu, self._qs = np.empty(b), np.empty(b)
        self._Kmm, self._Ht = np.empty((m, m)), np.empty((m, m))
        self._Linv, self._M = np.empty((m, m), order="F"), np.empty((m, m), order="F")
        self._grams = [np.empty((m, m)) for _ in range(SHARDS)]
        self._panel = max(64, PANEL_BYTES // (8 * m))
        self.kd = self.jitter = np.nan

    def prepare(self, kernel: SEARD, X: Array, Z: Array, q: Whitened, jitter: float = JITTER) -> None:
        """Everything that the rows of the batch ``X`` share: L^-1, M and a."""
        self.kernel, self.Z, self.q, self.b = kernel, Z, q, len(X)
        shift = Z.mean(axis=0)
        self.X_aug, self.Z_aug = kernel.augment(X, shift), kernel.augment(Z, shift)
        self._dual = kernel.dual(self.Z_aug)
        np.exp(np.matmul(self.Z_aug, self._dual.T, out=self._Kmm), out=self._Kmm)
        self.jitter = inverse_factor(self._Kmm, kernel.s2_k, jitter, out=self._Linv).jitter
        # The jitter belongs to the prior: Kmm and the prior variances carry the same nugget.
        self.kd = kernel.s2_k * (1.0 + self.jitter)
        diagonal(self._Kmm)[...] = self.kd
        M = self._M
        M[...] = q.S.T  # symmetric: the transpose is the order in which it is stored
        trmm(self._Linv, M, right=True)  # S L^-1, m^3
        np.subtract(self._Linv, M, out=M)
        self._a = q.mean @ self._Linv
        self._factors = [part.astype(self.dtype, copy=False) for part in (self._Linv, M, self._a)]
        self._sums: list[Array] = [np.empty(0)] * SHARDS
        self._Vbetas: list[Array] = [np.empty(0)] * SHARDS

    @property
    def mu(self) -> Array:
        """Means of the batch less the prior mean (b,), after ``forward``."""
        return self._mu[: self.b]

    @property
    def s2(self) -> Array:
        """Variances of the batch (b,), after ``forward``; round-off may take a vanishing one below zero."""
        return np.maximum(self.kd - self._qs[: self.b], 0.0)

    def forward(self, shard: int) -> None:
        """Means and variances of one shard: 3 b m^2 flops."""
        Linv, M, a = self._factors
        for rows in self._panels(shard):
            K, V, P = self._K[rows], self._V[rows], self._P[rows]
            if self.dtype == np.float64:
                exponential(np.matmul(self.X_aug[rows], self._dual.T, out=K))
            else:  # distances suffer from cancellation: double up to here
                np.exp(self.X_aug[rows] @ self._dual.T, out=K, casting="same_kind")
            V[...] = K
            trmm(Linv, V.T)
            np.matmul(V, M, out=P)
            P *= K
            np.sum(P, axis=1, dtype=np.float64, out=self._qs[rows])
            self._mu[rows] = K @ a

    def backward(self, shard: int, omega: Array, beta: Array) -> None:
        """N, V^T beta and the kernel's sums of one shard, for omega >= 0 and beta (b,): b m^2 flops."""
        rows = self._shard(shard)
        K, V, P, weights = self._K[rows], self._V[rows], self._P[rows], omega[rows, None]
        aug = self.X_aug[rows]
        Wx = ((aug * weights).T.astype(self.dtype, copy=False) @ P).T
        Kx = ((aug * beta[rows, None]).T.astype(self.dtype, copy=False) @ K).T
        self._sums[shard] = Wx + self._a[:, None] * Kx
        self._Vbetas[shard] = (beta[rows].astype(self.dtype, copy=False) @ V).astype(np.float64, copy=False)
        roots, N = np.sqrt(weights), self._grams[shard]
        if self.dtype == np.float64:
            V *= roots
            np.matmul(V.T, V, out=N)
            return
        N[...] = 0.0
        for panel in self._panels(shard, 4):
            scaled = self._V[panel] * np.sqrt(omega[panel, None])
            N += scaled.T @ scaled

    def finish(self, omega: Array, beta: Array) -> tuple[KernelGrad, Pull]:
        """Derivatives by the kernel and the inducing inputs, q held in whitened coordinates; and q's wish."""
        N, Vbeta = self._grams[0], self._Vbetas[0]
        for other, part in zip(self._grams[1:], self._Vbetas[1:], strict=True):
            N += other
            Vbeta = Vbeta + part
        row_sums = omega * self._qs[: self.b] + beta * self.mu
        sums, own = sum(self._sums[1:], self._sums[0]), self._own_sums(N, Vbeta)
        grad = self.kernel.gather(self.X_aug, self.Z_aug, row_sums, sums, own)
        dkd = -0.5 * float(omega.sum())
        return replace(grad, ds2_k=grad.ds2_k + dkd * self.kd / self.kernel.s2_k), Pull(N, Vbeta)

    def _own_sums(self, N: Array, Vbeta: Array) -> Array:
        """What the kernel wants of dKmm = -1/2 L^-T H L^-1, for H = dV^T V with its lower triangle mirrored.

        H = (I - S) N + mean (V^T beta)^T is not symmetric: q is held in coordinates that move with L, and
        the derivative of a Cholesky factor sees the lower triangle mirrored.
        """
        Ht = np.matmul(N, self.q.S, out=self._Ht)  # 2 m^3
        np.subtract(N, Ht, out=Ht)
        Ht += np.multiply.outer(Vbeta, self.q.mean)
        HL = symmetric_times_lower(Ht.T, self._Linv, out=self._M, alpha=-0.5, whole=False)
        W = lower_of_product(self._Linv, HL, out=Ht.T)
        W *= self._Kmm.T  # symmetric, in the order of W
        return self.kernel.sums_sym(self.Z_aug, W)

    def shift(self, change: Array) -> float:
        """The most that a ``change`` (m,) of the whitened mean moves the mean of a row of the batch."""
        return float(np.abs(self._K[: self.b] @ (change @ self._Linv).astype(self.dtype)).max())

    def posterior(self, prior_mean: float = 0.0) -> Posterior:
        """The process at new inputs, for the kernel and q that were prepared last."""
        # S = R^T R with R lower triangular: the Cholesky factor of S in mirrored order.
        root = np.linalg.cholesky(self.q.S[::-1, ::-1])[::-1, ::-1].T
        Linv = self._Linv.copy(order="F")
        return Posterior(
            self.kernel,
            self.Z.copy(),
            prior_mean,
            self.kd,
            self._a.copy(),
            Linv,
            np.asfortranarray(np.tril(root @ Linv)),
        )

    def _shard(self, shard: int) -> slice:
        bounds = np.linspace(0, self.b, SHARDS + 1).astype(int)
        return slice(int(bounds[shard]), int(bounds[shard + 1]))

    def _panels(self, shard: int, factor: int = 1) -> Iterator[slice]:
        rows = self._shard(shard)
        for start in range(rows.start, rows.stop, factor * self._panel):
            yield slice(start, min(start + factor * self._panel, rows.stop))
