"""One block of rows under the prior of PIC (see ``pic``), and what all of them say of new ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hgpbench.gp.inducing import Inducing
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import Array, diagonal, inverse_factor, lower_times, rowdots

Item = TypeVar("Item")
Result = TypeVar("Result")


class Block:
    """The matrices of one block at given parameters, where V_b V_b^T = Q_bb and D_b^-1 = Li^T Li.

    K (b, b) and its slopes, symmetric and Fortran-ordered; Kbm, its slopes, V, U = Li V (b, m); Li (b, b).
    """

    def __init__(self, shared: Inducing, X: Array, sigma2: float) -> None:
        self.X_aug = shared.augment(X)
        self.Kbm, self.V, self.slopes_bm = _projected(shared, self.X_aug)
        K, slopes = shared.kernel.matrices(self.X_aug, self.X_aug)
        self.K = K.T
        self.slopes = self.K if slopes is K else slopes.T
        diagonal(K)[...] = shared.kd
        D = K - self.V @ self.V.T
        diagonal(D)[...] += sigma2
        # The nugget of the prior is in D already; where even that is not enough, the step is rejected.
        self.Li = inverse_factor(D, max_jitter=0.0).L
        self.U = self.V.copy()
        lower_times(self.Li, self.U.T, right=True, trans=True)


def _projected(shared: Inducing, X_aug: Array) -> tuple[Array, Array, Array]:
    """Kbm and V = Kbm L^-T, both (b, m), and the slopes of the former."""
    K, V = (np.empty((len(X_aug), len(shared.Z))) for _ in range(2))
    D = shared.kernel.beside(K)
    shared.project(X_aug, K, D, V)
    return K, V, D


def answers(run: Run, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``function`` of each item, in order, whoever computes it.

    Threads do not inherit that overflow is to be quiet; the optimiser judges what comes out.
    """
    results: dict[int, Result] = {}

    def work(place: int) -> None:
        with np.errstate(all="ignore"):
            results[place] = function(items[place])

    run([partial(work, place) for place in range(len(items))])
    return [results[place] for place in range(len(items))]


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

    def moments(self, Xs: Array, owners: NDArray[np.intp], run: Run = serially) -> tuple[Array, Array]:
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
        _, Vs, _ = _projected(self.shared, self.shared.augment(Xs))
        E = kernel.cross(Xs, self.X[self.starts[b] : self.starts[b + 1]])
        E -= Vs @ block.V.T
        mu = Vs @ self.alpha + E @ beta
        T = E @ block.Li.T
        C = (Vs - T @ block.U) @ self.LBinv.T
        return mu, self.shared.kd - rowdots(Vs, Vs) - rowdots(T, T) + rowdots(C, C)
