"""What a reader wants to know first, in a few sentences: who is best, whom not to trust, from where."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hgpbench.metrics import METRICS
from hgpbench.report import compare, flags, notes, summary
from hgpbench.report.collect import Experiment
from hgpbench.report.compare import Comparison
from hgpbench.report.numbers import mean_sd
from hgpbench.report.summary import Row
from hgpbench.words import listed

Kind = Literal["best", "told", "caution", "origin"]

ASKED = ("msll", "smse")  # how much of the distribution is known, and how much of the mean
_MOST_NAMED = 8


@dataclass(frozen=True)
class Headline:
    """One sentence, and what it is about."""

    kind: Kind
    words: str


def headlines(experiment: Experiment) -> list[Headline]:
    """Of one experiment, the most important first."""
    table = summary.rows(experiment)
    if not any(row.done for row in table):
        return [Headline("caution", "No run is done yet."), *_unfinished(experiment, table)]
    best = [Headline("best", _best(experiment, table, metric)) for metric in ASKED]
    return [*best, *_flagged(experiment), *_unfinished(experiment, table), *_origin(experiment)]


def _best(experiment: Experiment, table: list[Row], metric: str) -> str:
    title = METRICS[metric].title
    done = [row for row in table if row.done]
    if len(done) == 1:
        return f"{title}: {done[0].label} alone has a score, {_figure(done[0], metric)}."
    labels = summary.best(table, metric)
    best = [row for row in table if row.label in labels]
    if not best:
        return f"{title}: no model is better than the mean and variance of the training targets."
    verb = "is" if len(best) == 1 else "are"
    rivals = _rivals(experiment, best[0], metric) if len(best) == 1 else ""
    said = f"{title}: {_names(row.label for row in best)} {verb} best, {_figure(best[0], metric)}{rivals}."
    return said + _lower_with_fewer(done, best[0], metric)


def _lower_with_fewer(done: list[Row], best: Row, metric: str) -> str:
    """Who would be better, if runs that are missing were like those that are there."""
    mean = best.stats[metric].mean
    lower = sorted(
        (row for row in done if row.done < best.done and row.stats[metric].mean < mean),
        key=lambda row: row.stats[metric].mean,
    )
    told = _names(f"{row.label} ({_figure(row, metric)})" for row in lower)
    return f" Lower, but with fewer seeds: {told}." if lower else ""


def _rivals(experiment: Experiment, best: Row, metric: str) -> str:
    """How sure that is, by the tests of the best against each other model."""
    pairs = [p for p in compare.compare(experiment, metric) if best.label in (p.first, p.second)]
    tested = [pair for pair in pairs if pair.is_tested]
    if not tested:
        return "; whether that is chance cannot be tested"
    equal = {_other(pair, best.label): abs(pair.difference) for pair in tested if not pair.is_different}
    if not equal:
        return "; surely better than every other"
    nearest = sorted(equal, key=lambda label: equal[label])
    every = len(equal) == len(tested) > 1
    return f", which do not make it surely better than {'any other' if every else _names(nearest)}"


def _flagged(experiment: Experiment) -> list[Headline]:
    found = {label: flags.flags(experiment, label) for label in experiment.labels}
    said = []
    for flag in (flags.NO_BETTER, flags.BADLY_CALIBRATED, flags.MIXED):
        labels = [label for label, raised in found.items() if flag in raised]
        if labels:
            said.append(Headline("caution", f"{flag.words.capitalize()} {flag.sign}: {_names(labels)}."))
    return said


def _unfinished(experiment: Experiment, table: list[Row]) -> list[Headline]:
    """How many runs have no score, what became of them, and whose they are."""
    missing = {row.label: row.planned - row.done for row in table if row.done < row.planned}
    if not missing:
        return []
    planned = sum(row.planned for row in table)
    who = _names(f"{label} ({count})" for label, count in missing.items())
    states = Counter(run.state for run in experiment.runs if run.state != "done")
    how = ", ".join(f"{count} {state}" for state, count in states.items())
    words = f"{sum(missing.values())} of {planned} runs have no score ({how}): {who}."
    return [Headline("caution", words)]


def _origin(experiment: Experiment) -> list[Headline]:
    lines = [
        notes.data(experiment),
        *notes.dates(experiment),
        *notes.machines(experiment),
        *notes.sources(experiment),
    ]
    return [Headline("origin", line) for line in lines]


def _figure(row: Row, metric: str) -> str:
    seeds = "1 seed" if row.done == 1 else f"{row.done} seeds"
    return f"{mean_sd(row.stats[metric])} over {seeds}"


def _names(names: Iterable[str]) -> str:
    return listed(names, _MOST_NAMED)


def _other(pair: Comparison, label: str) -> str:
    return pair.second if pair.first == label else pair.first
