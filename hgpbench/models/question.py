"""What a committee of sparse experts is asked about new points, and who may keep silent there."""

from dataclasses import dataclass

import numpy as np

from hgpbench.gp.committee import Committee, Kind, negligible
from hgpbench.gp.linalg import JITTER, rowdots
from hgpbench.gp.posterior import Posterior
from hgpbench.models.base import Array
from hgpbench.models.initial import Values

CHUNK_BYTES = 32_000_000


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
        near = self.reached(expert)
        if len(near):
            committee.add(near, *expert.moments(self.Xs[near]))

    def reached(self, expert: Posterior) -> np.ndarray:
        """The points where an expert may matter: all but those whose covariances k* are tiny.

        It explains k*^T S k* <= |k*|^2 |S| of the prior variance, with S = L^-T (I - B^-1) L^-1, and its mean
        is off the prior's by k*^T a <= |k*| |a|: both must be negligible.
        """
        everywhere = np.arange(len(self.Xs))
        if self.tolerance == 0.0:
            return everywhere
        share = negligible(self.kind, self.tolerance, self.n_experts, self.energy)
        S = expert.Linv.T @ expert.Linv - expert.root.T @ expert.root  # (m, m)
        largest = max(float(np.linalg.norm(S)), float(expert.a @ expert.a) / self.energy, 1e-300)
        silent = share * expert.kd / largest
        chunk = max(32, CHUNK_BYTES // (8 * len(expert.Z)))
        heard = []
        for start in range(0, len(self.Xs), chunk):
            Ksm = expert.kernel.cross(self.Xs[start : start + chunk], expert.Z)
            heard.append(start + np.flatnonzero(rowdots(Ksm, Ksm) > silent))
        return np.concatenate(heard)
