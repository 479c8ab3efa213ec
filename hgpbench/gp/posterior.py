"""A latent process at new inputs, O(m^2) each, in chunks so that memory stays bounded."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from hgpbench.gp.kernels import Stationary
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import Array, lower_times, rowdots

CHUNK_BYTES = 1_000_000


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(f*) or q(g*) from q of the inducing values (paper, mu_f*, sigma2_f* and mu_g*, sigma2_g*).

    With ``Linv`` = L^-1 and ``root`` = LB^-1 L^-1, both lower triangular and Fortran-ordered,

        mu* = mu0 + Ksm a,    s2* = kd - |Ksm L^-T|^2 + |Ksm root^T|^2    (row by row)
    """

    kernel: Stationary
    Z: Array
    mu0: float
    kd: float
    a: Array
    Linv: Array
    root: Array

    @property
    def nbytes(self) -> int:
        """Bytes of its matrices."""
        return self.Z.nbytes + self.a.nbytes + self.Linv.nbytes + self.root.nbytes

    def moments(self, Xs: Array, silent: float | None = None, run: Run = serially) -> tuple[Array, Array]:
        """Mean and variance at ``Xs`` (s, d), each (s,).

        Points whose covariances k* with the inducing values have |k*|^2 <= ``silent`` get the prior, in O(m).
        """
        mu, s2 = np.full(len(Xs), self.mu0), np.full(len(Xs), self.kd)
        chunk = max(32, CHUNK_BYTES // (8 * len(self.Z)))
        pieces = [slice(start, start + chunk) for start in range(0, len(Xs), chunk)]
        run([partial(self._add, Xs, piece, silent, mu, s2) for piece in pieces])
        # Round-off may carry a variance that vanishes below zero.
        return mu, np.maximum(s2, 0.0, out=s2)

    def _add(self, Xs: Array, piece: slice, silent: float | None, mu: Array, s2: Array) -> None:
        """Add what the inducing values say of a piece of the points to the prior moments."""
        Ksm, rows = self.kernel.cross(Xs[piece], self.Z), np.arange(piece.start, min(piece.stop, len(Xs)))
        if silent is not None:
            heard = np.flatnonzero(rowdots(Ksm, Ksm) > silent)
            if len(heard) < len(Ksm):
                rows, Ksm = rows[heard], Ksm[heard]
        mu[rows] += Ksm @ self.a
        Vs = lower_times(self.Linv, Ksm.T.copy(order="F")).T
        Cs = lower_times(self.root, Ksm.T).T
        s2[rows] += rowdots(Cs, Cs) - rowdots(Vs, Vs)
