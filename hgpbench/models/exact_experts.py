"""Exact-GP experts that share their hyper-parameters: evidence for training, committee sums for prediction.

Expert i is in lane i mod 64, whoever computes it. A question about a lane is answered with a sum over its
experts, in order, and lanes are added in order, so that any number of workers gives the same bits. Factors
are made when needed and forgotten: those of 2,000 experts with 1,000 rows each would fill 16 GB.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from hgpbench.gp.committee import Committee, Kind, negligible
from hgpbench.gp.exact import ExactProblem
from hgpbench.gp.linalg import JITTER
from hgpbench.gp.params import Bound
from hgpbench.models.base import Array
from hgpbench.models.initial import Values
from hgpbench.models.partition import Index, Partition
from hgpbench.models.threads import allowed

LANES = 64  # more workers than this would stand idle
WORTHWHILE = 1e11  # flops, some seconds of a core, below which processes would take longer to start
Ask = Callable[[Callable[..., Any], "Experts", Any], Iterator[Any]]
"""Calls a task with (experts, what, lane) for every lane."""


@dataclass(frozen=True, eq=False)
class Experts:
    """Training rows, those of an expert together: expert i has rows ``starts[i]`` to ``starts[i + 1]``."""

    X: Array
    y: Array
    starts: Index

    @classmethod
    def of(cls, X: Array, y: Array, partition: Partition) -> "Experts":
        """Gather the rows of each expert."""
        return cls(X[partition.order], y[partition.order], partition.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows(self, i: int) -> slice:
        """Where the rows of one expert lie."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def problem(self, i: int) -> ExactProblem:
        """The exact GP of one expert."""
        return ExactProblem(self.X[self.rows(i)], self.y[self.rows(i)])

    def drawn(self, most_rows: int, rng: np.random.Generator) -> "Experts":
        """Experts drawn at random while they have at most ``most_rows`` rows in all; at least one."""
        sizes = np.diff(self.starts)
        order = rng.permutation(len(self))
        enough = max(1, int(np.searchsorted(np.cumsum(sizes[order]), most_rows, side="right")))
        chosen = np.sort(order[:enough])
        rows = np.concatenate([np.arange(self.starts[i], self.starts[i + 1]) for i in chosen])
        return Experts(self.X[rows], self.y[rows], np.concatenate([[0], np.cumsum(sizes[chosen])]))

    @property
    def lanes(self) -> list[range]:
        """The numbers of the experts in each lane."""
        lanes = min(len(self), LANES)
        return [range(lane, len(self), lanes) for lane in range(lanes)]

    def flops(self, s: int = 0) -> float:
        """What all factors cost, and variances at ``s`` points from each."""
        sizes = np.diff(self.starts).astype(float)
        return float((sizes**3).sum() / 3.0 + s * (sizes**2).sum())


def evidence(experts: Experts, values: Values, lane: Iterable[int]) -> Bound:
    """Log evidence of the experts of a lane, with derivatives by the shared parameters: n_i^3 flops each."""
    with np.errstate(all="ignore"):  # overflow shows as a bound that is not finite: a rejected step
        return total([experts.problem(i).evidence(values) for i in lane])


def total(bounds: Sequence[Bound], scale: float = 1.0) -> Bound:
    """The sum of bounds of the same parameters, in their order; the largest jitter of them."""
    grads = {
        name: scale * np.sum([bound.grads[name] for bound in bounds], axis=0) for name in bounds[0].grads
    }
    return Bound(scale * sum(bound.value for bound in bounds), grads, max(bound.jitter for bound in bounds))


@dataclass(frozen=True, eq=False)
class Question:
    """What a committee asks its experts about the points ``Xs``.

    An expert counts as silent at a point whose covariances k* with its rows have |k*|^2 <= ``silent``.
    """

    kind: Kind
    Xs: Array
    values: Values
    silent: float

    @classmethod
    def within(cls, tolerance: float, experts: Experts, kind: Kind, Xs: Array, values: Values) -> "Question":
        """A question whose silences move the answer by no more than ``tolerance`` (see ``negligible``).

        With A >= noise I, an expert explains k*^T A^-1 k* <= |k*|^2 / noise of the prior variance, and has
        y^T A^-1 y <= |y|^2 / noise.
        """
        s2_k = float(values["s2_k"])
        noise = float(values["sigma2"]) + JITTER * s2_k
        energy = float(np.max(np.add.reduceat(experts.y**2, experts.starts[:-1]))) / noise
        share = negligible(kind, tolerance, len(experts), energy)
        return cls(kind, Xs, values, share * s2_k * noise)

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


def sums(experts: Experts, question: Question, lane: Iterable[int]) -> Array:
    """The committee sums (3, s) of the experts of a lane at the ``s`` points of a question.

    Per expert n_i^3 / 3 flops, then n_i^2 for each point where it is not silent.
    """
    committee = question.committee()
    for i in lane:
        points = question.reached(experts.X[experts.rows(i)])
        if len(points):
            posterior = experts.problem(i).posterior(question.values)
            committee.add(points, *posterior.moments(question.Xs[points], silent=question.silent))
    return committee.sums


@contextmanager
def crew(n_jobs: int | None, flops: float) -> Iterator[Ask]:
    """Someone to ask about all lanes, in this process or in others; answers come in the order of lanes.

    BLAS has one thread everywhere: with more its sums round differently. Threads of Python would not do,
    because scipy's BLAS and LAPACK hold the interpreter's lock.
    """
    if n_jobs is None:
        n_jobs = allowed() if flops >= WORTHWHILE else 1
    with threadpool_limits(1):
        if n_jobs == 1:
            yield lambda task, experts, what: (task(experts, what, lane) for lane in experts.lanes)
            return
        config = parallel_config("loky", inner_max_num_threads=1)
        with config, Parallel(n_jobs, return_as="generator") as pool:
            yield lambda task, experts, what: pool(
                delayed(task)(experts, what, lane) for lane in experts.lanes
            )
