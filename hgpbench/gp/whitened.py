"""q of the inducing values in whitened coordinates, v = L^-1 (f_m - mu0) with prior N(0, I), and its steps.

Two coordinates of one normal distribution N(mean, S): ``Natural`` for natural-gradient ascent, ``Rooted`` for
a first-order method. A mini-batch tells either of them the same two things (``Pull``), from which

    dF/dmean = V^T beta - mean,    dF/dS = 1/2 (S^-1 - I - N),    N = V^T diag(omega) V.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hgpbench.la import Array, diagonal, inverse_factor, logdet


class Pull(NamedTuple):
    """The data's wish for q: N (m, m), symmetric and not negative, and V^T beta (m,)."""

    N: Array
    Vbeta: Array


@dataclass(frozen=True, eq=False)
class Whitened:
    """Mean (m,), covariance S (m, m) and log |S|: all that a bound needs of q."""

    mean: Array
    S: Array
    logdet_S: float

    @property
    def kl(self) -> float:
        """KL(q || N(0, I))."""
        spread = float(np.trace(self.S)) - len(self.mean) - self.logdet_S
        return 0.5 * (spread + float(self.mean @ self.mean))


@dataclass(frozen=True, eq=False)
class Natural:
    """Natural parameters theta1 = S^-1 mean (m,) and Lam = S^-1 (m, m), that is theta2 = -Lam / 2."""

    theta1: Array
    Lam: Array
    q: Whitened

    @classmethod
    def of(cls, theta1: Array, Lam: Array) -> "Natural":
        """From natural parameters alone; LinAlgError unless ``Lam`` is positive definite."""
        root = inverse_factor(Lam, max_jitter=0.0).L  # S = root^T root
        S = root.T @ root  # m^3
        return cls(theta1, Lam, Whitened((root @ theta1) @ root, S, logdet(root)))

    @classmethod
    def prior(cls, m: int) -> "Natural":
        """q = p."""
        return cls.of(np.zeros(m), np.eye(m))

    def step(self, pull: Pull, gamma: float) -> "Natural":
        """theta + gamma dF/dpsi, with psi the expectation parameters (paper's step, errata 2 and 3).

        dF/dpsi1 = dF/dmean - 2 dF/dS mean and dF/dPsi2 = dF/dS turn the step into convex combinations with
        the optimum for this batch: as N is not negative, Lam stays positive definite for 0 < gamma <= 1.
        """
        Lam = gamma * pull.N
        Lam += (1.0 - gamma) * self.Lam
        diagonal(Lam)[...] += gamma
        wish = pull.Vbeta + pull.N @ self.q.mean
        return Natural.of((1.0 - gamma) * self.theta1 + gamma * wish, Lam)

    def at(self, mean: Array) -> "Natural":
        """The same covariance about another mean."""
        return Natural(self.Lam @ mean, self.Lam, Whitened(mean, self.q.S, self.q.logdet_S))

    def arrays(self) -> dict[str, Array]:
        """All that ``restored`` needs: the mean as well, which theta1 gives up to round-off only."""
        return {"theta1": self.theta1, "Lam": self.Lam, "mean": self.q.mean}

    @classmethod
    def restored(cls, theta1: Array, Lam: Array, mean: Array) -> "Natural":
        """The same to the last bit, from its ``arrays``."""
        q = cls.of(theta1, Lam).q
        return cls(theta1, Lam, Whitened(mean, q.S, q.logdet_S))


@dataclass(frozen=True, eq=False)
class Rooted:
    """Mean (m,) and lower triangular C (m, m) with S = C C^T: coordinates without a constraint."""

    C: Array
    q: Whitened

    @classmethod
    def of(cls, mean: Array, C: Array) -> "Rooted":
        """From its coordinates."""
        logdet_S = 2.0 * float(np.log(np.abs(np.diagonal(C))).sum())
        return cls(C, Whitened(mean, C @ C.T, logdet_S))

    @classmethod
    def prior(cls, m: int) -> "Rooted":
        """q = p."""
        return cls.of(np.zeros(m), np.eye(m))

    def arrays(self) -> dict[str, Array]:
        """All that ``restored`` needs."""
        return {"mean": self.q.mean, "C": self.C}

    @classmethod
    def restored(cls, mean: Array, C: Array) -> "Rooted":
        """The same to the last bit, from its ``arrays``."""
        return cls.of(mean, C)

    def grad(self, pull: Pull) -> tuple[Array, Array]:
        """dF/dmean (m,) and dF/dC = tril(2 dF/dS C) = tril(C^-T - C - N C) (m, m); no inverse is formed."""
        dC = -np.tril(self.C + pull.N @ self.C)
        diagonal(dC)[...] += 1.0 / np.diagonal(self.C)
        return pull.Vbeta - self.q.mean, dC
