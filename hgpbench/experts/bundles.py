"""Bundles of PIC's blocks on the workers of a cluster: their rows stay there, and sums come back.

A bundle takes the place of an expert (see ``pool``): it is at one worker, and the sums of all are added up
here in their order, as those of threads are. An evaluation asks twice, as all blocks are coupled between its
two passes; (m, m) numbers of each bundle come back from either.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.cluster import Cluster
from hgpbench.columns import Array
from hgpbench.experts.crew import Crew
from hgpbench.experts.pool import Each, Pool
from hgpbench.experts.rows import Index, Numbers, Rows, Shares
from hgpbench.fitting.values import Values
from hgpbench.gp import pic
from hgpbench.gp.block import BlockPosterior
from hgpbench.gp.kernels import SEARD, Family
from hgpbench.gp.params import Bound
from hgpbench.gp.pic import Bundle, Coupling, Gram, Point, Slopes


class BundleOwner:
    """The bundles of a worker; ``starts`` says of each where its blocks begin and end among its own rows."""

    def __init__(self, rows: Shares, starts: Sequence[list[int]], family: Family = SEARD) -> None:
        self._rows, self._starts, self._family = rows, starts, family
        self._bundles: dict[int, Bundle] = {}

    def grams(self, numbers: Numbers, values: Values) -> list[Gram | None]:
        """The first pass over these bundles; nothing where it cannot be evaluated."""
        sizes = np.concatenate([np.diff(self._starts[number]) for number in numbers]).astype(float)
        keeps = pic.fit_in_memory(sizes, len(values["Xm"]), self._family)
        for number in numbers:
            self._bundles[number] = self._bundle(number, keeps)
        return self._passed(Bundle.gram, numbers, values)

    def slopes(self, numbers: Numbers, values: Values, coupling: Coupling) -> list[Slopes | None]:
        """The second pass, at the values of the first."""
        for number in numbers:
            if number not in self._bundles:  # whoever was asked for the first is lost
                self._bundles[number] = self._bundle(number, False)
        return self._passed(Bundle.slopes, numbers, values, coupling)

    def moments(
        self, numbers: Numbers, posterior: BlockPosterior, asked: Sequence[tuple[Array, Index]]
    ) -> list[tuple[Array, Array]]:
        """Moments of f at inputs that belong to blocks of each bundle, as its blocks are numbered there."""
        found = []
        for number, (Xs, owners) in zip(numbers, asked, strict=True):
            X, y = self._rows.of(number)
            found.append(replace(posterior, X=X, y=y, starts=self._starts[number]).moments(Xs, owners))
        return found

    def _bundle(self, number: int, keeps: bool) -> Bundle:
        return Bundle(*self._rows.of(number), self._starts[number], keeps)

    def _passed(self, question: Any, numbers: Numbers, values: Values, *more: Any) -> list[Any]:
        try:
            with np.errstate(all="ignore"):
                point = Point.of(self._family, values)
                return [question(self._bundles[number], point, *more) for number in numbers]
        except LinAlgError:
            return [None for _ in numbers]


@dataclass(frozen=True, eq=False)
class Spread:
    """``gp.pic.Blocks`` whose rows are on workers."""

    rows: Rows  # by blocks
    ends: Sequence[int]  # of bundles, by the number of a block
    family: Family
    pool: Pool[BundleOwner]

    def evidence(self, values: Values) -> Bound:
        """As ``Blocks.evidence``, to the bit."""
        return pic.evidence(self, len(self.rows.y), Point.of(self.family, values))

    def posterior(self, values: Values) -> BlockPosterior:
        """As ``Blocks.posterior``."""
        point = Point.of(self.family, values)
        coupling = pic.coupled(self.grams(point))
        return pic.posterior(point, coupling, self.rows.X, self.rows.y, self.rows.starts.tolist())

    def grams(self, point: Point) -> list[Gram]:
        """See ``gp.pic.Work``."""
        return _all_told(self.pool.ask(BundleOwner.grams, self._bundles, point.values))

    def slopes(self, point: Point, coupling: Coupling) -> list[Slopes]:
        """See ``gp.pic.Work``."""
        return _all_told(self.pool.ask(BundleOwner.slopes, self._bundles, point.values, coupling))

    def moments(self, posterior: BlockPosterior, Xs: Array, owners: Index) -> tuple[Array, Array]:
        """As ``BlockPosterior.moments``, to the bit."""
        mu, s2 = np.empty(len(Xs)), np.empty(len(Xs))
        bundles = np.searchsorted(self.ends, owners, side="right") - 1
        asked = np.unique(bundles).tolist()
        places = [np.flatnonzero(bundles == bundle) for bundle in asked]
        parts = Each(
            (Xs[mine], owners[mine] - self.ends[bundle]) for bundle, mine in zip(asked, places, strict=True)
        )
        without = replace(posterior, X=posterior.X[:0], y=posterior.y[:0], starts=())
        for mine, moments in zip(
            places, self.pool.ask(BundleOwner.moments, asked, without, parts), strict=True
        ):
            mu[mine], s2[mine] = moments
        return mu, s2

    @property
    def _bundles(self) -> range:
        return range(len(self.ends) - 1)


@contextmanager
def spread_out(rows: Rows, cluster: Cluster, family: Family) -> Iterator[Spread]:
    """Have the workers of a cluster hold the rows of these blocks."""
    ends = pic.edges(rows.starts.tolist())
    starts = [(rows.starts[first : last + 1] - rows.starts[first]).tolist() for first, last in pairwise(ends)]
    bundled = Rows(rows.X, rows.y, rows.starts[ends])
    owner = partial(BundleOwner, starts=starts, family=family)
    with Crew(cluster=cluster).opened(bundled, len(starts), owner) as pool:
        yield Spread(rows, ends, family, pool)


def _all_told(answers: list[Any]) -> list[Any]:
    """The sums of all bundles; LinAlgError where one could not be evaluated."""
    if any(answer is None for answer in answers):
        raise LinAlgError("the evidence of some blocks cannot be evaluated")
    return answers
