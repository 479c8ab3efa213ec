"""The exact GP: log evidence with its gradient, and prediction (Rasmussen and Williams, alg. 2.1, eq. 5.9).

As everywhere in ``gp``, the jitter is part of the prior: A = K + jitter s2_k I + sigma2 I. Two ways to the
same numbers: ``ExactProblem`` keeps K beside the factor of A; ``LargeExactProblem``, for many thousand rows,
fills one n by n array in panels of columns, factors and inverts its lower triangle in place, and computes the
covariances once more, panel by panel, for the sums that the derivatives want. That is O(n^2 d) beside n^3,
and saves the second array: 15,000 rows of 11 inputs take 1.9 GB, all included, and 63 s of one core.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.gp.kernels import SEARD, Family, Stationary, sums_of
from hgpbench.gp.params import Bound
from hgpbench.la import (
    JITTER,
    MAX_JITTER,
    Array,
    add_outer,
    cholesky,
    diagonal,
    factor_,
    factor_solve,
    factor_to_inverse_,
    inverse_factor,
    invert_lower_,
    logdet,
    lower_times,
    rowdots,
)

CHUNK = 4_000_000  # bytes of covariances at a time: about what the caches hold
WIDTH = 128  # columns of a panel
FEWEST_POINTS = 32  # at a time: products of thinner matrices are slow
LOG_2PI = float(np.log(2.0 * np.pi))
POSITIVE = ("s2_k", "ell", "sigma2")
"""All parameters, seen by an optimiser as logarithms."""


@dataclass(frozen=True, eq=False)
class ExactPosterior:
    """p(f* | y) from the inverse ``Linv`` of the factor of A (lower triangle) and alpha = A^-1 y.

    The inverse multiplies about twice as fast as the factor could be solved with.
    """

    kernel: Stationary
    X: Array
    Linv: Array
    alpha: Array
    kd: float

    @property
    def nbytes(self) -> int:
        """Bytes that it holds beside the rows."""
        return self.Linv.nbytes + self.alpha.nbytes

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
            V = lower_times(self.Linv, Ksn.T).T  # (points, n)
            s2[start + near] -= rowdots(V, V)
        # Round-off may carry a variance that vanishes below zero.
        return mu, np.maximum(s2, 0.0, out=s2)

    def left_out(self) -> tuple[Array, Array]:
        """Residuals of the data and variances of y, each from all other rows (R. and W., eq. 5.12), (n,).

        y_i - mu_-i = alpha_i / [A^-1]_ii and s2_-i + sigma2 = 1 / [A^-1]_ii: n^2 flops.
        """
        n = len(self.alpha)
        precision = np.empty(n)
        for start in range(0, n, WIDTH):
            # Only the lower triangle is the factor's.
            block = np.tril(self.Linv[start:, start : start + WIDTH])
            precision[start : start + WIDTH] = np.einsum("ij,ij->j", block, block)
        return self.alpha / precision, 1.0 / precision


class ExactProblem:
    """One data set with the two (n, n) buffers that every evaluation reuses; three where slopes need one."""

    def __init__(self, X: Array, y: Array, family: Family = SEARD) -> None:
        self.X, self.y, self._family = X, y, family
        self._K = np.empty((len(y), len(y)))
        self._D = np.empty_like(self._K) if family.slopes_apart else self._K
        self._A = self._K.T  # the same but for round-off, in the order of memory that LAPACK's copy has
        self._L = np.empty((len(y), len(y)), order="F")

    def evidence(self, values: dict[str, Array]) -> Bound:
        """log N(y | 0, A) with derivatives by ``s2_k``, ``ell`` (d,), ``sigma2``: n^3 flops, in place."""
        kernel = _kernel(self._family, values)
        X_aug = self._fill(kernel, float(values["sigma2"]), self._D)
        jitter = JITTER + cholesky(self._A, kernel.s2_k, out=self._L).jitter
        alpha = factor_solve(self._L, self.y)
        value = -0.5 * (float(self.y @ alpha) + logdet(self._L) + len(self.y) * LOG_2PI)
        # dA = (alpha alpha^T - A^-1) / 2. Kernel and noise see only sums of dA * K over pairs, where (i, j)
        # and (j, i) contribute alike: the lower triangle, its diagonal halved, stands for the whole.
        factor_to_inverse_(self._L)
        dA = add_outer(self._L, alpha, alpha, -1.0)
        np.negative(dA, out=dA)
        diagonal(dA)[...] *= 0.5
        dsigma2 = diagonal(dA).sum()
        diagonal(self._K)[...] = kernel.s2_k * (1.0 + jitter)
        # dA.T is C-ordered like K, so that the product of the two runs along memory.
        grad = kernel.gather(X_aug, X_aug, sums_of(X_aug, dA.T, self._K, self._D))
        grads = {"s2_k": np.asarray(grad.ds2_k), "ell": grad.dell, "sigma2": np.asarray(dsigma2)}
        return Bound(value, grads, jitter)

    def posterior(self, values: dict[str, Array]) -> ExactPosterior:
        """The posterior at these parameters; it owns its matrix."""
        kernel = _kernel(self._family, values)
        self._fill(kernel, float(values["sigma2"]))
        Linv, jitter = inverse_factor(self._A, kernel.s2_k)
        alpha = (Linv @ self.y) @ Linv
        return ExactPosterior(kernel, self.X, Linv, alpha, kernel.s2_k * (1.0 + JITTER + jitter))

    def _fill(self, kernel: Stationary, sigma2: float, D: Array | None = None) -> Array:
        """A, with the usual jitter, which ``cholesky`` would copy the matrix to add, and slopes; X_aug."""
        X_aug = kernel.augment(self.X, self.X.mean(axis=0))
        np.matmul(X_aug, kernel.dual(X_aug).T, out=self._K)
        kernel.fill(self._K, D)
        diagonal(self._K)[...] = kernel.s2_k * (1.0 + JITTER) + sigma2
        return X_aug


class LargeExactProblem:
    """One data set with the one (n, n) array that every evaluation reuses."""

    def __init__(self, X: Array, y: Array, family: Family = SEARD) -> None:
        self.X, self.y, self._family = X, y, family
        self._A = np.empty((len(y), len(y)), order="F")

    def evidence(self, values: dict[str, Array]) -> Bound:
        """log N(y | 0, A) with derivatives by ``s2_k``, ``ell`` (d,), ``sigma2``: n^3 flops, in place."""
        kernel = _kernel(self._family, values)
        alpha, jitter = self._factorise(kernel, float(values["sigma2"]))
        value = -0.5 * (float(self.y @ alpha) + logdet(self._A) + len(self.y) * LOG_2PI)
        factor_to_inverse_(self._A)
        ds2_k, dell, dsigma2 = self._gather(kernel, alpha, jitter)
        grads = {"s2_k": np.asarray(ds2_k), "ell": dell, "sigma2": np.asarray(dsigma2)}
        return Bound(value, grads, jitter)

    def posterior(self, values: dict[str, Array]) -> ExactPosterior:
        """The posterior at these parameters. It takes the array over: no more evaluations after this."""
        kernel = _kernel(self._family, values)
        alpha, jitter = self._factorise(kernel, float(values["sigma2"]))
        invert_lower_(self._A)
        inverse, self._A = self._A, np.empty((0, 0), order="F")
        return ExactPosterior(kernel, self.X, inverse, alpha, kernel.s2_k * (1.0 + jitter))

    def _factorise(self, kernel: Stationary, sigma2: float) -> tuple[Array, float]:
        """Factor A = K + (jitter s2_k + sigma2) I in its lower triangle; alpha = A^-1 y and the jitter.

        A failed factorisation destroys the matrix, so that each rung of the ladder fills it anew.
        """
        jitter = JITTER
        while jitter <= MAX_JITTER * (1.0 + 1e-9):
            for columns, X_aug in self._panels(kernel):
                K = kernel.covariances(X_aug[: columns.stop - columns.start], X_aug)
                self._A[columns.start :, columns] = K.T
            diagonal(self._A)[...] = kernel.s2_k * (1.0 + jitter) + sigma2
            if factor_(self._A):
                return factor_solve(self._A, self.y), jitter
            jitter *= 10.0
        raise LinAlgError(
            f"covariance of {len(self.y)} rows is not positive definite with relative jitter {MAX_JITTER:.0e}"
        )

    def _gather(self, kernel: Stationary, alpha: Array, jitter: float) -> tuple[float, Array, float]:
        """Derivatives by s2_k, ell and sigma2 from dA = (alpha alpha^T - A^-1) / 2.

        Pairs (i, j) and (j, i) contribute alike, so the lower triangle stands for both: 2 dA there, and the
        diagonal, where only s2_k counts, is added by itself.
        """
        dell, pairs = np.zeros(len(kernel.ell)), 0.0
        for columns, X_aug in self._panels(kernel):
            K, D = kernel.matrices(X_aug[: columns.stop - columns.start], X_aug)
            dK = np.multiply.outer(alpha[columns], alpha[columns.start :])
            dK -= self._A[columns.start :, columns].T
            width = len(dK)
            dK[:, :width] *= np.triu(np.ones((width, width)), 1)
            sums = sums_of(X_aug[:width], dK, K, D)  # the panel's rows are those of Z here
            grad = kernel.gather(X_aug[:width], X_aug, sums)
            pairs += grad.ds2_k
            dell += grad.dell
        dsigma2 = 0.5 * float((alpha * alpha - diagonal(self._A)).sum())
        return pairs + dsigma2 * (1.0 + jitter), dell, dsigma2

    def _panels(self, kernel: Stationary) -> Iterator[tuple[slice, Array]]:
        """Columns, and all inputs from there on (augmented): K of the former with the latter is a panel."""
        n = len(self.y)
        for start in range(0, n, WIDTH):
            columns = slice(start, min(start + WIDTH, n))
            yield columns, kernel.augment(self.X[start:], self.X[columns].mean(axis=0))


def _kernel(family: Family, values: dict[str, Array]) -> Stationary:
    return family(float(values["s2_k"]), values["ell"])
