"""Exact-GP experts that share their hyper-parameters: evidence for training, committee sums for prediction.

Questions name lanes of experts (see ``pool``) and are answered with one sum per lane, over its experts in
order. Factors are made when needed, and a limited number of them is kept for the next prediction: those of
2,000 experts with 1,000 rows would fill 16 GB.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.columns import Array
from hgpbench.experts.contribution import Contribution, missing, total
from hgpbench.experts.memory import CHUNK, Needs
from hgpbench.experts.reach import Boxes, Reach
from hgpbench.experts.recent import Recent
from hgpbench.experts.rows import Numbers, Rows, Shares
from hgpbench.fitting.values import Values
from hgpbench.gp.committee import Kind
from hgpbench.gp.exact import ExactPosterior, ExactProblem
from hgpbench.gp.kernels import SEARD, Family, Stationary
from hgpbench.gp.params import Bound, Layout
from hgpbench.la import JITTER

LANES = 64  # more workers than this would stand idle


def lanes(rows: Rows) -> range:
    """The lanes of these experts."""
    return range(min(len(rows.sizes), LANES))


def flops(rows: Rows, s: int = 0) -> float:
    """What the factors of all experts cost, and variances at ``s`` points from each of them."""
    sizes = rows.sizes.astype(float)
    return float((sizes**3).sum() / 3.0 + s * (sizes**2).sum())


def needs(rows: Rows) -> Needs:
    """The memory that a committee of these experts takes: of each, A and its inverse factor."""
    return Needs(
        expert=4 * 8 * int(rows.sizes.max()) ** 2,
        model=0,
        sums=3 * (len(lanes(rows)) + 2),
        inputs=rows.X.shape[1],
    )


def boxes(rows: Shares, numbers: Iterable[int]) -> Boxes:
    """The boxes of the rows of these experts; the others have none."""
    low, high = np.zeros((2, len(rows.sizes), rows.n_inputs))
    counts = np.zeros(len(rows.sizes))
    for number in numbers:
        X, y = rows.of(number)
        low[number], high[number], counts[number] = X.min(axis=0), X.max(axis=0), len(y)
    return Boxes(low, high, counts)


def reach(rows: Rows, kind: Kind, Xs: Array, tolerance: float, values: Values) -> Reach:
    """What a committee of these experts is asked; an expert has y^T A^-1 y <= |y|^2 / noise."""
    energy = float(np.max(np.add.reduceat(rows.y**2, rows.starts[:-1]))) / least_noise(values)
    return Reach(kind, Xs, tolerance, energy, len(rows.sizes))


def least_noise(values: Values) -> float:
    """A >= this times I, whatever the rows."""
    return float(values["sigma2"]) + JITTER * float(values["s2_k"])


class ExactOwner:
    """The experts of a worker: what the model may ask about them. It keeps nothing but their rows.

    ``recent`` are posteriors, at the values that it is asked about, that earlier predictions have left.
    """

    def __init__(
        self, rows: Shares, family: Family = SEARD, recent: Recent[ExactPosterior] | None = None
    ) -> None:
        self._rows, self._family, self._recent = rows, family, recent

    def evidence(self, numbers: Numbers, n_lanes: int, values: Values) -> list[Contribution]:
        """Log evidence of the experts of each lane, with derivatives: n_i^3 flops each."""
        return [self._evidence(self._members(lane, n_lanes), values) for lane in numbers]

    def confer(
        self, numbers: Numbers, n_lanes: int, values: Values, reach: Reach, chunk: int = CHUNK
    ) -> list[Array]:
        """The committee sums (3, s) of each lane; covariances take ``chunk`` bytes at a time.

        Per expert n_i^3 / 3 flops, then n_i^2 for each point where it is not silent.
        """
        # With A >= noise I, an expert explains k*^T A^-1 k* <= |k*|^2 / noise of the prior variance.
        kernel = self._kernel(values)
        silent = reach.share * kernel.s2_k * least_noise(values)
        members = [number for lane in numbers for number in self._members(lane, n_lanes)]
        asked = reach.within(boxes(self._rows, members), kernel, silent)
        sums = []
        for lane in numbers:
            experts = [number for number in self._members(lane, n_lanes) if asked[number]]
            sums.append(self._confer(experts, values, reach, silent, chunk))
        return sums

    def _kernel(self, values: Values) -> Stationary:
        return self._family(float(values["s2_k"]), values["ell"])

    def _members(self, lane: int, n_lanes: int) -> range:
        return range(lane, len(self._rows.sizes), n_lanes)

    def _evidence(self, experts: Iterable[int], values: Values) -> Contribution:
        """The sum over these experts; not a number where the evidence of one cannot be evaluated."""
        layout = Layout.of(values)
        heard = [Contribution(0.0, 0.0, np.zeros(layout.size))]
        for number in experts:
            try:
                with np.errstate(all="ignore"):
                    bound = ExactProblem(*self._rows.of(number), self._family).evidence(values)
            except LinAlgError:
                return missing(layout.size)
            heard.append(Contribution(bound.value, bound.jitter, layout.pack(bound.grads)))
        return total(heard)

    def _confer(
        self, experts: Iterable[int], values: Values, reach: Reach, silent: float, chunk: int
    ) -> Array:
        """The sums over these experts, each of them silent where |k*|^2 <= ``silent``."""
        kernel = self._kernel(values)
        committee = reach.committee(0.0, kernel.s2_k)
        recent = self._recent or Recent()
        for number in experts:
            X, y = self._rows.of(number)
            points = reach.near(X, kernel, silent)
            if len(points):
                posterior = recent.obtain(number, partial(_posterior, X, y, self._family, values))
                committee.add(points, *posterior.moments(reach.Xs[points], silent, chunk))
        return committee.sums


def _posterior(X: Array, y: Array, family: Family, values: Values) -> ExactPosterior:
    return ExactProblem(X, y, family).posterior(values)


def evidence(answers: Sequence[Contribution], values: Values, scale: float = 1.0) -> Bound:
    """The evidence of all lanes, added in order, times ``scale``."""
    summed = total(answers)
    return Bound(scale * summed.value, Layout.of(values).unpack(scale * summed.grad), summed.jitter)
