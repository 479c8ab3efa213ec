"""The prior of a process through inducing points: what all bounds with inducing inputs have in common.

With Kmm = L L^T, whitened V = Knm L^-T makes V V^T = Qnn, and every bound is a function of V, of the prior
variance and of diagonals. L^-1 is formed once and multiplies, which runs at the processor's rate, where
solving with L does not.
"""

from dataclasses import dataclass

import numpy as np

from hgpbench.gp.kernels import KernelGrad, OwnSums, Stationary, Sums, own_sums
from hgpbench.gp.posterior import Posterior
from hgpbench.la import (
    JITTER,
    Array,
    diagonal,
    inverse_factor,
    lower_of_product,
    lower_times,
    symmetric_times_lower,
    times_transposed,
)


@dataclass(frozen=True, eq=False)
class Inducing:
    """A kernel, inducing inputs Z (m, d), Kmm with its slopes, and L^-1 (m, m), Fortran-ordered.

    The jitter belongs to the prior: Kmm and the prior variances kd carry the same nugget.
    """

    kernel: Stationary
    Z: Array
    shift: Array
    Z_aug: Array
    dual: Array
    Kmm: Array
    Dmm: Array
    Linv: Array
    jitter: float
    kd: float

    @classmethod
    def of(
        cls,
        kernel: Stationary,
        Z: Array,
        jitter: float = JITTER,
        *,
        Kmm: Array | None = None,
        Dmm: Array | None = None,
        Linv: Array | None = None,
    ) -> "Inducing":
        """At these inducing inputs: 2/3 m^3 flops; ``Kmm``, ``Dmm``, ``Linv`` are memory to use again."""
        m = len(Z)
        Kmm = np.empty((m, m), order="F") if Kmm is None else Kmm
        shift = Z.mean(axis=0)
        Z_aug = kernel.augment(Z, shift)
        dual = np.asfortranarray(kernel.dual(Z_aug))
        times_transposed(Z_aug, dual, out=Kmm.T)  # symmetric
        Dmm = kernel.beside(Kmm) if Dmm is None else Dmm
        kernel.fill(Kmm, Dmm)
        factor = inverse_factor(Kmm, kernel.s2_k, jitter, out=Linv)
        kd = kernel.s2_k * (1.0 + factor.jitter)
        diagonal(Kmm)[...] = kd
        return cls(kernel, Z, shift, Z_aug, dual, Kmm, Dmm, factor.L, factor.jitter, kd)

    def augment(self, X: Array) -> Array:
        """Rows of ``X`` as the kernel's products want them."""
        return self.kernel.augment(X, self.shift)

    def project(self, X_aug: Array, K: Array, D: Array, V: Array) -> None:
        """Fill Knm, its slopes and V = Knm L^-T, all C-ordered (n, m): n m^2 flops."""
        times_transposed(X_aug, self.dual, out=K)
        self.kernel.fill(K, D)
        V[...] = K
        lower_times(self.Linv, V.T)

    def own_sums(self, low: Array, HL: Array, *, spare: Array) -> OwnSums:
        """The sums of dKmm = -1/2 L^-T H L^-1, with H L^-1 = symmetric(low) L^-1 + HL: 1 m^3 flops.

        H is dV^T V; where it is not symmetric (a mean free in the whitened coordinates), the derivative of
        the Cholesky factor needs its lower triangle mirrored: ``low``, of which the upper part is not read.
        Uses ``HL`` and ``spare`` up, Fortran-ordered (m, m).
        """
        symmetric_times_lower(low, self.Linv, out=HL, alpha=-0.5, beta=-0.5, whole=False)
        dKmm = lower_of_product(self.Linv, HL, out=spare)
        return own_sums(self.Z_aug, dKmm, self.Kmm, self.Dmm)

    def gather(self, X_aug: Array, sums: Sums, own: OwnSums, dkd: float) -> KernelGrad:
        """The pullback of dKnm and dKmm from their sums, and of the derivative by the prior variance."""
        return self.kernel.gather(X_aug, self.Z_aug, sums, OwnSums(own.columns, own.total + dkd * self.kd))

    def posterior(self, mean: Array, root: Array, prior_mean: float = 0.0) -> Posterior:
        """The process at new inputs, for a whitened mean (m,) and covariance R^T R; ``root`` is R L^-1."""
        a, Linv = mean @ self.Linv, self.Linv.copy(order="F")
        return Posterior(self.kernel, self.Z.copy(), prior_mean, self.kd, a, Linv, root)
