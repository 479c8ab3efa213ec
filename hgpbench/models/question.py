"""What a committee of sparse experts is asked about new points, and who may keep silent there."""

from dataclasses import dataclass

import numpy as np

from hgpbench.columns import Array
from hgpbench.fitting.values import Values
from hgpbench.gp.committee import Committee, Kind, negligible
from hgpbench.gp.posterior import Posterior
from hgpbench.la.dense import JITTER, rowdots
from hgpbench.models.partition import Index

SMALLEST = float(np.finfo(float).tiny)  # of a norm to divide by


@dataclass(frozen=True, eq=False)
class Question:
    """Points ``Xs`` for a committee about each of ``letters`` (f, g), of which experts may leave some out.

    ``tolerance`` is how far silence may move the answer (see ``committee.negligible``), zero for no silence;
    ``energy`` bounds the squared means of an expert, ``n_experts`` how many may be silent at once.
    """

    letters: str
    kind: Kind
    Xs: Array
    tolerance: float
    energy: float
    n_experts: int

    def committees(self, shared: Values) -> dict[str, Committee]:
        """Committees that have heard nobody yet."""
        means = {"f": 0.0, "g": float(shared["mu0"])}
        # The prior of an expert carries its jitter.
        priors = {letter: float(shared[f"s2_k{letter}"]) * (1.0 + JITTER) for letter in self.letters}
        return {
            letter: Committee(self.kind, len(self.Xs), means[letter], priors[letter])
            for letter in self.letters
        }

    def hear(self, committee: Committee, expert: Posterior) -> None:
        """Add an expert's moments at the points where it is not silent."""
        if self.tolerance == 0.0:
            committee.add(slice(None), *expert.moments(self.Xs))
            return
        silent = self.silent(expert)
        near = self.near(expert, silent)
        if len(near):
            committee.add(near, *expert.moments(self.Xs[near], silent))

    def silent(self, expert: Posterior) -> float:
        """The largest |k*|^2 of covariances with an expert's inducing values at which it may be left out.

        It explains k*^T S k* <= |k*|^2 |S| of the prior variance, with S = L^-T (I - B^-1) L^-1, and its mean
        is off the prior's by k*^T a <= |k*| |a|: both must be negligible.
        """
        share = negligible(self.kind, self.tolerance, self.n_experts, self.energy)
        S = expert.Linv.T @ expert.Linv - expert.root.T @ expert.root  # (m, m)
        largest = max(float(np.linalg.norm(S)), float(expert.a @ expert.a) / self.energy, SMALLEST)
        return share * expert.kd / largest

    def near(self, expert: Posterior, silent: float) -> Index:
        """The points where |k*|^2 may exceed ``silent``, by their distance D to the box of inducing inputs.

        None of them is nearer than the box, so |k*|^2 <= m s2_k^2 exp(-D^2), D in lengthscales.
        """
        Z, kernel = expert.Z, expert.kernel
        gap = np.maximum(Z.min(axis=0) - self.Xs, self.Xs - Z.max(axis=0))
        gap = np.maximum(gap, 0.0) / kernel.ell
        reach = np.log(len(Z) * kernel.s2_k**2) - rowdots(gap, gap)
        return np.flatnonzero(reach > np.log(silent))
