"""Gaussian basis functions phi_j(x) = exp(-1/2 (x - p_j)^T G_j (x - p_j)), and their pullback.

The kinds of GPz (Almosallam et al., 2016) differ in how the precisions G_j follow from ``gamma``. The first
letter says whether all functions share one (G, global) or each has its own (V, variable):

    L   one lengthscale            G_j = gamma_j^2 I
    D   one per input              G_j = diag(gamma_j^2)
    C   a full covariance          G_j = gamma_j^T gamma_j

Any of them makes log phi_j(x) linear in features of x, [1, x, x^2] or [1, x, x x^T]: one product for all
functions, and one for the way back. No (n, m, d) array appears.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hgpbench.gp.linalg import Array
from hgpbench.gp.passes import exponential

Kind = Literal["GL", "VL", "GD", "VD", "GC", "VC"]


def gamma_shape(kind: Kind, m: int, d: int) -> tuple[int, ...]:
    """Shape of ``gamma`` for ``m`` functions of ``d`` inputs."""
    each: dict[str, tuple[int, ...]] = {"L": (), "D": (d,), "C": (d, d)}
    return ((m,) if kind[0] == "V" else ()) + each[kind[1]]


def axis_aligned(kind: Kind, slopes: Array) -> Array:
    """``gamma`` of functions with inverse lengthscales ``slopes`` (m, d); means where the kind has fewer."""
    m, d = slopes.shape
    if kind[0] == "G":
        slopes = slopes.mean(axis=0, keepdims=True)
    if kind[1] == "L":
        slopes = slopes.mean(axis=1, keepdims=True)
    gamma = slopes[:, :, None] * np.eye(d) if kind[1] == "C" else slopes.copy()
    return gamma.reshape(gamma_shape(kind, m, d))


@dataclass(frozen=True, eq=False)
class Basis:
    """``m`` basis functions: centres ``P`` (m, d) and ``gamma`` of ``gamma_shape``.

    Features are taken about the mean of the centres, so that inputs far from the origin do not cancel.
    """

    kind: Kind
    P: Array
    gamma: Array

    @property
    def full(self) -> bool:
        """Whether the precisions have entries off their diagonals."""
        return self.kind[1] == "C"

    def features(self, X: Array) -> Array:
        """Features (n, q) of the rows of ``X`` (n, d) in which all log phi_j are linear."""
        n, d = X.shape
        Z = X - self._shift
        if not self.full:
            return np.hstack([np.ones((n, 1)), Z, Z * Z])
        i, j = np.triu_indices(d)
        return np.hstack([np.ones((n, 1)), Z, Z[:, i] * Z[:, j]])

    def coefficients(self) -> Array:
        """Coefficients C (q, m): log Phi = features(X) C."""
        G, P = self._precisions(), self.P - self._shift
        if not self.full:
            return np.hstack([-0.5 * np.sum(G * P * P, axis=1, keepdims=True), G * P, -0.5 * G]).T
        i, j = np.triu_indices(P.shape[1])
        GP = np.einsum("mij,mj->mi", G, P)
        pairs = np.where(i == j, -0.5, -1.0) * G[:, i, j]
        return np.hstack([-0.5 * np.sum(GP * P, axis=1, keepdims=True), GP, pairs]).T

    def evaluate(self, X: Array) -> Array:
        """Phi (n, m) at the rows of ``X`` (n, d): O(n m q)."""
        Phi = self.features(X) @ self.coefficients()
        return exponential(Phi)

    def pullback(self, dC: Array) -> tuple[Array, Array]:
        """Map dC (q, m), the derivative by the coefficients, to dP (m, d) and dgamma."""
        d, P = self.P.shape[1], self.P - self._shift
        # The moments sum_n W_nj (x - p_j)^k, k = 0, 1, 2, of W = dPhi * Phi, about each function's centre.
        s0, s1, s2 = dC[:1].T, dC[1 : d + 1].T, dC[d + 1 :].T
        centred = s1 - P * s0
        G = self._precisions()
        if not self.full:
            dG = -0.5 * (s2 - P * (s1 + centred))
            return G * centred, self._pull_diagonal(dG)
        i, j = np.triu_indices(d)
        square = np.empty((len(P), d, d))
        square[:, i, j] = square[:, j, i] = s2
        cross = P[:, :, None] * s1[:, None, :]
        dG = -0.5 * (square - cross - cross.transpose(0, 2, 1) + P[:, :, None] * P[:, None, :] * s0[:, None])
        return np.einsum("mij,mj->mi", G, centred), self._pull_full(dG)

    @property
    def _shift(self) -> Array:
        return self.P.mean(axis=0)

    def _precisions(self) -> Array:
        """G_j, (m, d) where they are diagonal and (m, d, d) where they are not."""
        m, d = self.P.shape
        if self.full:
            return np.broadcast_to(self.gamma.swapaxes(-1, -2) @ self.gamma, (m, d, d))
        return np.broadcast_to(self._rows() ** 2, (m, d))

    def _rows(self) -> Array:
        """A diagonal kind's ``gamma`` as (m or 1, d or 1)."""
        m, d = self.P.shape
        return self.gamma.reshape(m if self.kind[0] == "V" else 1, d if self.kind[1] == "D" else 1)

    def _pull_diagonal(self, dG: Array) -> Array:
        """dG (m, d) summed over the entries that share one gamma, times dG/dgamma = 2 gamma."""
        if self.kind[0] == "G":
            dG = dG.sum(axis=0, keepdims=True)
        if self.kind[1] == "L":
            dG = dG.sum(axis=1, keepdims=True)
        return (2.0 * self._rows() * dG).reshape(self.gamma.shape)

    def _pull_full(self, dG: Array) -> Array:
        """d(gamma^T gamma) = 2 gamma dG for symmetric dG (m, d, d)."""
        return 2.0 * self.gamma @ (dG if self.kind[0] == "V" else dG.sum(axis=0))
