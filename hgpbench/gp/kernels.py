"""The squared-exponential kernel with one lengthscale per input (SE-ARD), and its pullback.

A bound differentiates itself with respect to the kernel *matrices* it was given; ``pullback`` maps such a
``dK`` to the kernel's parameters and to the inputs. With W = dK * K (elementwise) that takes W 1, W^T 1 and
W^T X only, so no array larger than K ever appears.
"""

from dataclasses import dataclass

import numpy as np

from hgpbench.gp.linalg import Array, rowdots


@dataclass(frozen=True, eq=False)
class KernelGrad:
    """Derivatives of a bound with respect to the kernel's parameters and the second set of inputs, ``Z``."""

    ds2_k: float
    dell: Array
    dZ: Array

    def __add__(self, other: "KernelGrad") -> "KernelGrad":
        return KernelGrad(self.ds2_k + other.ds2_k, self.dell + other.dell, self.dZ + other.dZ)


@dataclass(frozen=True, eq=False)
class SEARD:
    """k(x, z) = s2_k exp(-1/2 sum_i (x_i - z_i)^2 / ell_i^2), with ``ell`` of shape (d,)."""

    s2_k: float
    ell: Array

    def cross(self, X: Array, Z: Array, out: Array | None = None) -> Array:
        """Covariances K (n, m) of the rows of ``X`` (n, d) and ``Z`` (m, d), C-ordered."""
        shift = Z.mean(axis=0)
        K = np.matmul(self.augment(X, shift), self.augment_right(Z, shift).T, out=out)
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
        X_aug = self.augment(X, shift)
        W = np.multiply(dK, K, out=out)
        return self.gather(X_aug, Z, shift, W.sum(axis=1), W.T @ X_aug)

    def pullback_sym(self, Z: Array, Kzz: Array, dKzz: Array, out: Array | None = None) -> KernelGrad:
        """Map a symmetric ``dKzz`` (m, m) at Kzz = gram(Z), where ``Z`` enters twice, to (s2_k, ell, Z)."""
        grad = self.pullback(Z, Z, Kzz, dKzz, out=out)
        return KernelGrad(grad.ds2_k, grad.dell, 2.0 * grad.dZ)

    def gather(self, X_aug: Array, Z: Array, shift: Array, row_sums: Array, sums: Array) -> KernelGrad:
        """The pullback from its sums alone: W 1 (n,) and W^T X_aug (m, d + 2), where W = dK * K."""
        d = len(self.ell)
        Xs, Zs = X_aug[:, :d], (Z - shift) / self.ell
        WX, cols = sums[:, :d], sums[:, d]
        dlog_ell = row_sums @ Xs**2 + cols @ Zs**2 - 2.0 * np.einsum("md,md->d", Zs, WX)
        dZ = (WX - cols[:, None] * Zs) / self.ell
        return KernelGrad(float(cols.sum()) / self.s2_k, dlog_ell / self.ell, dZ)

    def augment(self, X: Array, shift: Array) -> Array:
        """Rows [x, 1, -|x|^2/2] (n, d + 2), x = (X - shift) / ell; times those of ``augment_right``: log k.

        Both sides are shifted to the middle of ``Z``, because the squares cancel badly far from the origin.
        """
        return self._augment(X, shift, one=len(self.ell), square=len(self.ell) + 1)

    def augment_right(self, Z: Array, shift: Array) -> Array:
        """Rows [z, -|z|^2/2 + log s2_k, 1] (m, d + 2)."""
        d = len(self.ell)
        aug = self._augment(Z, shift, one=d + 1, square=d)
        aug[:, d] += np.log(self.s2_k)
        return aug

    def _augment(self, A: Array, shift: Array, one: int, square: int) -> Array:
        d = len(self.ell)
        aug = np.empty((len(A), d + 2))
        scaled = np.subtract(A, shift, out=aug[:, :d])
        scaled /= self.ell
        aug[:, square] = -0.5 * rowdots(scaled, scaled)
        aug[:, one] = 1.0
        return aug
