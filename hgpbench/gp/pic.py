"""The partially independent conditional (PIC): an inducing-point prior that is exact inside blocks of rows.

Snelson and Ghahramani (2007): log N(y | 0, Q + D), with Q = V V^T as everywhere and D block diagonal,

    D_b = K_bb - Q_bb + sigma2 I,    B = I + sum_b V_b^T D_b^-1 V_b,    alpha = B^-1 sum_b V_b^T D_b^-1 y_b.

FITC is its limit of blocks of one row, the exact GP that of one block. Only sums over blocks couple them, so
blocks are worked through one at a time, twice: for B and alpha, then for the derivatives. With the derivative
1/2 (beta beta^T - (Q + D)^-1) by Q + D and beta = D^-1 (y - V alpha), all that is needed is

    2 dD_b = beta_b beta_b^T - D_b^-1 + R_b R_b^T,    R_b = D_b^-1 V_b LB^-T
    dV_b   = beta_b alpha^T - R_b LB^-1 - 2 dD_b V_b
    H      = sum_b dV_b^T V_b = alpha alpha^T - I + B^-1 - sum_b V_b^T 2 dD_b V_b

Blocks are added up in bundles, and bundles in their order: the same bits whoever computes them. A
new input belongs to one of the blocks, too.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from hgpbench.gp.inducing import Inducing
from hgpbench.gp.kernels import SEARD, Family, KernelGrad, own_sums, sums_of
from hgpbench.gp.params import Bound
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import JITTER, Array, add_outer, diagonal, inverse_factor, logdet, lower_times, rowdots

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


def _inducing(family: Family, values: dict[str, Array], jitter: float) -> Inducing:
    return Inducing.of(family(float(values["s2_k"]), values["ell"]), values["Xm"], jitter)


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
        _, Vs, _ = _projected(self.shared, self.shared.augment(Xs))
        E = kernel.cross(Xs, self.X[self.starts[b] : self.starts[b + 1]])
        E -= Vs @ block.V.T
        mu = Vs @ self.alpha + E @ beta
        T = E @ block.Li.T
        C = (Vs - T @ block.U) @ self.LBinv.T
        return mu, self.shared.kd - rowdots(Vs, Vs) - rowdots(T, T) + rowdots(C, C)


LOG_2PI = float(np.log(2.0 * np.pi))
POSITIVE = ("s2_k", "ell", "sigma2")
"""Parameters that an optimiser should see as logarithms; the other one is ``Xm``."""

BUNDLES = 16  # groups of blocks that are summed on their own: more of them than of workers
KEEP_BYTES = 1_000_000_000  # blocks are kept for the second pass where all fit: saves 10 to 20 % of the time


class Gram(NamedTuple):
    """Sums of the first pass: V^T D^-1 V (m, m), V^T D^-1 y (m,) and log |D|."""

    N: Array
    c: Array
    logdet_D: float


class Slopes(NamedTuple):
    """Sums of the second pass: y^T beta, V^T 2 dD V (m, m), and derivatives by s2_k, ell, Xm, sigma2."""

    quadratic: float
    VGV: Array
    ds2_k: float
    dell: Array
    dZ: Array
    dsigma2: float


class Coupling(NamedTuple):
    """What the first pass says about all blocks: the inverse factor of B, alpha (m,), log |Q + D|."""

    LBinv: Array
    alpha: Array
    logdet: float


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows ``X`` (n, d) and targets ``y`` (n,), block b at ``starts[b]:starts[b + 1]``, and who computes.

    ``family`` is what kernel they have.
    """

    X: Array
    y: Array
    starts: Sequence[int]
    run: Run = serially
    family: Family = SEARD

    def evidence(self, values: dict[str, Array], jitter: float = JITTER) -> Bound:
        """log N(y | 0, Q + D) with derivatives by ``s2_k``, ``ell`` (d,), ``Xm`` (m, d) and ``sigma2``.

        About 16 n m^2 flops for blocks of m rows. Memory for ``KEEP_BYTES`` of blocks, or one a worker.
        """
        shared, sigma2 = _inducing(self.family, values, jitter), float(values["sigma2"])
        kept: dict[int, Block] = {}
        coupling = self._couple(shared, sigma2, kept if self._fit_in_memory(len(shared.Z)) else None)
        a = coupling.alpha @ shared.Linv

        def slope(b: int) -> Slopes:
            X, y = self._rows(b)
            block = kept.pop(b) if b in kept else Block(shared, X, sigma2)
            return _slopes(shared, coupling, a, block, y)

        def slopes(bundle: range) -> Slopes:
            return _summed(map(slope, bundle))

        total = _summed(answers(self.run, slopes, self._bundles()))
        value = -0.5 * (len(self.y) * LOG_2PI + coupling.logdet + total.quadratic)
        grad = _pull_inducing(shared, coupling, total.VGV)
        grads = {
            "s2_k": np.asarray(grad.ds2_k + total.ds2_k),
            "ell": grad.dell + total.dell,
            "Xm": grad.dZ + total.dZ,
            "sigma2": np.asarray(total.dsigma2),
        }
        return Bound(value, grads, shared.jitter)

    def posterior(self, values: dict[str, Array], jitter: float = JITTER) -> BlockPosterior:
        """The posterior at these parameters; the matrices of blocks are made again when they are needed."""
        shared, sigma2 = _inducing(self.family, values, jitter), float(values["sigma2"])
        LBinv, alpha, _ = self._couple(shared, sigma2)
        return BlockPosterior(shared, self.X, self.y, self.starts, sigma2, LBinv, alpha)

    def _couple(self, shared: Inducing, sigma2: float, kept: dict[int, Block] | None = None) -> Coupling:
        """The first pass; its blocks go into ``kept``."""

        def gram(b: int) -> Gram:
            X, y = self._rows(b)
            block = Block(shared, X, sigma2)
            if kept is not None:
                kept[b] = block
            return Gram(block.U.T @ block.U, (block.Li @ y) @ block.U, -logdet(block.Li))

        def grams(bundle: range) -> Gram:
            return _summed(map(gram, bundle))

        total = _summed(answers(self.run, grams, self._bundles()))
        B = total.N
        diagonal(B)[...] += 1.0
        LBinv = inverse_factor(B, max_jitter=0.0).L
        return Coupling(LBinv, (LBinv @ total.c) @ LBinv, total.logdet_D - logdet(LBinv))

    def _rows(self, b: int) -> tuple[Array, Array]:
        rows = slice(self.starts[b], self.starts[b + 1])
        return self.X[rows], self.y[rows]

    def _fit_in_memory(self, m: int) -> bool:
        """Whether the matrices of all blocks, three (b, m) and two (b, b) each, are few enough to keep.

        Slopes of their own are one more of either kind.
        """
        sizes, more = np.diff(self.starts).astype(float), float(self.family.slopes_apart)
        return bool(8.0 * sizes @ ((3.0 + more) * m + (2.0 + more) * sizes) <= KEEP_BYTES)

    def _bundles(self) -> list[range]:
        """Consecutive blocks in groups that do not depend on who works."""
        M = len(self.starts) - 1
        ends = np.linspace(0, M, min(M, BUNDLES) + 1).astype(int)
        return [range(start, stop) for start, stop in pairwise(ends)]


def _slopes(shared: Inducing, coupling: Coupling, a: Array, block: Block, y: Array) -> Slopes:
    """A block's share of the derivatives, dKbm = dV_b L^-1 pulled back at once; uses the block up."""
    Li, V = block.Li, block.V
    residual = y - V @ coupling.alpha
    beta = (Li @ residual) @ Li
    F = block.U
    lower_times(Li, F.T, right=True)  # D^-1 V
    lower_times(coupling.LBinv, F.T)  # R
    G = F @ F.T  # 2 dD
    G -= Li.T @ Li
    G += np.multiply.outer(beta, beta)
    lower_times(coupling.LBinv, F.T, trans=True)  # R LB^-1
    GV = G @ V
    VGV = V.T @ GV
    F += GV
    lower_times(shared.Linv, F.T, trans=True)
    dKbm = np.multiply.outer(beta, a)
    dKbm -= F
    sums = sums_of(block.X_aug, dKbm, block.Kbm, block.slopes_bm)
    outside = shared.kernel.gather(block.X_aug, shared.Z_aug, sums)
    dsigma2 = 0.5 * float(diagonal(G).sum())
    own = own_sums(block.X_aug, G.T, block.K, block.slopes)
    inside = shared.kernel.gather_own(block.X_aug, own)
    return Slopes(
        float(y @ beta),
        VGV,
        outside.ds2_k + 0.5 * inside.ds2_k,
        outside.dell + 0.5 * inside.dell,
        outside.dZ,
        dsigma2,
    )


def _pull_inducing(shared: Inducing, coupling: Coupling, VGV: Array) -> KernelGrad:
    """dKmm = -1/2 L^-T H L^-1 pulled back to the kernel and the inducing inputs."""
    LBinv, alpha = coupling.LBinv, coupling.alpha
    H = np.asfortranarray(LBinv.T @ LBinv - 0.5 * (VGV + VGV.T))
    add_outer(H, alpha, alpha)
    diagonal(H)[...] -= 1.0
    nothing, spare = np.zeros_like(H), np.empty_like(H)
    return shared.kernel.gather_own(shared.Z_aug, shared.own_sums(H, nothing, spare=spare))


Added = TypeVar("Added", Gram, Slopes)


def _summed(parts: Iterable[Added]) -> Added:
    """Field by field, in order."""
    return reduce(lambda left, right: type(left)(*map(operator.add, left, right)), parts)
