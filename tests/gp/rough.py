"""Matern 3/2: a kernel whose slopes are not its covariances, to hold the seams of ``gp`` against."""

from dataclasses import dataclass

import numpy as np

from hgpbench.gp.kernels import Room, Stationary


@dataclass(frozen=True, eq=False)
class Matern32(Stationary):
    """phi(q) = (1 + sqrt(3 q)) exp(-sqrt(3 q))."""

    def fill(self, A: np.ndarray, room: Room) -> np.ndarray:
        """K and D = 3 s2_k exp(-sqrt(3 q))."""
        r = np.sqrt(6.0 * np.maximum(-A, 0.0))
        D = room()
        np.multiply(3.0 * self.s2_k, np.exp(-r), out=D)
        np.multiply(1.0 + r, D / 3.0, out=A)
        return D


def matern32(X: np.ndarray, Z: np.ndarray, s2_k: float, ell: np.ndarray) -> np.ndarray:
    """The same by its definition."""
    r = np.sqrt(3.0 * (((X[:, None] - Z) / ell) ** 2).sum(axis=-1))
    return s2_k * (1.0 + r) * np.exp(-r)
