"""What an expert says at new points, whom to ask, and what of it is kept from one prediction to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hgpbench.columns import Array
from hgpbench.experts.expert import Expert
from hgpbench.experts.reach import Boxes, Reach
from hgpbench.experts.recent import Recent
from hgpbench.gp.committee import Committee
from hgpbench.gp.kernels import Stationary
from hgpbench.gp.posterior import Posterior
from hgpbench.la import JITTER

SMALLEST = float(np.finfo(float).tiny)  # of a norm to divide by
MARGIN = 0.5  # of a bound that must hold whatever the round-off
POINTS = {"f": "Xm", "g": "Xu"}


class Voice(NamedTuple):
    """q(f*) or q(g*) of an expert, and what it can say at most.

    It explains k*^T S k* <= |k*|^2 |S| of the prior variance, with S = L^-T (I - B^-1) L^-1, and its mean
    is off the prior's by k*^T a <= |k*| |a|: ``stiffness`` is |S|, ``pull`` is |a|^2.
    """

    posterior: Posterior
    stiffness: float
    pull: float

    @classmethod
    def of(cls, posterior: Posterior) -> "Voice":
        """That of this posterior: m^3 flops."""
        S = posterior.Linv.T @ posterior.Linv - posterior.root.T @ posterior.root  # (m, m)
        return cls(posterior, float(np.linalg.norm(S)), float(posterior.a @ posterior.a))

    def silence(self, reach: Reach) -> float:
        """The largest |k*|^2 of covariances with its inducing values at which it may be left out."""
        largest = max(self.stiffness, self.pull / reach.energy, SMALLEST)
        return reach.share * self.posterior.kd / largest

    def tell(self, committee: Committee, reach: Reach) -> None:
        """Add its moments at the points where it is not silent."""
        silent = self.silence(reach)
        points = reach.near(self.posterior.Z, self.posterior.kernel, silent)
        if len(points):
            committee.add(points, *self.posterior.moments(reach.Xs[points], silent))


class Voices(dict[str, Voice]):
    """Those of one expert, by letter."""

    def tell(self, committees: Mapping[str, Committee], reach: Reach) -> None:
        """Add what it says of f and g to their committees, or of y = f + noise to that one."""
        for letter, committee in committees.items():
            if letter == "y":
                f, f_var = self["f"].posterior.moments(reach.Xs)
                g, g_var = self["g"].posterior.moments(reach.Xs)
                committee.add(slice(None), f, f_var + np.exp(g + 0.5 * g_var))
            else:
                self[letter].tell(committee, reach)

    @property
    def nbytes(self) -> int:
        """Bytes of their matrices."""
        return sum(voice.posterior.nbytes for voice in self.values())


@dataclass(frozen=True, eq=False)
class Outline:
    """Where the inducing points of all experts lie, and what each of them can say at most, (M,) each.

    An expert that nobody has asked yet has the bounds that hold for all: with the jitter in Kmm, |Kmm^-1|
    is below 1 / (jitter s2_k), and so is |S|_2; |a|^2 is below |w|^2 times that for the whitened mean w,
    and that of f has |w|^2 < energy. Who is silent by these is not built, and would have changed no bit.
    """

    boxes: Boxes
    kernel: Stationary
    stiffness: Array
    pull: Array

    @classmethod
    def of(cls, letter: str, kernel: Stationary, experts: Mapping[int, Expert], n_experts: int) -> "Outline":
        """That of these experts by number; the others have no points."""
        low, high = np.zeros((2, n_experts, len(kernel.ell)))
        counts, means = np.zeros((2, n_experts))
        for number, expert in experts.items():
            Z, w = expert.values[POINTS[letter]], expert.values["w"]
            low[number], high[number], counts[number] = Z.min(axis=0), Z.max(axis=0), len(Z)
            means[number] = 0.0 if letter == "f" else w @ w
        largest = 1.0 / (MARGIN * JITTER * kernel.s2_k)
        return cls(Boxes(low, high, counts), kernel, largest * np.sqrt(counts), largest * means)

    def learn(self, number: int, voice: Voice) -> None:
        """From now on this expert is asked only where it says something."""
        self.stiffness[number], self.pull[number] = voice.stiffness, voice.pull

    def within(self, reach: Reach) -> NDArray[np.bool_]:
        """Which experts to ask, (M,)."""
        largest = np.maximum(np.maximum(self.stiffness, self.pull / reach.energy), SMALLEST)
        return reach.within(self.boxes, self.kernel, reach.share * self.kernel.s2_k / largest)


@dataclass(eq=False)
class Kept:
    """What predictions of the same experts share; a copy of it, or a pickle, knows nothing."""

    voices: Recent[Voices] = field(default_factory=Recent)
    outlines: dict[str, Outline] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()
