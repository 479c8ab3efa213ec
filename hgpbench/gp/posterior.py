"""A latent process at new inputs, O(m^2) each, in chunks so that memory stays bounded."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from hgpbench.gp.kernels import SEARD
from hgpbench.gp.linalg import Array, rowdots

CHUNK_BYTES = 1_000_000


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(f*) or q(g*) from q of the inducing values (paper, mu_f*, sigma2_f* and mu_g*, sigma2_g*).

    With ``Linv`` = L^-1 and ``root`` = LB^-1 L^-1, both lower triangular and Fortran-ordered,

        mu* = mu0 + Ksm a,    s2* = kd - |Ksm L^-T|^2 + |Ksm root^T|^2    (row by row)
    """

    kernel: SEARD
    Z: Array
    mu0: float
    kd: float
    a: Array
    Linv: Array
    root: Array

    def moments(self, Xs: Array, silent: float | None = None) -> tuple[Array, Array]:
        """Mean and variance at ``Xs`` (s, d), each (s,).

        Points whose covariances k* with the inducing values have |k*|^2 <= ``silent`` get the prior, in O(m).
        """
        mu, s2 = np.full(len(Xs), self.mu0), np.full(len(Xs), self.kd)
        chunk = max(32, CHUNK_BYTES // (8 * len(self.Z)))
        for start in range(0, len(Xs), chunk):
            Ksm = self.kernel.cross(Xs[start : start + chunk], self.Z)
            rows: slice | NDArray[np.intp] = slice(start, start + chunk)
            if silent is not None:
                heard = np.flatnonzero(rowdots(Ksm, Ksm) > silent)
                rows, Ksm = start + heard, Ksm if len(heard) == len(Ksm) else Ksm[heard]
            mu[rows] += Ksm @ self.a
            Vs = blas.dtrmm(1.0, self.Linv, Ksm.T, lower=True).T
            Cs = blas.dtrmm(1.0, self.root, Ksm.T, lower=True, overwrite_b=True).T
            s2[rows] += rowdots(Cs, Cs) - rowdots(Vs, Vs)
        # Round-off may carry a variance that vanishes below zero.
        return mu, np.maximum(s2, 0.0, out=s2)
