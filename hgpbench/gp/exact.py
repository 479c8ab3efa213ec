"""The exact GP: log evidence with its gradient, and prediction (Rasmussen and Williams, alg. 2.1, eq. 5.9).

As everywhere in ``gp``, the jitter is part of the prior: A = K + jitter s2_k I + sigma2 I.
"""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import blas, lapack

from hgpbench.gp.kernels import SEARD
from hgpbench.gp.linalg import JITTER, Array, cholesky, inverse_factor, logdet, rowdots
from hgpbench.gp.params import Bound

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
