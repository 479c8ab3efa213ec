"""The partially independent conditional (PIC): an inducing-point prior that is exact inside blocks of rows.

Snelson and Ghahramani (2007): log N(y | 0, Q + D), with Q = V V^T as everywhere and D block diagonal,

    D_b = K_bb - Q_bb + sigma2 I,    B = I + sum_b V_b^T D_b^-1 V_b,    alpha = B^-1 sum_b V_b^T D_b^-1 y_b.

FITC is its limit of blocks of one row, the exact GP that of one block. Only sums over blocks couple them, so
blocks are worked through one at a time, twice: for B and alpha, then for the derivatives. With the derivative
1/2 (beta beta^T - (Q + D)^-1) by Q + D and beta = D^-1 (y - V alpha), all that is needed is

    2 dD_b = beta_b beta_b^T - D_b^-1 + R_b R_b^T,    R_b = D_b^-1 V_b LB^-T
    dV_b   = beta_b alpha^T - R_b LB^-1 - 2 dD_b V_b
    H      = sum_b dV_b^T V_b = alpha alpha^T - I + B^-1 - sum_b V_b^T 2 dD_b V_b

Blocks are added up in bundles, and bundles in their order: the same bits whoever computes them.
"""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from hgpbench.gp.block import Block, Inducing, answers
from hgpbench.gp.block_posterior import BlockPosterior
from hgpbench.gp.kernels import KernelGrad
from hgpbench.gp.linalg import JITTER, Array, diagonal, inverse_factor, logdet
from hgpbench.gp.params import Bound
from hgpbench.gp.tasks import Run, serially
from hgpbench.gp.unlocked import trmm

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
    """Rows ``X`` (n, d) and targets ``y`` (n,), block b at ``starts[b]:starts[b + 1]``, and who computes."""

    X: Array
    y: Array
    starts: Sequence[int]
    run: Run = serially

    def evidence(self, values: dict[str, Array], jitter: float = JITTER) -> Bound:
        """log N(y | 0, Q + D) with derivatives by ``s2_k``, ``ell`` (d,), ``Xm`` (m, d) and ``sigma2``.

        About 16 n m^2 flops for blocks of m rows. Memory for ``KEEP_BYTES`` of blocks, or one a worker.
        """
        shared, sigma2 = Inducing.of(values, jitter), float(values["sigma2"])
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
        shared, sigma2 = Inducing.of(values, jitter), float(values["sigma2"])
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
        """Whether the matrices of all blocks, three (b, m) and two (b, b) each, are few enough to keep."""
        sizes = np.diff(self.starts).astype(float)
        return bool(8.0 * sizes @ (3.0 * m + 2.0 * sizes) <= KEEP_BYTES)

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
    trmm(Li, F.T, right=True)  # D^-1 V
    trmm(coupling.LBinv, F.T)  # R
    G = F @ F.T  # 2 dD
    G -= Li.T @ Li
    G += np.multiply.outer(beta, beta)
    trmm(coupling.LBinv, F.T, trans=True)  # R LB^-1
    GV = G @ V
    VGV = V.T @ GV
    F += GV
    trmm(shared.Linv, F.T, trans=True)
    W = np.multiply.outer(beta, a)
    W -= F
    W *= block.Kbm
    outside = shared.kernel.gather(block.X_aug, shared.Z_aug, W.sum(axis=1), W.T @ block.X_aug)
    dsigma2 = 0.5 * float(diagonal(G).sum())
    G *= block.K
    inside = shared.kernel.gather_sym(block.X_aug, G.T)
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
    LBinv, alpha, Linv = coupling.LBinv, coupling.alpha, shared.Linv
    H = LBinv.T @ LBinv - 0.5 * (VGV + VGV.T)
    H += np.multiply.outer(alpha, alpha)
    diagonal(H)[...] -= 1.0
    W = Linv.T @ H @ Linv
    W *= -0.5 * shared.Kmm
    return shared.kernel.gather_sym(shared.Z_aug, W.T)


Sums = TypeVar("Sums", Gram, Slopes)


def _summed(parts: Iterable[Sums]) -> Sums:
    """Field by field, in order."""
    return reduce(lambda left, right: type(left)(*map(operator.add, left, right)), parts)
