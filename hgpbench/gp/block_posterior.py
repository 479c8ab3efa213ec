"""A process with a partially independent conditional at new inputs, each of which belongs to a block."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hgpbench.gp.block import Block, Inducing, answers
from hgpbench.gp.linalg import Array, rowdots
from hgpbench.gp.tasks import Run, serially

CHUNK_ROWS = 1000  # test rows at a time


@dataclass(frozen=True, eq=False)
class BlockPosterior:
    """p(f* | y) where a test row belongs to one of the blocks.

    Its covariance with the rows of that block is exact, with all others that of Q. With v* its whitened row,
    E = K*b - v* V_b^T, T = E Li^T and h = T U_b,

        mu* = v* alpha + E beta_b,    s2* = kd - |v*|^2 - |T|^2 + |(v* - h) LB^-T|^2
    """

    shared: Inducing
    X: Array
    y: Array
    starts: Sequence[int]
    sigma2: float
    LBinv: Array
    alpha: Array

    def moments(self, Xs: Array, owners: Array, run: Run = serially) -> tuple[Array, Array]:
        """Mean and variance of f at ``Xs`` (s, d), each (s,), for rows that belong to blocks ``owners``."""
        mu, s2 = np.empty(len(Xs)), np.empty(len(Xs))

        def fill(b: int) -> None:
            block, beta = self._block(b)
            mine = np.flatnonzero(owners == b)
            for start in range(0, len(mine), CHUNK_ROWS):
                rows = mine[start : start + CHUNK_ROWS]
                mu[rows], s2[rows] = self._at(Xs[rows], b, block, beta)

        answers(run, fill, np.unique(owners).tolist())
        # Round-off may carry a variance that vanishes below zero.
        return mu, np.maximum(s2, 0.0, out=s2)

    def _block(self, b: int) -> tuple[Block, Array]:
        rows = slice(self.starts[b], self.starts[b + 1])
        block = Block(self.shared, self.X[rows], self.sigma2)
        return block, (block.Li @ (self.y[rows] - block.V @ self.alpha)) @ block.Li

    def _at(self, Xs: Array, b: int, block: Block, beta: Array) -> tuple[Array, Array]:
        kernel = self.shared.kernel
        _, Vs = self.shared.project(self.shared.augment(Xs))
        E = kernel.cross(Xs, self.X[self.starts[b] : self.starts[b + 1]])
        E -= Vs @ block.V.T
        mu = Vs @ self.alpha + E @ beta
        T = E @ block.Li.T
        C = (Vs - T @ block.U) @ self.LBinv.T
        return mu, self.shared.kd - rowdots(Vs, Vs) - rowdots(T, T) + rowdots(C, C)
