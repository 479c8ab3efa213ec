"""Statements about means over seeds, and how surprising the runs would be were they false, or were they true.

The simplest says that a mean is at most so much; every criterion is made of such by "and" and "or". A t test
of each side gives two probabilities. All of several statements are shown by the weakest of their tests, and
that one of them is false by the strongest of the others, times their number (Bonferroni). So a statement is
true where a 95 % interval lies on its side, false where one lies on the other, and open where neither does.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import special

from hgpbench.report import numbers

SIDE = 0.025  # of an interval of 95 %, what lies beyond each end
MOST_SEEDS = 1000
Answer = Literal["yes", "no", "open", "absent"]


@dataclass(frozen=True)
class Weight:
    """Probabilities of runs as telling as these, were the statement false, and were it true."""

    were_false: float
    were_true: float


UNKNOWN = Weight(1.0, 1.0)


@dataclass(frozen=True)
class AtMost:
    """The mean of these values, one a seed, is at most ``bound``; or below it, where that is meant."""

    words: str  # what the values are of
    values: tuple[float, ...]
    bound: float = 0.0
    extra: float = 0.0  # what shared training rows add to 1/k in the variance of a mean over k seeds
    is_strict: bool = False
    is_turned: bool = False  # the values are minus what the words say: at least is at most, turned

    def weigh(self, seeds: int | None = None) -> Weight:
        """The two probabilities; with ``seeds``, those that so many like these would give."""
        count = seeds or len(self.values)
        gap = self.mean - self.bound
        if len(self.values) < 2 or math.isnan(gap):
            return UNKNOWN
        if math.isinf(gap) or self.deviation <= 1e-12 * max(abs(self.mean), abs(self.bound)):
            holds = gap < 0 or (gap == 0 and not self.is_strict)
            return Weight(0.0, 1.0) if holds else Weight(1.0, 0.0)
        t = gap / (self.deviation * math.sqrt(1 / count + self.extra))
        return Weight(float(special.stdtr(count - 1, t)), float(special.stdtr(count - 1, -t)))

    def leaves(self) -> Iterator["AtMost"]:
        """Itself."""
        yield self

    @property
    def is_absent(self) -> bool:
        return not self.values

    @cached_property
    def mean(self) -> float:
        return float(np.mean(self.values)) if self.values else math.nan

    @cached_property
    def deviation(self) -> float:
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 and self.is_finite else math.nan

    @property
    def is_finite(self) -> bool:
        return all(map(math.isfinite, self.values))

    def __str__(self) -> str:
        """The mean and its interval, and the bound where this is not zero."""
        turn = -1.0 if self.is_turned else 1.0
        limit = f", against {numbers.plain(turn * self.bound, 3)}" if self.bound else ""
        said = f"{self.words} {numbers.plain(turn * self.mean, 3)}"
        if not self.deviation > 0:  # one value, or all the same
            return f"{said}{limit}"
        count = len(self.values)
        quantile = float(special.stdtrit(count - 1, 1 - SIDE))
        reach = quantile * self.deviation * math.sqrt(1 / count + self.extra)
        low, high = (numbers.plain(turn * self.mean + sign * reach, 3) for sign in (-1, 1))
        return f"{said} [{low}, {high}]{limit}"


@dataclass(frozen=True)
class Ratio:
    """The standard deviation of one sample is at least ``times`` that of another, by an F test."""

    words: str
    values: tuple[float, ...]
    others: tuple[float, ...]
    times: float

    def weigh(self, seeds: int | None = None) -> Weight:
        """As of AtMost."""
        count = seeds or len(self.values)
        if min(len(self.values), len(self.others)) < 2:
            return UNKNOWN
        if not all(map(math.isfinite, self.values)):  # a loss that is once infinite is as unsteady as can be
            return Weight(0.0, 1.0) if all(map(math.isfinite, self.others)) else UNKNOWN
        mine, theirs = (float(np.var(each, ddof=1)) for each in (self.values, self.others))
        if theirs == 0 or mine == 0:
            return Weight(1.0, 0.0) if mine == 0 else Weight(0.0, 1.0)
        ratio = mine / theirs / self.times**2
        freedom = count - 1
        return Weight(
            float(special.fdtrc(freedom, freedom, ratio)), float(special.fdtr(freedom, freedom, ratio))
        )

    def leaves(self) -> Iterator["AtMost"]:
        """None that has an interval of its own."""
        return iter(())

    @property
    def is_absent(self) -> bool:
        return not self.values or not self.others


@dataclass(frozen=True)
class Every:
    """All of these."""

    parts: tuple["Statement", ...]

    def weigh(self, seeds: int | None = None) -> Weight:
        """Refuted by one of its parts, shown only by all."""
        found = [part.weigh(seeds) for part in self.parts]
        least = min((each.were_true for each in found), default=1.0)
        return Weight(max((each.were_false for each in found), default=1.0), min(1.0, len(found) * least))

    def leaves(self) -> Iterator[AtMost]:
        """The simple statements in it."""
        for part in self.parts:
            yield from part.leaves()

    @property
    def is_absent(self) -> bool:
        return any(part.is_absent for part in self.parts)


@dataclass(frozen=True)
class Some:
    """At least one of these."""

    parts: tuple["Statement", ...]

    def weigh(self, seeds: int | None = None) -> Weight:
        """Shown by one of its parts, refuted only by all."""
        found = [part.weigh(seeds) for part in self.parts]
        least = min((each.were_false for each in found), default=1.0)
        return Weight(min(1.0, len(found) * least), max((each.were_true for each in found), default=1.0))

    def leaves(self) -> Iterator[AtMost]:
        """The simple statements in it."""
        for part in self.parts:
            yield from part.leaves()

    @property
    def is_absent(self) -> bool:
        return any(part.is_absent for part in self.parts)


@dataclass(frozen=True)
class Absent:
    """What cannot be said for want of runs."""

    is_absent: bool = field(default=True, init=False)

    def weigh(self, seeds: int | None = None) -> Weight:
        """Nothing is known."""
        return UNKNOWN

    def leaves(self) -> Iterator[AtMost]:
        """None."""
        return iter(())


Statement = AtMost | Ratio | Every | Some | Absent


def answer(statement: Statement) -> Answer:
    """What the runs say of it: yes, no, that they do not tell, or that some are missing."""
    decided = _decided(statement.weigh())
    if decided is not None:
        return "yes" if decided else "no"
    return "absent" if statement.is_absent else "open"


def seeds_needed(statement: Statement) -> int | None:
    """How many seeds like these would decide; None where none do, or too few are there to tell."""
    if statement.is_absent or any(len(leaf.values) < 2 for leaf in statement.leaves()):
        return None
    low, high = 1, MOST_SEEDS
    if _decided(statement.weigh(high)) is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _decided(statement.weigh(middle)) is not None else (middle, high)
    return high


def telling(statement: Statement) -> AtMost | None:
    """The simple statement that it hangs on: the one that refutes it, or else the least sure of all."""
    leaves = [leaf for leaf in statement.leaves() if leaf.values]
    if not leaves:
        return None
    if answer(statement) == "no":
        return min(leaves, key=lambda leaf: leaf.weigh().were_true)
    return max(leaves, key=lambda leaf: leaf.weigh().were_false)


def joined(statements: Sequence[Statement]) -> Statement:
    """All of several, or the only one."""
    return statements[0] if len(statements) == 1 else Every(tuple(statements))


def _decided(weight: Weight) -> bool | None:
    if weight.were_false <= SIDE:
        return True
    return False if weight.were_true <= SIDE else None
