"""Which differences between models are more than chance: paired tests over shared seeds, said in words.

Seeds that split one dataset share most of their training rows, so their scores are not independent; Nadeau
and Bengio (2003) widen the variance of the mean difference from 1/k to 1/k + n_test/n_train. Synthetic
datasets are drawn afresh for each seed and need no such correction. Holm's method guards all pairs of one
table and score.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from scipy import special

from hgpbench.bench.record import Record
from hgpbench.metrics import METRICS
from hgpbench.report.collect import Experiment
from hgpbench.report.numbers import plain
from hgpbench.report.summary import Stat

SAID = ("smse", "msll", "interval95")  # proper scores: who is lower knows more
COMPARED = (*SAID, "calibration")
MIN_SEEDS = 3
LEVEL = 0.05
_MOST_IN_WORDS = 6  # models; beyond that only the pairs of the best are said
_IN_DETAIL = 3  # models beaten by one, each with its own figures

Sampling = Literal["fresh", "resampled", "fixed"]


@dataclass(frozen=True)
class Comparison:
    """A paired comparison of two labels; ``difference`` is the mean of first minus second."""

    metric: str
    first: str
    second: str
    seeds: int
    difference: float
    p: float  # two-sided, of this pair alone; NaN where nothing can be tested
    p_holm: float = math.nan  # adjusted for all pairs of the table

    @property
    def is_tested(self) -> bool:
        return not math.isnan(self.p)

    @property
    def is_different(self) -> bool:
        return self.p_holm <= LEVEL


def sampling(run: Record) -> Sampling:
    """How the data of two seeds of an experiment are related."""
    if run.dataset.get("synthetic"):
        return "fresh"
    if run.split.get("test") in ("train", "published") or run.split.get("train") in ("all", "published"):
        return "fixed"
    return "resampled"


def compare(experiment: Experiment, metric: str) -> list[Comparison]:
    """All pairs of labels by one metric, adjusted together."""
    done = experiment.finished
    if not done or sampling(done[0]) == "fixed":
        return []
    extra = correction(done[0])
    scores = {
        label: {seed: digest.scores[metric] for seed, digest in experiment.done(label).items()}
        for label in experiment.labels
    }
    pairs = combinations((label for label in experiment.labels if scores[label]), 2)
    compared = [_pair(metric, first, second, scores[first], scores[second], extra) for first, second in pairs]
    return _adjust(compared)


def paired_p(differences: Sequence[float], extra: float) -> float:
    """Two-sided p of a zero mean, with ``extra`` added to 1/k in the variance of the mean (k differences)."""
    sample = np.asarray(differences, dtype=float)
    if len(sample) < MIN_SEEDS or not np.all(np.isfinite(sample)):
        return math.nan
    mean = float(np.mean(sample))
    error = math.sqrt((1 / len(sample) + extra) * float(np.var(sample, ddof=1)))
    if error <= 1e-12 * abs(mean) or error == 0:  # the same difference every time
        return 1.0 if mean == 0 else 0.0
    return float(2 * special.stdtr(len(sample) - 1, -abs(mean) / error))  # as stats.t.sf, at once


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: the i-th smallest of k times k - i, kept monotone and at most one."""
    adjusted, floor = [math.nan] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        floor = max(floor, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = floor
    return adjusted


def sentences(experiment: Experiment, metric: str) -> list[str]:
    """What the tests of one metric found, as a reader would say it."""
    done = experiment.finished
    title = METRICS[metric].title
    if done and sampling(done[0]) == "fixed":
        return [f"{title}: nothing can be tested, because every seed has the same training and test rows."]
    pairs = compare(experiment, metric)
    if not any(pair.is_tested for pair in pairs):
        return [f"{title}: nothing can be tested with fewer than {MIN_SEEDS} seeds shared by two models."]
    labels = [label for label in experiment.labels if experiment.done(label)]
    if len(labels) <= _MOST_IN_WORDS:
        return _said(title, pairs)
    first = min(labels, key=lambda label: _mean_score(experiment, label, metric))
    shown = [pair for pair in pairs if first in (pair.first, pair.second)]
    rest = (
        f"{title}: the {len(pairs) - len(shown)} pairs without {first} are told by the csv and json formats."
    )
    return [*_said(title, shown), rest]


def _mean_score(experiment: Experiment, label: str, metric: str) -> float:
    mean = Stat.of(digest.scores[metric] for digest in experiment.done(label).values()).mean
    return math.inf if math.isnan(mean) else mean


def _said(title: str, pairs: list[Comparison]) -> list[str]:
    tested = [pair for pair in pairs if pair.is_tested]
    said = _wins(title, [pair for pair in tested if pair.is_different])
    ties = [f"{pair.first} and {pair.second}" for pair in tested if not pair.is_different]
    if ties:
        said.append(f"{title}: no difference was found between {'; '.join(ties)}.")
    untested = _untested([pair for pair in pairs if not pair.is_tested])
    if untested:
        reason = f"fewer than {MIN_SEEDS} shared seeds, or a score that is not finite"
        said.append(f"{title}: could not be tested ({reason}): {'; '.join(untested)}.")
    return said


def _untested(pairs: list[Comparison]) -> list[str]:
    """Each model once with those that it could not be tested against, the one with the most of them first."""
    left, said = list(pairs), []
    while left:
        [(label, _)] = Counter(each for pair in left for each in (pair.first, pair.second)).most_common(1)
        mine = [pair for pair in left if label in (pair.first, pair.second)]
        said.append(f"{label} and {_listed(p.second if p.first == label else p.first for p in mine)}")
        left = [pair for pair in left if pair not in mine]
    return said


def method(experiment: Experiment) -> str | None:
    """How the tests were made, in one sentence; None where there is none."""
    tested = [pair for name in SAID for pair in compare(experiment, name) if pair.is_tested]
    if not tested:
        return None
    fresh = sampling(experiment.finished[0]) == "fresh"
    test = (
        "paired t tests over fresh draws of the data" if fresh else "Nadeau-Bengio corrected paired t tests"
    )
    seeds = sorted({pair.seeds for pair in tested})
    span = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    family = sum(pair.metric == tested[0].metric for pair in tested)
    pairs = "one pair" if family == 1 else f"Holm's adjustment over {family} pairs"
    return f"Tests: {test}, {span} shared seeds, {pairs}, level {LEVEL:g}."


def correction(run: Record) -> float:
    """What is added to 1/k in the variance of a mean difference over k seeds, for rows that they share."""
    if sampling(run) == "fresh":
        return 0.0
    if not run.n_train or not run.n_test:
        return math.nan  # without the sizes nothing can be tested
    return run.n_test / run.n_train


def _pair(
    metric: str, first: str, second: str, a: dict[int, float], b: dict[int, float], extra: float
) -> Comparison:
    shared = sorted(a.keys() & b.keys())
    differences = [a[seed] - b[seed] for seed in shared]
    mean = sum(differences) / len(shared) if shared else math.nan
    return Comparison(metric, first, second, len(shared), mean, paired_p(differences, extra))


def _adjust(pairs: list[Comparison]) -> list[Comparison]:
    adjusted = iter(holm([pair.p for pair in pairs if pair.is_tested]))
    return [replace(pair, p_holm=next(adjusted)) if pair.is_tested else pair for pair in pairs]


def _wins(title: str, different: list[Comparison]) -> list[str]:
    """One sentence per better model: what it beats, by how much, how surely; the most successful first."""
    beaten: dict[str, dict[str, Comparison]] = {}
    for pair in different:
        better, worse = (pair.first, pair.second) if pair.difference < 0 else (pair.second, pair.first)
        beaten.setdefault(better, {})[worse] = pair
    ordered = sorted(beaten.items(), key=lambda item: -len(item[1]))
    return [f"{better} has a lower {title} than {_losers(worse)}." for better, worse in ordered]


def _losers(worse: dict[str, Comparison]) -> str:
    """Each with its own figures while they are few; the range of the figures otherwise."""
    sizes = {label: abs(pair.difference) for label, pair in worse.items()}
    if len(worse) <= _IN_DETAIL:
        return _listed(
            f"{label} (difference {plain(sizes[label], 2)}, {_p_text(pair.p_holm)})"
            for label, pair in worse.items()
        )
    span = f"{plain(min(sizes.values()), 2)} to {plain(max(sizes.values()), 2)}"
    surest = _p_text(max(pair.p_holm for pair in worse.values()))
    return f"{_listed(worse)} (differences {span}, each {surest.replace('=', '≤')})"


def _p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _listed(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
