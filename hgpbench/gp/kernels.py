"""The squared-exponential kernel with one lengthscale per input (SE-ARD), and its pullback.

A bound differentiates itself with respect to the kernel *matrices* it was given; ``pullback`` maps such a
``dK`` to the kernel's parameters and to the inputs. With W = dK * K (elementwise) that takes W 1, W^T 1 and
W^T X only, so no array larger than K ever appears.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsymm

from hgpbench.la.dense import Array
from hgpbench.la.passes import augment, exponential


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
        K = np.matmul(self.augment(X, shift), self.dual(self.augment(Z, shift)).T, out=out)
        return exponential(K)

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
        return self.gather(X_aug, self.augment(Z, shift), W.sum(axis=1), W.T @ X_aug)

    # The same in pieces, for callers that keep the augmented inputs and sum over W = dK * K themselves.

    def augment(self, X: Array, shift: Array) -> Array:
        """Rows [x, 1, -|x|^2/2] (n, d + 2), with x = (X - shift) / ell; ``dual`` has the other side.

        The shift, to the middle of ``Z``, keeps the squares from cancelling badly far from the origin.
        """
        return augment(X, shift, self.ell)

    def dual(self, Z_aug: Array) -> Array:
        """Rows [z, -|z|^2/2 + log s2_k, 1]: their products with augmented rows are log k(x, z)."""
        d = len(self.ell)
        dual = Z_aug.copy()
        np.add(Z_aug[:, d + 1], np.log(self.s2_k), out=dual[:, d])
        dual[:, d + 1] = 1.0
        return dual

    def gather(
        self, X_aug: Array, Z_aug: Array, row_sums: Array, sums: Array, own: Array | None = None
    ) -> KernelGrad:
        """The pullback from W 1 (n,) and W^T X_aug (m, d + 2), and from ``own``, the ``sums_sym`` of Z."""
        d = len(self.ell)
        Zs, both = Z_aug[:, :d], sums if own is None else sums + 2.0 * own
        pulled = both[:, :d] - both[:, d, None] * Zs
        # sum W (x - z)^2 = sum W x^2 - sum (W^T x) z - sum z (W^T x - W^T 1 z), of which own has the last
        dlog_ell = (row_sums @ (X_aug * X_aug))[:d] - ((sums[:, :d] + pulled) * Zs).sum(axis=0)
        total = 0.5 * float(sums[:, d].sum() + both[:, d].sum())
        return KernelGrad(total / self.s2_k, dlog_ell / self.ell, pulled / self.ell)

    def gather_sym(self, Z_aug: Array, W: Array) -> KernelGrad:
        """The pullback from W = dKzz * Kzz alone, see ``sums_sym``."""
        own = self.sums_sym(Z_aug, W)
        return self.gather(Z_aug, Z_aug, np.zeros(len(own)), np.zeros_like(own), own)

    def sums_sym(self, Z_aug: Array, W: Array) -> Array:
        """W Z_aug (m, d + 2) of a symmetric W (m, m), where ``Z`` enters on both sides.

        Reads the lower triangle of a Fortran-ordered W; another order is copied.
        """
        sums: Array = dsymm(1.0, W, Z_aug, lower=True)
        return sums
