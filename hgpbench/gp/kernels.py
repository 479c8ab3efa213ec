"""The squared-exponential kernel with one lengthscale per input (SE-ARD), and its pullback.

A bound differentiates itself with respect to the kernel *matrices* it was given; ``pullback`` maps such a
``dK`` to the kernel's parameters and to the inputs. With W = dK * K (elementwise) that takes W 1, W^T 1 and
W^T X only, so no array larger than K ever appears.
"""

from dataclasses import dataclass

import numpy as np

from hgpbench.gp.linalg import Array


@dataclass(frozen=True, eq=False)
class KernelGrad:
    """Derivatives of a bound with respect to the kernel's parameters and the second set of inputs, ``Z``."""

    ds2_k: float
    dell: Array
    dZ: Array


@dataclass(frozen=True, eq=False)
class SEARD:
    """k(x, z) = s2_k exp(-1/2 sum_i (x_i - z_i)^2 / ell_i^2), with ``ell`` of shape (d,)."""

    s2_k: float
    ell: Array

    def cross(self, X: Array, Z: Array, out: Array | None = None) -> Array:
        """Covariances K (n, m) of the rows of ``X`` (n, d) and ``Z`` (m, d), C-ordered."""
        shift = Z.mean(axis=0)
        K = np.matmul(
            self._augment(X, shift, 0.0, left=True), self._augment(Z, shift, np.log(self.s2_k)).T, out=out
        )
        return np.exp(K, out=K)

    def gram(self, Z: Array, out: Array | None = None) -> Array:
        """Covariances Kzz (m, m) of the rows of ``Z`` with themselves; the diagonal is exactly ``s2_k``."""
        K = self.cross(Z, Z, out=out)
        np.einsum("ii->i", K)[...] = self.s2_k
        return K

    def diag(self, n: int) -> Array:
        """Prior variances at ``n`` points, whatever their inputs."""
        return np.full(n, self.s2_k)

    def pullback(self, X: Array, Z: Array, K: Array, dK: Array, out: Array | None = None) -> KernelGrad:
        """Map ``dK`` (n, m) at K = cross(X, Z) to (s2_k, ell, Z).

        ``out`` receives dK * K and may be ``dK`` itself. Costs two passes and O(n m d).
        """
        shift = Z.mean(axis=0)
        Xs, Zs = (X - shift) / self.ell, (Z - shift) / self.ell
        W = np.multiply(dK, K, out=out)
        rows = W.sum(axis=1)  # W 1, (n,)
        cols = np.ones(len(X)) @ W  # W^T 1, (m,)
        WX = W.T @ Xs  # (m, d), O(n m d)
        dlog_ell = rows @ Xs**2 + cols @ Zs**2 - 2.0 * np.einsum("md,md->d", Zs, WX)
        dZ = (WX - cols[:, None] * Zs) / self.ell
        return KernelGrad(float(cols.sum()) / self.s2_k, dlog_ell / self.ell, dZ)

    def pullback_sym(self, Z: Array, Kzz: Array, dKzz: Array, out: Array | None = None) -> KernelGrad:
        """Map a symmetric ``dKzz`` (m, m) at Kzz = gram(Z), where ``Z`` enters twice, to (s2_k, ell, Z)."""
        grad = self.pullback(Z, Z, Kzz, dKzz, out=out)
        return KernelGrad(grad.ds2_k, grad.dell, 2.0 * grad.dZ)

    def _augment(self, A: Array, shift: Array, log_s2: float, *, left: bool = False) -> Array:
        """Rows whose dot products are the exponents: [a, -|a|^2/2 + log s2, 1] against [a, 1, -|a|^2/2].

        Shifted to the middle of the inducing points, because the squares cancel badly far from the origin.
        """
        d = A.shape[1]
        aug = np.empty((len(A), d + 2))
        scaled = aug[:, :d]
        np.subtract(A, shift, out=scaled)
        scaled /= self.ell
        square, one = (d + 1, d) if left else (d, d + 1)
        np.einsum("nd,nd->n", scaled, scaled, out=aug[:, square])
        aug[:, square] *= -0.5
        aug[:, square] += log_s2
        aug[:, one] = 1.0
        return aug
