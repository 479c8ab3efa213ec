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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from hgpbench.gp.block import Block, BlockPosterior, answers
from hgpbench.gp.inducing import Inducing
from hgpbench.gp.kernels import SEARD, Family, KernelGrad, own_sums, sums_of
from hgpbench.gp.params import Bound
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import JITTER, Array, add_outer, diagonal, inverse_factor, logdet, lower_times

LOG_2PI = float(np.log(2.0 * np.pi))
POSITIVE = ("s2_k", "ell", "sigma2")
"""Parameters that an optimiser should see as logarithms; the other one is ``Xm``."""

BUNDLES = 16  # groups of blocks that are summed on their own: more of them than of workers
KEEP_BYTES = 1_000_000_000  # blocks are kept for the second pass where all fit: saves 10 to 20 % of the time


class Point(NamedTuple):
    """Parameters at which blocks are worked through, and what all blocks have in common there."""

    values: dict[str, Array]
    jitter: float
    shared: Inducing
    sigma2: float

    @classmethod
    def of(cls, family: Family, values: dict[str, Array], jitter: float = JITTER) -> "Point":
        """At these values, with this jitter on the prior."""
        kernel = family(float(values["s2_k"]), values["ell"])
        return cls(values, jitter, Inducing.of(kernel, values["Xm"], jitter), float(values["sigma2"]))


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
class Bundle:
    """Consecutive blocks, block b at ``starts[b]:starts[b + 1]``, and those that wait for the second pass."""

    X: Array
    y: Array
    starts: Sequence[int]
    keeps: bool
    _kept: dict[int, Block] = field(default_factory=dict)

    def gram(self, point: Point) -> Gram:
        """The sums of the first pass over these blocks."""
        self._kept.clear()
        return summed(map(partial(self._gram, point), range(len(self.starts) - 1)))

    def slopes(self, point: Point, coupling: Coupling) -> Slopes:
        """Those of the second pass, at the point of the first."""
        a = coupling.alpha @ point.shared.Linv
        return summed(map(partial(self._slopes, point, coupling, a), range(len(self.starts) - 1)))

    def _gram(self, point: Point, b: int) -> Gram:
        X, y = self._rows(b)
        block = Block(point.shared, X, point.sigma2)
        if self.keeps:
            self._kept[b] = block
        return Gram(block.U.T @ block.U, (block.Li @ y) @ block.U, -logdet(block.Li))

    def _slopes(self, point: Point, coupling: Coupling, a: Array, b: int) -> Slopes:
        X, y = self._rows(b)
        block = self._kept.pop(b) if b in self._kept else Block(point.shared, X, point.sigma2)
        return _slopes(point.shared, coupling, a, block, y)

    def _rows(self, b: int) -> tuple[Array, Array]:
        rows = slice(self.starts[b], self.starts[b + 1])
        return self.X[rows], self.y[rows]


def edges(starts: Sequence[int]) -> list[int]:
    """Where bundles begin and end, by the number of a block; they do not depend on who works."""
    M = len(starts) - 1
    ends: list[int] = np.linspace(0, M, min(M, BUNDLES) + 1).astype(int).tolist()
    return ends


def fit_in_memory(sizes: Array, m: int, family: Family) -> bool:
    """Whether the matrices of blocks, three (b, m) and two (b, b) each, are few enough to keep.

    Slopes of their own are one more of either kind.
    """
    more = float(family.slopes_apart)
    return bool(8.0 * sizes @ ((3.0 + more) * m + (2.0 + more) * sizes) <= KEEP_BYTES)


class Work(Protocol):
    """Who has the rows of all bundles; answers are in the order of these."""

    def grams(self, point: Point) -> list[Gram]:
        """``Bundle.gram`` of each."""

    def slopes(self, point: Point, coupling: Coupling) -> list[Slopes]:
        """``Bundle.slopes`` of each."""


class Here(NamedTuple):
    """This process, by threads."""

    bundles: Sequence[Bundle]
    run: Run

    def grams(self, point: Point) -> list[Gram]:
        """See ``Work``."""
        return answers(self.run, lambda bundle: bundle.gram(point), self.bundles)

    def slopes(self, point: Point, coupling: Coupling) -> list[Slopes]:
        """See ``Work``."""
        return answers(self.run, lambda bundle: bundle.slopes(point, coupling), self.bundles)


def evidence(work: Work, n: int, point: Point) -> Bound:
    """log N(y | 0, Q + D) of ``n`` rows with derivatives by ``s2_k``, ``ell`` (d,), ``Xm`` and ``sigma2``."""
    shared, coupling = point.shared, coupled(work.grams(point))
    total = summed(work.slopes(point, coupling))
    value = -0.5 * (n * LOG_2PI + coupling.logdet + total.quadratic)
    grad = _pull_inducing(shared, coupling, total.VGV)
    grads = {
        "s2_k": np.asarray(grad.ds2_k + total.ds2_k),
        "ell": grad.dell + total.dell,
        "Xm": grad.dZ + total.dZ,
        "sigma2": np.asarray(total.dsigma2),
    }
    return Bound(value, grads, shared.jitter)


def coupled(grams: Iterable[Gram]) -> Coupling:
    """What the first pass over all bundles says."""
    total = summed(grams)
    B = total.N
    diagonal(B)[...] += 1.0
    LBinv = inverse_factor(B, max_jitter=0.0).L
    return Coupling(LBinv, (LBinv @ total.c) @ LBinv, total.logdet_D - logdet(LBinv))


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
        sizes = np.diff(self.starts).astype(float)
        keeps = fit_in_memory(sizes, len(values["Xm"]), self.family)
        return evidence(self._here(keeps), len(self.y), Point.of(self.family, values, jitter))

    def posterior(self, values: dict[str, Array], jitter: float = JITTER) -> BlockPosterior:
        """The posterior at these parameters; the matrices of blocks are made again when they are needed."""
        point = Point.of(self.family, values, jitter)
        return posterior(point, coupled(self._here(False).grams(point)), self.X, self.y, self.starts)

    def _here(self, keeps: bool) -> Here:
        bundles = [
            Bundle(self.X, self.y, self.starts[first : last + 1], keeps)
            for first, last in pairwise(edges(self.starts))
        ]
        return Here(bundles, self.run)


def posterior(point: Point, coupling: Coupling, X: Array, y: Array, starts: Sequence[int]) -> BlockPosterior:
    """That of blocks so coupled."""
    return BlockPosterior(point.shared, X, y, starts, point.sigma2, coupling.LBinv, coupling.alpha)


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


def summed(parts: Iterable[Added]) -> Added:
    """Field by field, in order."""
    return reduce(lambda left, right: type(left)(*map(operator.add, left, right)), parts)
