"""Stationary kernels with one lengthscale per input, and their pullback.

A bound differentiates itself with respect to the kernel *matrices* it was given; the kernel maps such a dK to
its parameters and to the inputs. With q the squared distance in lengthscales and the slopes D = -2 dk/dq,
everything follows from W = dK * D (elementwise): W 1, W^T 1 and W^T X for lengthscales and inputs, and from
the sum of dK * K for the variance. So no array larger than K ever appears.

A kernel gives K from products of augmented inputs, which are -q/2 but for what it adds to them, and D beside
it. The squared exponential has a shortcut that nobody else needs to know of: its slopes are its covariances,
and log s2_k travels in the product, so that K is one exponential of it and D the same array.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hgpbench.la import Array, augment, diagonal, exp_, symmetric_times

Room = Callable[[], Array]
"""Where slopes may go: memory of the shape of K, asked for by kernels that need it."""


@dataclass(frozen=True, eq=False)
class KernelGrad:
    """Derivatives of a bound with respect to the kernel's parameters and the second set of inputs, ``Z``."""

    ds2_k: float
    dell: Array
    dZ: Array


class Sums(NamedTuple):
    """Of W = dK * D, ``rows`` = W 1 (n,) and ``columns`` = W^T X_aug (m, d + 2); and the sum of dK * K."""

    rows: Array
    columns: Array
    total: float


class OwnSums(NamedTuple):
    """Of W = dKzz * Dzz, symmetric, ``columns`` = W Z_aug (m, d + 2); and the sum of dKzz * Kzz."""

    columns: Array
    total: float


@dataclass(frozen=True, eq=False)
class Stationary(ABC):
    """k(x, z) = s2_k phi(q) with q = sum_i (x_i - z_i)^2 / ell_i^2 and phi(0) = 1; ``ell`` is (d,)."""

    s2_k: float
    ell: Array

    @property
    def offset(self) -> float:
        """What the kernel adds to -q/2 in the products that ``fill`` takes."""
        return 0.0

    @abstractmethod
    def fill(self, A: Array, room: Room) -> Array:
        """Turn the products ``A`` = offset - q/2 into covariances K, in place; returns the slopes D.

        D lies in ``room()``, or is ``A`` itself where slopes are covariances. Round-off may leave a product a
        little above the offset.
        """

    def augment(self, X: Array, shift: Array) -> Array:
        """Rows [x, 1, -|x|^2/2] (n, d + 2), with x = (X - shift) / ell; ``dual`` has the other side.

        The shift, to the middle of ``Z``, keeps the squares from cancelling badly far from the origin.
        """
        return augment(X, shift, self.ell)

    def dual(self, Z_aug: Array) -> Array:
        """Rows [z, offset - |z|^2/2, 1] (m, d + 2): their products with augmented rows are offset - q/2."""
        d = len(self.ell)
        dual = Z_aug.copy()
        np.add(Z_aug[:, d + 1], self.offset, out=dual[:, d])
        dual[:, d + 1] = 1.0
        return dual

    def matrices(self, X_aug: Array, Z_aug: Array, out: Array | None = None) -> tuple[Array, Array]:
        """Covariances K (n, m), C-ordered, and slopes D of augmented inputs."""
        K = np.matmul(X_aug, self.dual(Z_aug).T, out=out)
        return K, self.fill(K, lambda: np.empty_like(K))

    def cross(self, X: Array, Z: Array) -> Array:
        """Covariances K (n, m) of the rows of ``X`` (n, d) and ``Z`` (m, d), C-ordered."""
        shift = Z.mean(axis=0)
        return self.matrices(self.augment(X, shift), self.augment(Z, shift))[0]

    def at(self, q: Array) -> Array:
        """Covariances at squared distances ``q``, any shape."""
        A = self.offset - 0.5 * q
        self.fill(A, lambda: np.empty_like(A))
        return A

    def gather(self, X_aug: Array, Z_aug: Array, sums: Sums, own: OwnSums | None = None) -> KernelGrad:
        """The pullback of dK from its ``sums`` and of dKzz, with ``Z`` on both sides, from its ``own``."""
        d = len(self.ell)
        columns, total = sums.columns, sums.total
        Zs, both = Z_aug[:, :d], columns if own is None else columns + 2.0 * own.columns
        pulled = both[:, :d] - both[:, d, None] * Zs
        # sum W (x - z)^2 = sum W x^2 - sum (W^T x) z - sum z (W^T x - W^T 1 z), of which own has the last
        dlog_ell = (sums.rows @ (X_aug * X_aug))[:d] - ((columns[:, :d] + pulled) * Zs).sum(axis=0)
        ds2_k = (total if own is None else total + own.total) / self.s2_k
        return KernelGrad(ds2_k, dlog_ell / self.ell, pulled / self.ell)

    def gather_own(self, Z_aug: Array, own: OwnSums) -> KernelGrad:
        """The pullback of dKzz alone."""
        nothing = Sums(np.zeros(len(Z_aug)), np.zeros_like(Z_aug), 0.0)
        return self.gather(Z_aug, Z_aug, nothing, own)


@dataclass(frozen=True, eq=False)
class SEARD(Stationary):
    """The squared exponential: phi(q) = exp(-q/2), so that D = K."""

    @property
    def offset(self) -> float:
        """log s2_k: one exponential of one product is all."""
        return float(np.log(self.s2_k))

    def fill(self, A: Array, room: Room) -> Array:
        """K = exp(A), which are the slopes too."""
        return exp_(A)


def own_sums(Z_aug: Array, dK: Array, K: Array, D: Array) -> OwnSums:
    """The sums of a symmetric dKzz, whose lower triangle is read and used up; all Fortran-ordered (m, m)."""
    separate = D is not K
    total = _symmetric_dot(dK, K) if separate else 0.0
    dK *= D
    columns = np.empty(Z_aug.shape, order="F")
    symmetric_times(dK, np.asfortranarray(Z_aug), out=columns)
    return OwnSums(columns, total if separate else float(columns[:, -2].sum()))


def sums_of(X_aug: Array, dK: Array, K: Array, D: Array) -> Sums:
    """The sums of a dK (n, m) that is at hand whole, and used up."""
    total = float(np.vdot(dK, K)) if D is not K else np.nan
    dK *= D
    columns = dK.T @ X_aug
    return Sums(dK.sum(axis=1), columns, total if D is not K else float(columns[:, -2].sum()))


def _symmetric_dot(A: Array, B: Array) -> float:
    """The sum of A * B, symmetric, from the lower triangle of A."""
    both = np.tril(A, -1)
    return 2.0 * float(np.vdot(both, B)) + float(diagonal(A) @ diagonal(B))
