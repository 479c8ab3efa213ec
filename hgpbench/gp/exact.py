"""The exact GP: log evidence with its gradient, and prediction (Rasmussen and Williams, alg. 2.1, eq. 5.9).

As everywhere in ``gp``, the jitter is part of the prior: A = K + jitter s2_k I + sigma2 I.

The exact GP in one n by n array: what ``exact.ExactProblem`` computes, for subsets of many thousand rows.

The covariance is filled in panels of columns, factored and inverted in place, lower triangle only; the
kernel's values are then computed once more, panel by panel, for the sums that the derivatives want. That is
O(n^2 d) beside n^3, and saves the second array: an evaluation at 15,000 rows and 11 inputs takes 1.9 GB, all
included, and 63 s of one core.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import blas, lapack

from hgpbench.gp.kernels import SEARD
from hgpbench.gp.params import Bound
from hgpbench.la.dense import JITTER, MAX_JITTER, Array, cholesky, diagonal, inverse_factor, logdet, rowdots

CHUNK = 4_000_000  # bytes of covariances at a time: about what the caches hold
FEWEST_POINTS = 32  # at a time: products of thinner matrices are slow
LOG_2PI = float(np.log(2.0 * np.pi))
POSITIVE = ("s2_k", "ell", "sigma2")
"""All parameters, seen by an optimiser as logarithms."""


@dataclass(frozen=True, eq=False)
class ExactPosterior:
    """p(f* | y) from the inverse ``Linv`` of the factor of A (lower triangle) and alpha = A^-1 y.

    The inverse multiplies about twice as fast as the factor could be solved with.
    """

    kernel: SEARD
    X: Array
    Linv: Array
    alpha: Array
    kd: float

    def moments(self, Xs: Array, silent: float = 0.0, chunk: int = CHUNK) -> tuple[Array, Array]:
        """Mean and variance of f at ``Xs`` (s, d), each (s,), by ``chunk`` bytes at most: O(n^2) a point.

        Points whose covariances k* with the data have |k*|^2 <= ``silent`` get the prior, in O(n).
        """
        mu, s2 = np.zeros(len(Xs)), np.full(len(Xs), self.kd)
        points = max(FEWEST_POINTS, min(chunk, CHUNK) // (8 * len(self.X)))
        for start in range(0, len(Xs), points):
            Ksn = self.kernel.cross(Xs[start : start + points], self.X)
            near = np.flatnonzero(rowdots(Ksn, Ksn) > silent)
            if len(near) < len(Ksn):
                Ksn = Ksn[near]
            mu[start + near] = Ksn @ self.alpha
            V = blas.dtrmm(1.0, self.Linv, Ksn.T, lower=True, overwrite_b=True).T  # (points, n)
            s2[start + near] -= rowdots(V, V)
        # Round-off may carry a variance that vanishes below zero.
        return mu, np.maximum(s2, 0.0, out=s2)


class ExactProblem:
    """One data set with the two (n, n) buffers that every evaluation reuses."""

    def __init__(self, X: Array, y: Array) -> None:
        self.X, self.y = X, y
        self._K = np.empty((len(y), len(y)))
        self._A = self._K.T  # the same but for round-off, in the order of memory that LAPACK's copy has
        self._L = np.empty((len(y), len(y)), order="F")

    def evidence(self, values: dict[str, Array]) -> Bound:
        """log N(y | 0, A) with derivatives by ``s2_k``, ``ell`` (d,), ``sigma2``: n^3 flops, in place."""
        kernel = _kernel(values)
        alpha, jitter = self._factorise(kernel, float(values["sigma2"]))
        value = -0.5 * (float(self.y @ alpha) + logdet(self._L) + len(self.y) * LOG_2PI)
        # dA = (alpha alpha^T - A^-1) / 2. Kernel and noise see only sums of dA * K over pairs, where (i, j)
        # and (j, i) contribute alike: the lower triangle, its diagonal halved, stands for the whole.
        inverse, info = lapack.dpotri(self._L, lower=True, overwrite_c=True)
        if info != 0:
            raise LinAlgError("the covariance of the targets is singular")
        dA = blas.dsyr(-1.0, alpha, a=inverse, lower=True, overwrite_a=True)
        np.negative(dA, out=dA)
        diagonal = np.einsum("ii->i", dA)
        diagonal *= 0.5
        dsigma2 = diagonal.sum()
        np.einsum("ii->i", self._K)[...] = kernel.s2_k * (1.0 + jitter)
        # dA.T is C-ordered like K, so that the product of the two runs along memory.
        grad = kernel.pullback(self.X, self.X, self._K, dA.T, out=dA.T)
        grads = {"s2_k": np.asarray(grad.ds2_k), "ell": grad.dell, "sigma2": np.asarray(dsigma2)}
        return Bound(value, grads, jitter)

    def posterior(self, values: dict[str, Array]) -> ExactPosterior:
        """The posterior at these parameters; it owns its matrix."""
        kernel = _kernel(values)
        self._fill(kernel, float(values["sigma2"]))
        Linv, jitter = inverse_factor(self._A, kernel.s2_k)
        alpha = (Linv @ self.y) @ Linv
        return ExactPosterior(kernel, self.X, Linv, alpha, kernel.s2_k * (1.0 + JITTER + jitter))

    def _factorise(self, kernel: SEARD, sigma2: float) -> tuple[Array, float]:
        """Fill K and the factor of A; alpha = A^-1 y and the relative jitter."""
        self._fill(kernel, sigma2)
        jitter = JITTER + cholesky(self._A, kernel.s2_k, out=self._L).jitter
        alpha, _ = lapack.dpotrs(self._L, self.y, lower=True)
        return alpha, jitter

    def _fill(self, kernel: SEARD, sigma2: float) -> None:
        """A, with the usual jitter, which ``cholesky`` would copy the matrix to add."""
        kernel.gram(self.X, out=self._K)
        np.einsum("ii->i", self._K)[...] += sigma2 + JITTER * kernel.s2_k


def _kernel(values: dict[str, Array]) -> SEARD:
    return SEARD(float(values["s2_k"]), values["ell"])


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
