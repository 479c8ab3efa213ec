"""The exact GP in one n by n array: what ``exact.ExactProblem`` computes, for subsets of many thousand rows.

The covariance is filled in panels of columns, factored and inverted in place, lower triangle only; the
kernel's values are then computed once more, panel by panel, for the sums that the derivatives want. That is
O(n^2 d) beside n^3, and saves the second array: an evaluation at 15,000 rows and 11 inputs takes 1.9 GB, all
included, and 63 s of one core.
"""

from collections.abc import Iterator

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import lapack

from hgpbench.gp.exact import LOG_2PI, ExactPosterior
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.linalg import JITTER, MAX_JITTER, Array, diagonal, logdet
from hgpbench.gp.params import Bound

WIDTH = 128  # columns of a panel


class LargeExactProblem:
    """One data set with the one (n, n) array that every evaluation reuses."""

    def __init__(self, X: Array, y: Array) -> None:
        self.X, self.y = X, y
        self._A = np.empty((len(y), len(y)), order="F")

    def evidence(self, values: dict[str, Array]) -> Bound:
        """log N(y | 0, A) with derivatives by ``s2_k``, ``ell`` (d,), ``sigma2``: n^3 flops, in place."""
        kernel = SEARD(float(values["s2_k"]), values["ell"])
        alpha, jitter = self._factorise(kernel, float(values["sigma2"]))
        value = -0.5 * (float(self.y @ alpha) + logdet(self._A) + len(self.y) * LOG_2PI)
        _, info = lapack.dpotri(self._A, lower=True, overwrite_c=True)
        if info != 0:
            raise LinAlgError("the covariance of the targets is singular")
        ds2_k, dell, dsigma2 = self._gather(kernel, alpha, jitter)
        grads = {"s2_k": np.asarray(ds2_k), "ell": dell, "sigma2": np.asarray(dsigma2)}
        return Bound(value, grads, jitter)

    def posterior(self, values: dict[str, Array]) -> ExactPosterior:
        """The posterior at these parameters. It takes the array over: no more evaluations after this."""
        kernel = SEARD(float(values["s2_k"]), values["ell"])
        alpha, jitter = self._factorise(kernel, float(values["sigma2"]))
        _, info = lapack.dtrtri(self._A, lower=True, overwrite_c=True)
        if info != 0:
            raise LinAlgError("the covariance of the targets is singular")
        inverse, self._A = self._A, np.empty((0, 0), order="F")
        return ExactPosterior(kernel, self.X, inverse, alpha, kernel.s2_k * (1.0 + jitter))

    def _factorise(self, kernel: SEARD, sigma2: float) -> tuple[Array, float]:
        """Factor A = K + (jitter s2_k + sigma2) I in its lower triangle; alpha = A^-1 y and the jitter.

        A failed factorisation destroys the matrix, so that each rung of the ladder fills it anew.
        """
        jitter = JITTER
        while jitter <= MAX_JITTER * (1.0 + 1e-9):
            for columns, K in self._panels(kernel):
                self._A[columns.start :, columns] = K.T
            diagonal(self._A)[...] = kernel.s2_k * (1.0 + jitter) + sigma2
            _, info = lapack.dpotrf(self._A, lower=True, clean=False, overwrite_a=True)
            # LAPACK lets NaN pass.
            if info == 0 and np.isfinite(diagonal(self._A)).all():
                alpha, _ = lapack.dpotrs(self._A, self.y, lower=True)
                return alpha, jitter
            jitter *= 10.0
        raise LinAlgError(
            f"covariance of {len(self.y)} rows is not positive definite with relative jitter {MAX_JITTER:.0e}"
        )

    def _gather(self, kernel: SEARD, alpha: Array, jitter: float) -> tuple[float, Array, float]:
        """Derivatives by s2_k, ell and sigma2 from dA = (alpha alpha^T - A^-1) / 2.

        Pairs (i, j) and (j, i) contribute alike, so the lower triangle stands for both: W = 2 dA * K there,
        and the diagonal, where only s2_k counts, is added by itself.
        """
        dell, pairs = np.zeros(len(kernel.ell)), 0.0
        for columns, K in self._panels(kernel):
            W = np.multiply.outer(alpha[columns], alpha[columns.start :])
            W -= self._A[columns.start :, columns].T
            W *= K
            W[:, : len(W)] *= np.triu(np.ones((len(W), len(W))), 1)
            middle = self.X[columns].mean(axis=0)
            X_aug = kernel.augment(self.X[columns.start :], middle)
            grad = kernel.gather(X_aug, X_aug[: len(W)], W.sum(axis=0), W @ X_aug)
            pairs += grad.ds2_k
            dell += grad.dell
        dsigma2 = 0.5 * float((alpha * alpha - diagonal(self._A)).sum())
        return pairs + dsigma2 * (1.0 + jitter), dell, dsigma2

    def _panels(self, kernel: SEARD) -> Iterator[tuple[slice, Array]]:
        """Columns, and the kernel of their rows with all rows from there on: (width, n - start)."""
        n = len(self.y)
        for start in range(0, n, WIDTH):
            columns = slice(start, min(start + WIDTH, n))
            yield columns, kernel.cross(self.X[columns], self.X[start:])
