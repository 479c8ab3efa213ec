"""What a committee of experts is asked about new points, and who may keep silent there."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hgpbench.columns import Array
from hgpbench.experts.rows import Index
from hgpbench.gp.committee import Committee, Kind, negligible
from hgpbench.gp.kernels import Stationary
from hgpbench.la import JITTER


class Boxes(NamedTuple):
    """The boxes of experts' points: lower and upper corners, each (M, d), and how many points, (M,)."""

    low: Array
    high: Array
    counts: Array


@dataclass(frozen=True, eq=False)
class Reach:
    """Points ``Xs`` for a committee, and how far the silence of experts may move its answer.

    ``tolerance`` is that far (see ``committee.negligible``), zero for no silence; ``energy`` bounds the
    squared means of an expert, ``n_experts`` how many may be silent at once. An expert counts as silent at a
    point by |k*|^2 of the covariances k* with its points: each kind of expert knows up to which.
    """

    kind: Kind
    Xs: Array
    tolerance: float
    energy: float
    n_experts: int

    @property
    def share(self) -> float:
        """The share of the prior variance that an expert may explain where it is silent."""
        return negligible(self.kind, self.tolerance, self.n_experts, self.energy)

    def committee(self, prior_mean: float, s2_k: float) -> Committee:
        """A committee that has heard nobody yet; the prior of experts carries their jitter."""
        return Committee(self.kind, len(self.Xs), prior_mean, s2_k * (1.0 + JITTER))

    def near(self, Z: Array, kernel: Stationary, silent: float) -> Index:
        """Where an expert with the points ``Z`` may have |k*|^2 > ``silent``, by the distance to their box.

        None of them is nearer than the box and covariances fall with distance, so |k*|^2 <= m k(q)^2, with q
        the squared distance to the box in lengthscales.
        """
        if self.tolerance == 0.0:
            return np.arange(len(self.Xs))
        gap = np.maximum(Z.min(axis=0) - self.Xs, self.Xs - Z.max(axis=0))
        return np.flatnonzero(_largest(gap, len(Z), kernel) > silent)

    def within(self, boxes: Boxes, kernel: Stationary, silent: Array | float) -> NDArray[np.bool_]:
        """Which experts may have a point ``near``, by the distances of their boxes to that of all points."""
        if self.tolerance == 0.0 or not len(self.Xs):
            return np.full(len(boxes.counts), True)
        gap = np.maximum(boxes.low - self.Xs.max(axis=0), self.Xs.min(axis=0) - boxes.high)
        return _largest(gap, boxes.counts, kernel) > silent


def _largest(gap: Array, count: Array | int, kernel: Stationary) -> Array:
    """A bound on |k*|^2 for ``count`` points beyond these gaps to their box; uses ``gap`` (s, d) up."""
    np.maximum(gap, 0.0, out=gap)
    gap /= kernel.ell
    return count * kernel.at(np.square(gap, out=gap).sum(axis=1)) ** 2
