"""Successive halving: all models on few rows, the better ones on more, the best on as many as time allows.

Time is processor time, so that a busy machine changes no choice. Rounds before the last draw from a seed of
their own, so that nobody is chosen by the rows that the report is on.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hgpbench.bench import effort
from hgpbench.bench.entrants import BASELINES
from hgpbench.units import show_seconds

FIRST, GROWTH = 1_500, 5  # training rows of the first round, and how they grow
FEWEST_FIRST = 375  # rows of a first round, however short the time
FIRST_SHARE = 0.25  # of the time, that the first look at all models may take by guess
CHOOSING_SEED = 20
FINALISTS = 6  # besides the baselines and whoever takes hardly any time
HARDLY = 0.02  # of the time
LEAST_PLANNED, LEAST_ENTRANTS = 3, 2  # in the last round, and in its further seeds
SLACK, SLACK_OF_GUESSES = 2.0, 3.0  # times as long as was expected may a run take, whatever is left
SHARE = 0.9  # of the time left that a plan may fill: predictions of time are no better than that
MOST = 0.75  # of the time left that one run may take: a leader that takes it is worth a longer comparison
FEWEST_ROWS = 50  # of a table that can be compared on
MOST_TEST = 10_000
OVERHEAD = 0.6  # seconds of a run besides fit and prediction: start, data, record
# What e times the rows bring a model of which that is not known, as a share of its score: those that lead
# with few rows tend to gain most from more. On protein .25 (boosting) to .55 (dvshgp), and nothing for lines.
GAIN = 0.25
TIE = 0.05  # nats a row, by which one look with one seed tells nobody apart
LONG = 2 * 86_400.0  # seconds, beyond which nobody asks how many
STAGES = 2  # of the last round, one after the other: its first seed, then the others

Params = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """How a model did in a round: its score, and the seconds of one run with so many rows."""

    label: str
    msll: float
    seconds: float
    rows: int
    params: Params
    gain: float | None = None  # nats a row that e times the rows bring, where that was seen

    def expected(self, rows: int) -> float:
        """The score that it should have with more rows."""
        if self.label in BASELINES or rows <= self.rows:
            return self.msll
        gain = GAIN * max(0.0, -self.msll) if self.gain is None else self.gain
        return self.msll - gain * math.log(rows / self.rows)

    def after(self, before: "Result | None") -> "Result":
        """The same, with what it gained from the rows that it had more than in the round before."""
        if before is None or before.rows >= self.rows or not math.isfinite(before.msll - self.msll):
            return self
        return replace(self, gain=max(0.0, before.msll - self.msll) / math.log(self.rows / before.rows))

    def taking(self, seconds: float, rows: int, d: int, sized: Mapping[str, Params]) -> "Result":
        """The same, where a run with so many rows was seen to take as long as that at least."""
        growth = self.growth(rows, d, sized)
        return replace(self, seconds=max(self.seconds, seconds / growth))

    def growth(self, rows: int, d: int, sized: Mapping[str, Params]) -> float:
        """How many times as long a run takes with so many rows, and the parameters that go with them."""
        return effort.ratio(self.label, (self.params, self.rows), (sized[self.label], rows), d)


@dataclass(frozen=True)
class Plan:
    """Who runs on how many training rows, what that should take, and who was left out."""

    rows: int
    labels: tuple[str, ...] = ()
    seconds: float = 0.0  # of all runs
    repeats: int = 1  # of which there are so many of each
    longest: float = 0.0  # of one run
    late: tuple[str, ...] = ()  # sentences: who was left out for want of time
    behind: tuple[str, ...] = ()  # for being behind
    unfit: tuple[str, ...] = ()  # for the number of rows
    hope: float = math.inf  # the score that the best of them should have

    @property
    def cut(self) -> tuple[str, ...]:
        """Who was left out, and why."""
        return *self.late, *self.behind, *self.unfit

    def limit(self, left: float) -> float:
        """What a run may take: most of the time left, enough for whoever was chosen, though it be over."""
        return max(MOST * left, SLACK * self.longest)


def sizes(rows: int) -> tuple[int, int]:
    """Training and test rows of a table: four fifths, and at most 10,000 to test on."""
    test = min(max(rows // 5, 10), MOST_TEST)
    return rows - test, test


def seeds(train: int) -> int:
    """How many seeds a table deserves: the fewer rows, the more a single split is chance."""
    return 10 if train <= 1_000 else 5 if train <= 5_000 else 3


def first(full: int, cost: Callable[[int], float], seconds: float) -> int:
    """Rows on which all models are looked at first: all of a small table, and fewer where time is short."""
    rows = FIRST if full >= 2 * FIRST else full
    while cost(rows) > seconds and rows >= 2 * FEWEST_FIRST:
        rows //= 2
    return rows


def contenders(ranked: Sequence[Result], sized: Mapping[str, Params], seconds: float) -> list[Result]:
    """The better half of those made for the rows of a further round, but so many; the baselines, and whoever
    takes hardly any of the time.
    """
    fit = [each for each in ranked if each.label in sized]
    entrants = [each for each in fit if each.label not in BASELINES]
    kept = {each.label for each in entrants[: max(FINALISTS, (len(entrants) + 1) // 2)]}
    cheap = {each.label for each in fit if each.seconds <= HARDLY * seconds}
    return [each for each in fit if each.label in {*BASELINES, *kept, *cheap}]


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
    parallel: int = 1,
) -> Plan:
    """The plan whose best model should have the best score: rows are worth something, and so are leaders.

    A leader that has no time for more rows is left out only where others gain more from them than it leads
    by. With the fewest rows the best takes part, whatever it takes.
    """
    least = min(full, max((each.rows for each in ranked), default=full))
    plans = [
        fitting(ranked, rows, repeats, SHARE * seconds, d, params(rows), int(rows <= least), parallel)
        for rows in _halved(full, least)
    ]
    return min(plans, key=lambda plan: (plan.hope, -plan.rows))


def enough(
    ranked: Sequence[Result], full: int, repeats: int, d: int, sized: Mapping[str, Params], parallel: int
) -> tuple[tuple[str, ...], float]:
    """Who may be the best with all rows, by what is known, and a budget for them: half as much again."""
    fit = [each for each in ranked if each.label in sized and each.label not in BASELINES]
    best = min((each.expected(full) for each in fit), default=0.0)
    leaders = [each for each in fit if each.expected(full) <= best + TIE]
    runs = [each.seconds * each.growth(full, d, sized) + OVERHEAD for each in leaders]
    seconds = max(1.5 * repeats * sum(runs) / parallel, STAGES * max(runs, default=0.0) / SHARE)
    return tuple(each.label for each in leaders), seconds


def worthwhile(now: Plan, then: Plan) -> bool:
    """Whether a round before the last is held, by plans of the last one without it and after it.

    It is where it has something to decide, and takes from the last one neither a better score nor places.
    """
    places = min(len(now.labels), FINALISTS + len(BASELINES))
    return bool(now.late or now.behind) and then.hope <= now.hope and len(then.labels) >= places


def fitting(
    ranked: Sequence[Result],
    rows: int,
    repeats: int,
    seconds: float,
    d: int,
    sized: Mapping[str, Params],
    sure: int = 0,
    parallel: int = 1,
) -> Plan:
    """Of the models, best first, those whose runs fit into the time, what they take, why not the others.

    Whoever takes hardly any time is among them. So many of the best are ``sure`` to take part, whatever they
    take, and then whoever fits in beside the first in twice its time: an answer needs somebody, and to be no
    baseline for want of time.
    """
    fit = [each for each in ranked if each.label in sized]
    runs = {each.label: each.seconds * each.growth(rows, d, sized) + OVERHEAD for each in fit}
    best = [each.label for each in fit if each.label not in BASELINES][:sure]
    free = {label for label, run in runs.items() if label in BASELINES or repeats * run <= HARDLY * seconds}
    chosen = [each for each in fit if each.label in free or each.label in best]
    spent = repeats * sum(runs[each.label] for each in chosen)
    seconds = max([seconds, *(spent + repeats * runs[label] for label in best)])
    late, behind = list[str](), list[str]()
    for each in fit:
        run, cost = runs[each.label], repeats * runs[each.label]
        if each in chosen:
            continue
        if sum(one.label not in free for one in chosen) >= FINALISTS and each.rows < rows:
            behind.append(f"{each.label}, behind on {each.rows:,} rows")
        elif spent + cost > seconds or min(STAGES, repeats) * run * parallel > seconds:
            late.append(f"{each.label}, {_long(cost)} for {_runs(repeats)} with {rows:,} rows")
        else:
            chosen.append(each)
            spent += cost
    return Plan(
        rows,
        tuple(each.label for each in fit if each in chosen),
        spent,
        repeats,
        max((runs[each.label] for each in chosen), default=0.0),
        tuple(late),
        tuple(behind),
        tuple(f"{each.label}, not made for {rows:,} rows" for each in ranked if each.label not in sized),
        _hope(chosen, fit, rows, bool(sure)),
    )


def _hope(chosen: Sequence[Result], fit: Sequence[Result], rows: int, is_sure: bool) -> float:
    """The score that the best of them should have; none for fewer than the least that could take part."""
    possible = [each for each in fit if each.label not in BASELINES]
    entrants = [each for each in chosen if each.label not in BASELINES]
    if len(entrants) < min(LEAST_PLANNED, len(possible)) and not is_sure:
        return math.inf
    return min((each.expected(rows) for each in entrants or chosen), default=math.inf)


def _halved(full: int, least: int) -> Iterator[int]:
    """Numbers of rows from all of them down to the least."""
    rows = full
    while rows > least:
        yield rows
        rows = max(least, rows // 2)
    yield rows


def _long(seconds: float) -> str:
    return f"some {show_seconds(seconds)}" if seconds < LONG else "days"


def _runs(count: int) -> str:
    return "a run" if count == 1 else f"{count} runs"
