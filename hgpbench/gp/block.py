"""One block of rows of a partially independent conditional, and what all blocks share.

With V_b = Kbm L^-T whitened, so that Q_bb = V_b V_b^T, a block has D_b = K_bb - Q_bb + sigma2 I and D_b^-1 =
Li^T Li. The large products run without the interpreter's lock, so that blocks may have threads of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from hgpbench.gp.kernels import SEARD
from hgpbench.gp.linalg import JITTER, Array, diagonal, inverse_factor
from hgpbench.gp.passes import exponential
from hgpbench.gp.tasks import Run
from hgpbench.gp.unlocked import trmm

A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Inducing:
    """What all blocks share: kernel, inducing inputs, Kmm (m, m) and the inverse of its factor."""

    kernel: SEARD
    Z: Array
    Z_aug: Array
    Kmm: Array
    Linv: Array
    jitter: float

    @classmethod
    def of(cls, values: dict[str, Array], jitter: float = JITTER) -> "Inducing":
        """At these parameters; the jitter belongs to the prior, so Kmm carries it."""
        kernel, Z = SEARD(float(values["s2_k"]), values["ell"]), values["Xm"]
        Kmm = kernel.gram(Z)
        factor = inverse_factor(Kmm, kernel.s2_k, jitter)
        diagonal(Kmm)[...] = kernel.s2_k * (1.0 + factor.jitter)
        return cls(kernel, Z, kernel.augment(Z, Z.mean(axis=0)), Kmm, factor.L, factor.jitter)

    @property
    def kd(self) -> float:
        """The prior variance of a row, nugget included."""
        return self.kernel.s2_k * (1.0 + self.jitter)

    def augment(self, X: Array) -> Array:
        """Rows of ``X`` as the kernel's products want them."""
        return self.kernel.augment(X, self.Z.mean(axis=0))

    def project(self, X_aug: Array) -> tuple[Array, Array]:
        """Kbm and V = Kbm L^-T, both (b, m): b m^2 flops."""
        Kbm = np.matmul(X_aug, self.kernel.dual(self.Z_aug).T)
        exponential(Kbm)
        V = Kbm.copy()
        trmm(self.Linv, V.T)
        return Kbm, V


class Block:
    """The matrices of one block at given parameters: K (b, b), Kbm, V, U = Li V (b, m) and Li (b, b)."""

    def __init__(self, shared: Inducing, X: Array, sigma2: float) -> None:
        self.X_aug = shared.augment(X)
        self.Kbm, self.V = shared.project(self.X_aug)
        self.K = np.matmul(self.X_aug, shared.kernel.dual(self.X_aug).T)
        exponential(self.K)
        diagonal(self.K)[...] = shared.kd
        D = self.K - self.V @ self.V.T
        diagonal(D)[...] += sigma2
        # The nugget of the prior is in D already; where even that is not enough, the step is rejected.
        self.Li = inverse_factor(D, max_jitter=0.0, out=np.empty(D.shape, order="F")).L
        self.U = self.V.copy()
        trmm(self.Li, self.U.T, right=True, trans=True)


def answers(run: Run, function: Callable[[A], T], items: Sequence[A]) -> list[T]:
    """``function`` of each item, in order, whoever computes it.

    Threads do not inherit that overflow is to be quiet; the optimiser judges what comes out.
    """
    found: dict[int, T] = {}

    def work(place: int) -> None:
        with np.errstate(all="ignore"):
            found[place] = function(items[place])

    run([partial(work, place) for place in range(len(items))])
    return [found[place] for place in range(len(items))]
