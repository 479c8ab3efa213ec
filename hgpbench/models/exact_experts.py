"""Exact-GP experts that share their hyper-parameters: evidence for training, committee sums for prediction.

Questions name lanes of experts (see ``workers``) and are answered with one sum per lane, over its experts in
order. Factors are made when needed and forgotten: those of 2,000 experts with 1,000 rows would fill 16 GB.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.columns import Array
from hgpbench.fitting.values import Values
from hgpbench.gp.committee import Committee, Kind, negligible
from hgpbench.gp.exact import ExactProblem
from hgpbench.gp.params import Bound, Layout
from hgpbench.la.dense import JITTER
from hgpbench.models.memory import CHUNK, Needs
from hgpbench.models.partition import Index
from hgpbench.models.shard import Numbers, Rows

LANES = 64  # more workers than this would stand idle


def drawn(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """Experts drawn at random while they have at most ``most`` rows in all; at least one."""
    order = rng.permutation(len(rows.sizes))
    enough = max(1, int(np.searchsorted(np.cumsum(rows.sizes[order]), most, side="right")))
    chosen = np.sort(order[:enough])
    parts = [rows.of(number) for number in chosen]
    starts = np.concatenate([[0], np.cumsum(rows.sizes[chosen])])
    return Rows(np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts]), starts)


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


@dataclass(frozen=True, eq=False)
class Question:
    """What a committee asks its experts about the points ``Xs``.

    An expert counts as silent at a point whose covariances k* with its rows have |k*|^2 <= ``silent``;
    covariances take ``chunk`` bytes at a time.
    """

    kind: Kind
    Xs: Array
    values: Values
    silent: float
    chunk: int = CHUNK

    @classmethod
    def within(
        cls, tolerance: float, rows: Rows, kind: Kind, Xs: Array, values: Values, chunk: int = CHUNK
    ) -> "Question":
        """A question whose silences move the answer by no more than ``tolerance`` (see ``negligible``).

        With A >= noise I, an expert explains k*^T A^-1 k* <= |k*|^2 / noise of the prior variance, and has
        y^T A^-1 y <= |y|^2 / noise.
        """
        s2_k = float(values["s2_k"])
        noise = float(values["sigma2"]) + JITTER * s2_k
        energy = float(np.max(np.add.reduceat(rows.y**2, rows.starts[:-1]))) / noise
        share = negligible(kind, tolerance, len(rows.sizes), energy)
        return cls(kind, Xs, values, share * s2_k * noise, chunk)

    def committee(self) -> Committee:
        """A committee that has heard nobody yet; its prior is that of ``gp.exact``, jitter included."""
        return Committee(self.kind, len(self.Xs), 0.0, float(self.values["s2_k"]) * (1.0 + JITTER))

    def reached(self, X: Array) -> Index:
        """The points where an expert with the rows ``X`` may not be silent, by their distance D to its box.

        No row is nearer than the box, so |k*|^2 <= n_i s2_k^2 exp(-D^2), D in lengthscales.
        """
        gap = np.maximum(X.min(axis=0) - self.Xs, self.Xs - X.max(axis=0))
        np.maximum(gap, 0.0, out=gap)
        gap /= self.values["ell"]
        reach = len(X) * float(self.values["s2_k"]) ** 2 * np.exp(-np.square(gap, out=gap).sum(axis=1))
        return np.flatnonzero(reach > self.silent)


class ExactShard:
    """The experts of a worker: what the model may ask about them. It keeps nothing but their rows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def evidence(self, numbers: Numbers, n_lanes: int, values: Values) -> list[Array]:
        """Log evidence of the experts of each lane, with derivatives: n_i^3 flops each. See ``total``."""
        return [self._evidence(self._members(lane, n_lanes), values) for lane in numbers]

    def confer(self, numbers: Numbers, n_lanes: int, question: Question) -> list[Array]:
        """The committee sums (3, s) of each lane at the points of a question.

        Per expert n_i^3 / 3 flops, then n_i^2 for each point where it is not silent.
        """
        return [self._confer(self._members(lane, n_lanes), question) for lane in numbers]

    def _members(self, lane: int, n_lanes: int) -> range:
        return range(lane, len(self._rows.sizes), n_lanes)

    def _evidence(self, experts: Iterable[int], values: Values) -> Array:
        """The sum of jitter, value and derivatives; not a number where the evidence cannot be evaluated."""
        found = np.zeros(2 + Layout.of(values).size)
        for number in experts:
            try:
                with np.errstate(all="ignore"):
                    bound = ExactProblem(*self._rows.of(number)).evidence(values)
            except LinAlgError:
                return np.full_like(found, np.nan)
            found[0] = max(found[0], bound.jitter)
            found[1] += bound.value
            found[2:] += Layout.of(values).pack(bound.grads)
        return found

    def _confer(self, experts: Iterable[int], question: Question) -> Array:
        committee = question.committee()
        for number in experts:
            X, y = self._rows.of(number)
            points = question.reached(X)
            if len(points):
                posterior = ExactProblem(X, y).posterior(question.values)
                committee.add(
                    points, *posterior.moments(question.Xs[points], question.silent, question.chunk)
                )
        return committee.sums


def total(answers: Sequence[Array], values: Values, scale: float = 1.0) -> Bound:
    """The evidence of all lanes, added in order, times ``scale``."""
    found = scale * np.sum(answers, axis=0)
    grads = Layout.of(values).unpack(found[2:])
    return Bound(float(found[1]), grads, float(max(answer[0] for answer in answers)))
