"""Successive halving: all models on few rows, the better ones on more, the best on as many as time allows.

Rounds before the last draw from seeds of their own, so that nobody is chosen by the rows that the report is
on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hgpbench.bench import effort
from hgpbench.bench.entrants import BASELINES
from hgpbench.units import show_seconds

FIRST, GROWTH = 1_500, 5  # training rows of the first round, and how they grow
CHOOSING_SEEDS = (20, 21)
FINALISTS = 5  # besides the baselines
LEAST_ENTRANTS = 2  # in the last round, even where the time is over
SLACK = 3  # times as long as was expected may a run of the last round take
SHARE = 0.8  # of the time left that a plan may fill: predictions of time are no better than that
FEWEST_ROWS = 50  # of a table that can be compared on
MOST_TEST = 10_000
OVERHEAD = 0.6  # seconds of a run besides fit and prediction: start, data, record

Params = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """How a model did in a round: its score, and the seconds of one run with so many rows."""

    label: str
    msll: float
    seconds: float
    rows: int
    params: Params


@dataclass(frozen=True)
class Plan:
    """Who runs on how many training rows, what that should take, and what was left out."""

    rows: int
    labels: tuple[str, ...]
    seconds: float
    cut: tuple[str, ...]

    def wall(self, left: float, repeats: int) -> float:
        """What a run may take: the time left, but enough for whoever was chosen, though it be over."""
        return max(left, SLACK * self.seconds / repeats)


def sizes(rows: int) -> tuple[int, int]:
    """Training and test rows of a table: four fifths, and at most 10,000 to test on."""
    test = min(max(rows // 5, 10), MOST_TEST)
    return rows - test, test


def seeds(train: int) -> int:
    """How many seeds a table deserves: the fewer rows, the more a single split is chance."""
    return 10 if train <= 1_000 else 5 if train <= 5_000 else 3


def rounds(full: int) -> list[int]:
    """Training rows of the rounds before the last; none where the table is small."""
    found, rows = list[int](), FIRST
    while rows * 2 <= full and len(found) < 2:
        found.append(rows)
        rows *= GROWTH
    return found


def survivors(results: Sequence[Result], least: int = FINALISTS) -> list[Result]:
    """The better half, at least so many, and the baselines; the best first."""
    ranked = sorted(results, key=lambda each: each.msll)
    entrants = [each for each in ranked if each.label not in BASELINES]
    kept = {each.label for each in entrants[: max(least, (len(entrants) + 1) // 2)]}
    return [each for each in ranked if each.label in kept or each.label in BASELINES]


def leaders(ranked: Sequence[Result], sized: Mapping[str, Params]) -> list[str]:
    """The three best of those made for so many rows: where they cannot all run, a round says little."""
    return [each.label for each in ranked if each.label not in BASELINES and each.label in sized][:3]


def affordable(results: Sequence[Result], repeats: int, seconds: float) -> tuple[list[str], tuple[str, ...]]:
    """Who runs with so many more seeds, by a first one, and why others do not: the best, and as many others
    as the time has room for, or as take no longer than the best; two at least, where there are two.
    """
    ranked = sorted(results, key=lambda each: each.msll)
    entrants = [each for each in ranked if each.label not in BASELINES]
    kept, cut = entrants[:1], list[str]()
    time = max(seconds, 2 * repeats * sum(each.seconds for each in kept))
    spent = repeats * sum(each.seconds for each in kept)
    for each in entrants[1:]:
        if spent + repeats * each.seconds <= time:
            kept.append(each)
            spent += repeats * each.seconds
    if len(kept) < LEAST_ENTRANTS <= len(entrants):
        kept.append(min(entrants[1:], key=lambda each: each.seconds))
    for place, each in enumerate(entrants, start=1):
        if each not in kept:
            cut.append(f"{each.label}, {show_seconds(each.seconds)} a run: number {place} by its first seed")
    return [each.label for each in ranked if each.label in BASELINES or each in kept], tuple(cut)


def final(
    ranked: Sequence[Result],
    full: int,
    repeats: int,
    seconds: float,
    d: int,
    params: Callable[[int], Mapping[str, Params]],
) -> Plan:
    """The most rows on which the best models can run so often in these seconds, and who can take part.

    Rows are halved until the three best fit in; of the others those that fit as well.
    """
    least = max((each.rows for each in ranked), default=full)
    rows = full
    while True:
        sized = params(rows)
        sure = 1 if rows <= least else 0
        chosen, spent, cut = fitting(ranked, rows, repeats, SHARE * seconds, d, sized, sure)
        if rows <= least or all(label in chosen for label in leaders(ranked, sized)):
            return Plan(rows, tuple(chosen), spent, cut)
        rows = max(least, rows // 2)


def fitting(
    ranked: Sequence[Result],
    rows: int,
    repeats: int,
    seconds: float,
    d: int,
    sized: Mapping[str, Params],
    sure: int = 0,
) -> tuple[list[str], float, tuple[str, ...]]:
    """Of the models, best first, those whose runs fit into the time, what they take, why not the others.

    So many of the best are ``sure`` to take part, whatever they take, and then whoever fits in beside the
    first in twice its time: an answer needs somebody, and to be no baseline for want of time.
    """
    chosen, spent, cut, entrants = list[str](), 0.0, list[str](), 0
    for each in sorted(ranked, key=lambda one: one.label not in BASELINES):  # baselines cost nothing
        if each.label not in sized:
            cut.append(f"{each.label}, not made for {rows:,} rows")
            continue
        growth = effort.ratio(each.label, (each.params, each.rows), (sized[each.label], rows), d)
        cost = repeats * (each.seconds * growth + OVERHEAD)
        is_entrant = each.label not in BASELINES
        if is_entrant and sure and not entrants:
            seconds = max(seconds, spent + 2 * cost)
        if is_entrant and entrants >= FINALISTS and each.rows < rows:
            cut.append(f"{each.label}, behind on {each.rows:,} rows")
        elif spent + cost > seconds and is_entrant and entrants >= sure:
            cut.append(f"{each.label}, some {show_seconds(cost)} for {repeats} runs with {rows:,} rows")
        else:
            chosen.append(each.label)
            spent += cost
            entrants += is_entrant
    return chosen, spent, tuple(cut)
