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
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from hgpbench.la import Array, augment, decay_, exp_, modulate, modulate_symmetric, symmetric_times

EPS = float(np.finfo(np.float64).eps)


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
    slopes_apart: ClassVar[bool] = True
    """Whether slopes are other numbers than covariances, for which there must be memory."""

    @property
    def offset(self) -> float:
        """What the kernel adds to -q/2 in the products that ``fill`` takes."""
        return 0.0

    @abstractmethod
    def fill(self, A: Array, D: Array | None = None) -> Array:
        """Turn the products ``A`` = offset - q/2 into covariances K, in place, and fill ``D`` with slopes.

        ``D`` is memory in the order of ``A``, or ``A`` itself where slopes are covariances. Round-off may
        leave a product a little above the offset.
        """

    def beside(self, K: Array) -> Array:
        """Memory for the slopes of ``K``, new where they need their own."""
        return np.empty_like(K) if self.slopes_apart else K

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

    def covariances(self, X_aug: Array, Z_aug: Array) -> Array:
        """Covariances K (n, m) of augmented inputs, C-ordered."""
        return self.fill(np.matmul(X_aug, self.dual(Z_aug).T))

    def matrices(self, X_aug: Array, Z_aug: Array) -> tuple[Array, Array]:
        """The same and their slopes."""
        K = np.matmul(X_aug, self.dual(Z_aug).T)
        D = self.beside(K)
        return self.fill(K, D), D

    def cross(self, X: Array, Z: Array) -> Array:
        """Covariances K (n, m) of the rows of ``X`` (n, d) and ``Z`` (m, d), C-ordered."""
        shift = Z.mean(axis=0)
        return self.covariances(self.augment(X, shift), self.augment(Z, shift))

    def at(self, q: Array) -> Array:
        """Covariances at squared distances ``q``, any shape."""
        return self.fill(self.offset - 0.5 * q)

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

    slopes_apart: ClassVar[bool] = False

    @property
    def offset(self) -> float:
        """log s2_k: one exponential of one product is all."""
        return float(np.log(self.s2_k))

    def fill(self, A: Array, D: Array | None = None) -> Array:
        """K = exp(A), which are the slopes too."""
        return exp_(A)


@dataclass(frozen=True, eq=False)
class Matern(Stationary):
    """phi(q) = (1 + c1 r + c2 r^2) exp(-r) with r = sqrt(2 nu q); D follows from the same three numbers.

    Its processes have less than nu derivatives (Rasmussen and Williams, section 4.2.1).
    """

    two_nu: ClassVar[float]
    c1: ClassVar[float] = 1.0
    c2: ClassVar[float] = 0.0

    def fill(self, A: Array, D: Array | None = None) -> Array:
        """K and D = -2 dk/dq in one pass."""
        return decay_(A, self.s2_k, self.two_nu, self.c1, self.c2, D)

    def augment(self, X: Array, shift: Array) -> Array:
        """As any kernel's, but for squares that fall short by what round-off may be.

        So equal inputs are at distance zero. A root makes 1e-8 of a square of 1e-16, and more of that of
        inputs many lengthscales from the middle: k(x, x) would fall short by as much as the jitter.
        """
        X_aug = augment(X, shift, self.ell)
        X_aug[:, -1] *= 1.0 - (len(self.ell) + 2) * EPS
        return X_aug


@dataclass(frozen=True, eq=False)
class Matern12(Matern):
    """phi(q) = exp(-r), r = sqrt(q). D = s2_k exp(-r) / r has a pole; the kernel has a cusp there.

    At distance zero any slope between those of the two sides is one, and D is zero: inducing inputs start at
    rows, which shall not pull at them.
    """

    two_nu: ClassVar[float] = 1.0
    c1: ClassVar[float] = 0.0


@dataclass(frozen=True, eq=False)
class Matern32(Matern):
    """phi(q) = (1 + r) exp(-r), r = sqrt(3 q), and D = 3 s2_k exp(-r)."""

    two_nu: ClassVar[float] = 3.0


@dataclass(frozen=True, eq=False)
class Matern52(Matern):
    """phi(q) = (1 + r + r^2 / 3) exp(-r), r = sqrt(5 q), and D = 5/3 s2_k (1 + r) exp(-r)."""

    two_nu: ClassVar[float] = 5.0
    c2: ClassVar[float] = 1.0 / 3.0


Family = type[Stationary]
KernelName = Literal["se", "matern12", "matern32", "matern52"]
KERNELS: dict[KernelName, Family] = {
    "se": SEARD,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
}
"""Kernels by the names that estimators take, from the smooth to the rough and back again."""


class Families(NamedTuple):
    """The kernels of f and of g, without their parameters."""

    f: Family = SEARD
    g: Family = SEARD


SMOOTH = Families()


def own_sums(Z_aug: Array, dK: Array, K: Array, D: Array) -> OwnSums:
    """The sums of a symmetric dKzz, whose lower triangle is read and used up; all Fortran-ordered (m, m)."""
    total = np.nan
    if D is K:
        dK *= K
    else:
        total = modulate_symmetric(dK, K, D)
    columns = np.empty(Z_aug.shape, order="F")
    symmetric_times(dK, np.asfortranarray(Z_aug), out=columns)
    return OwnSums(columns, float(columns[:, -2].sum()) if D is K else total)


def sums_of(X_aug: Array, dK: Array, K: Array, D: Array) -> Sums:
    """The sums of a dK (n, m) that is at hand whole, and used up."""
    covariances, slopes = modulate(dK, K, D)
    columns = dK.T @ X_aug
    return Sums(slopes, columns, float(columns[:, -2].sum() if D is K else covariances.sum()))
