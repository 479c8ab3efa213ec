"""One latent process on one mini-batch: its moments at the batch, and the way back to kernel and q.

With V = Knm L^-T whitened and q(v) = N(mean, S),

    mu = mu0 + V mean,    s2 = kd - qs,    qs = diag(V (I - S) V^T),

and P = V RL, RL = (I - S) L^-1, serves twice: qs are the row sums of P * Knm, and dKnm = diag(omega) P +
beta a^T, where beta = dF/dmu, -omega / 2 = dF/ds2 and a = L^-T mean. The kernel wants sums of dKnm * Dnm
only, D its slopes, and those follow from P * Dnm and Dnm by products with d + 2 columns: after the forward
pass no elementwise work on (b, m) matrices is left but the scaling of V for N = V^T diag(omega) V. That makes

    4 b m^2 (V: 1, P: 2, N: 1) + 7 m^3 flops

a step, nearly all of them without the interpreter's lock: shares of the rows, and the two processes, may use
threads of their own.
"""

from collections.abc import Iterator

import numpy as np

from hgpbench.gp.inducing import Inducing
from hgpbench.gp.kernels import SEARD, Family, KernelGrad, Sums
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.whitened import Pull, Whitened
from hgpbench.la import JITTER, Array, lower_times, modulate, times_transposed

SHARES = 2  # parts of a batch, summed in this order whatever the number of threads: same bits for all
PANEL_BYTES = 1_000_000  # rows at a time, so that K is still in the cache for V and P


class BatchProcess:
    """Memory for one process with ``m`` inducing points and such a kernel on batches of at most ``b`` rows.

    With ``single`` the large matrices and the products V and P are in single precision; N, which must not be
    negative, and everything of size (m, m) stay double.
    """

    def __init__(self, b: int, m: int, family: Family = SEARD, *, single: bool = False) -> None:
        self.m, self.family, self.dtype = m, family, np.dtype(np.float32 if single else np.float64)
        self.K, self.V, self.P = (np.empty((b, m), self.dtype) for _ in range(3))
        self.D = np.empty_like(self.K) if family.slopes_apart else self.K
        self.mu, self.qs = np.empty(b), np.empty(b)
        self.Kmm, self.Linv, self.RL, self.spare = (np.empty((m, m), order="F") for _ in range(4))
        self.Dmm = np.empty_like(self.Kmm) if family.slopes_apart else self.Kmm
        # Sums of rows of D as mu and qs are of K.
        self.mu_D, self.qs_D = (self.mu, self.qs) if self.D is self.K else (np.empty(b), np.empty(b))
        self.H = np.empty((m, m))
        self.grams = [np.empty((m, m)) for _ in range(SHARES)]
        self._panel = max(64, PANEL_BYTES // (8 * m))

    def project(
        self, s2_k: Array, ell: Array, X: Array, Z: Array, q: Whitened, jitter: float = JITTER
    ) -> "Batch":
        """What the rows of a batch ``X`` (b, d) share; a batch that was projected before is lost."""
        kernel = self.family(float(s2_k), ell)
        inducing = Inducing.of(kernel, Z, jitter, Kmm=self.Kmm, Dmm=self.Dmm, Linv=self.Linv)
        return Batch(self, inducing, X, q)

    def rows(self, b: int, share: int) -> slice:
        """The rows of one share of a batch of ``b``."""
        bounds = np.linspace(0, b, SHARES + 1).astype(int)
        return slice(int(bounds[share]), int(bounds[share + 1]))

    def panels(self, b: int, share: int, factor: int = 1) -> Iterator[slice]:
        """The rows of a share in pieces."""
        rows = self.rows(b, share)
        for start in range(rows.start, rows.stop, factor * self._panel):
            yield slice(start, min(start + factor * self._panel, rows.stop))


class Batch:
    """A process at a batch of rows: ``forward`` on every share, ``backward`` on every share, ``finish``."""

    def __init__(self, process: BatchProcess, inducing: Inducing, X: Array, q: Whitened) -> None:
        self._process, self.inducing, self.q, self._b = process, inducing, q, len(X)
        self._X_aug = inducing.augment(X)
        RL = process.RL
        RL[...] = q.S.T  # symmetric: the transpose is the order in which it is stored
        lower_times(inducing.Linv, RL, right=True)  # S L^-1, m^3
        np.subtract(inducing.Linv, RL, out=RL)
        self._a = q.mean @ inducing.Linv
        self._factors = [part.astype(process.dtype, copy=False) for part in (inducing.Linv, RL, self._a)]
        self._columns: list[Array] = [np.empty(0)] * SHARES
        self._Vbetas: list[Array] = [np.empty(0)] * SHARES

    @property
    def mu(self) -> Array:
        """Means of the batch less the prior mean (b,), after ``forward``."""
        return self._process.mu[: self._b]

    @property
    def s2(self) -> Array:
        """Variances of the batch (b,), after ``forward``; round-off may take a vanishing one below zero."""
        return np.maximum(self.inducing.kd - self._process.qs[: self._b], 0.0)

    def forward(self, share: int) -> None:
        """Means and variances of one share: 3 b m^2 flops."""
        memory, (Linv, RL, a) = self._process, self._factors
        for rows in memory.panels(self._b, share):
            K, V, P = memory.K[rows], memory.V[rows], memory.P[rows]
            D = K if memory.D is memory.K else memory.D[rows]
            self._fill(rows, K, D)
            V[...] = K
            lower_times(Linv, V.T)
            np.matmul(V, RL, out=P)
            memory.qs[rows], memory.qs_D[rows] = modulate(P, K, D)
            memory.mu[rows] = K @ a
            if D is not K:
                memory.mu_D[rows] = D @ a

    def _fill(self, rows: slice, K: Array, D: Array) -> None:
        """Covariances and their slopes; distances suffer from cancellation: double up to here."""
        kernel, single = self.inducing.kernel, self._process.dtype != np.float64
        A = np.empty(K.shape) if single else K
        times_transposed(self._X_aug[rows], self.inducing.dual, out=A)
        slopes = kernel.beside(A) if single else D
        kernel.fill(A, slopes)
        if single:
            K[...], D[...] = A, slopes

    def backward(self, share: int, omega: Array, beta: Array) -> None:
        """N, V^T beta and the kernel's sums of one share, for omega >= 0 and beta (b,): b m^2 flops."""
        memory = self._process
        rows = memory.rows(self._b, share)
        V, P, D, weights = memory.V[rows], memory.P[rows], memory.D[rows], omega[rows, None]
        X_aug, dtype = self._X_aug[rows], memory.dtype
        from_P = ((X_aug * weights).T.astype(dtype, copy=False) @ P).T
        from_D = ((X_aug * beta[rows, None]).T.astype(dtype, copy=False) @ D).T
        self._columns[share] = from_P + self._a[:, None] * from_D
        self._Vbetas[share] = (beta[rows].astype(dtype, copy=False) @ V).astype(np.float64, copy=False)
        N = memory.grams[share]
        if dtype == np.float64:
            V *= np.sqrt(weights)
            np.matmul(V.T, V, out=N)
            return
        N[...] = 0.0
        for panel in memory.panels(self._b, share, 4):
            scaled = memory.V[panel] * np.sqrt(omega[panel, None])
            N += scaled.T @ scaled

    def finish(self, omega: Array, beta: Array) -> tuple[KernelGrad, Pull]:
        """Derivatives by the kernel and the inducing inputs, q held in whitened coordinates; and q's wish."""
        memory, inducing = self._process, self.inducing
        N, Vbeta = memory.grams[0], self._Vbetas[0]
        for other, part in zip(memory.grams[1:], self._Vbetas[1:], strict=True):
            N += other
            Vbeta = Vbeta + part
        columns = sum(self._columns[1:], self._columns[0])
        rows = omega * memory.qs_D[: self._b] + beta * memory.mu_D[: self._b]
        total = float(columns[:, -2].sum())
        if memory.D is not memory.K:
            total = float(omega @ memory.qs[: self._b] + beta @ self.mu)
        sums = Sums(rows, columns, total)
        # H = (I - S) N + mean (V^T beta)^T = dV^T V, by its transpose, whose order of memory is that of H.
        H = np.matmul(N, self.q.S, out=memory.H)  # 2 m^3
        np.subtract(N, H, out=H)
        H += np.multiply.outer(Vbeta, self.q.mean)
        memory.RL.fill(0.0)  # has served
        own = inducing.own_sums(H.T, memory.RL, spare=memory.spare)
        return inducing.gather(self._X_aug, sums, own, -0.5 * float(omega.sum())), Pull(N, Vbeta)

    def shift(self, change: Array) -> float:
        """The most that a ``change`` (m,) of the whitened mean moves the mean of a row of the batch."""
        memory = self._process
        return float(np.abs(memory.K[: self._b] @ (change @ self.inducing.Linv).astype(memory.dtype)).max())

    def posterior(self, prior_mean: float = 0.0) -> Posterior:
        """The process at new inputs, for q."""
        # S = R^T R with R lower triangular: the Cholesky factor of S in mirrored order.
        R = np.linalg.cholesky(self.q.S[::-1, ::-1])[::-1, ::-1].T
        root = np.asfortranarray(np.tril(R @ self.inducing.Linv))
        return self.inducing.posterior(self.q.mean, root, prior_mean)
