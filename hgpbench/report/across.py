"""Models over many data sets: scores side by side, mean ranks, and which ranks are more than chance.

As in Demšar (2006), Statistical comparisons of classifiers over multiple data sets: Friedman's test in Iman
and Davenport's form, then Nemenyi's critical difference. Wilcoxon's test of each pair with Holm's correction
asks more of the number of data sets: with six its smallest p is 1/32, so that of three models or more no two
could ever differ. Both are a few lines with scipy; scikit-posthocs and autorank bring statsmodels for them.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special, stats

from hgpbench.metrics import METRICS
from hgpbench.report import numbers, summary
from hgpbench.report.collect import Experiment
from hgpbench.report.supplement import Closing
from hgpbench.report.tables import Cell, Table, heading
from hgpbench.words import SEVERAL

RANKED = ("msll", "smse")
LEAST_SETS = 6  # for a test: fewer tell too little
LEVEL = 0.05
_DIGITS = 3
_ROUND_OFF = 1e-12  # of a score without a unit


@dataclass(frozen=True)
class Ranking:
    """How models stand over data sets by one score, the best first."""

    metric: str
    datasets: tuple[str, ...]
    labels: tuple[str, ...]  # of the models that every data set has a score of
    ranks: tuple[float, ...]  # their mean ranks; 1 is the best
    p: float  # of models that all are alike; NaN where there is no test
    critical: float  # ranks that two models must be apart; NaN where there is no test

    @property
    def groups(self) -> list[tuple[int, int]]:
        """First and last place of each largest group of models that ranks do not tell apart."""
        if math.isnan(self.critical):
            return []
        ends = [
            max(k for k, rank in enumerate(self.ranks) if rank - first < self.critical)
            for first in self.ranks
        ]
        spans = [(start, end) for start, end in enumerate(ends) if end > start]
        return [span for before, span in pairwise([(-1, -1), *spans]) if span[1] > before[1]]


def closings(experiments: Sequence[Experiment]) -> tuple[Closing, ...]:
    """What is said of each experiment on several data sets, after their sections."""
    by_name: dict[str, list[Experiment]] = {}
    for experiment in experiments:
        name, several, _ = experiment.name.rpartition(SEVERAL)
        if several and experiment.finished:
            by_name.setdefault(name, []).append(experiment)
    return tuple(_closing(name, members) for name, members in by_name.items() if len(members) > 1)


def rank(scores: dict[str, list[float]], metric: str, datasets: Sequence[str]) -> Ranking:
    """Rank models by mean scores (one for each data set, lower is better); only those that have all."""
    whole = [label for label, each in scores.items() if all(map(math.isfinite, each))]
    table = np.array([scores[label] for label in whole]).reshape(len(whole), len(datasets))
    ranks = np.apply_along_axis(stats.rankdata, 0, table) if whole else table
    means = ranks.mean(axis=1)
    order = np.argsort(means, kind="stable")
    tested = len(datasets) >= LEAST_SETS and len(whole) > 1
    return Ranking(
        metric,
        tuple(datasets),
        tuple(whole[place] for place in order),
        tuple(float(means[place]) for place in order),
        friedman(ranks) if tested else math.nan,
        critical_difference(*ranks.shape) if tested else math.nan,
    )


def friedman(ranks: np.ndarray) -> float:
    """The p of equal models, from ranks (k, N): Iman and Davenport's F, corrected for ties."""
    k, n = ranks.shape
    spread = float(np.sum((ranks - (k + 1) / 2) ** 2))  # n k (k² - 1)/12 where no two are tied
    if spread == 0:
        return 1.0
    chi2 = (k - 1) * float(np.sum((ranks.sum(axis=1) - n * (k + 1) / 2) ** 2)) / spread
    rest = n * (k - 1) - chi2
    if rest <= 1e-9 * n * k:  # the same order on every data set
        return 0.0
    return float(special.fdtrc(k - 1, (k - 1) * (n - 1), (n - 1) * chi2 / rest))


def critical_difference(k: int, n: int) -> float:
    """Nemenyi's: mean ranks of k models over n data sets that are so far apart differ at 5 %."""
    q = float(stats.studentized_range.ppf(1 - LEVEL, k, np.inf)) / math.sqrt(2)
    return q * math.sqrt(k * (k + 1) / (6 * n))


def _closing(name: str, experiments: list[Experiment]) -> Closing:
    datasets = [experiment.name.rpartition(SEVERAL)[2] for experiment in experiments]
    rows = [{row.label: row for row in summary.rows(experiment)} for experiment in experiments]
    labels = list(dict.fromkeys(label for each in rows for label in each))
    tables, rankings, words, data = list[Table](), list[Ranking](), list[str](), list[dict[str, Any]]()
    for metric in RANKED:
        scores = {
            label: [each[label].stats[metric].mean if label in each else math.nan for each in rows]
            for label in labels
        }
        ranking = rank(scores, metric, datasets)
        rankings.append(ranking)
        tables.append(_table(ranking, scores, [summary.best(list(each.values()), metric) for each in rows]))
        words.append(_said(ranking, len(labels)))
        data.append({**asdict(ranking), "scores": scores, "groups": ranking.groups})
    heading = f"{name}: across {len(datasets)} data sets"
    return Closing(f"across-{name}", heading, tuple(tables), tuple(data), tuple(words), tuple(rankings))


def _table(ranking: Ranking, scores: dict[str, list[float]], best: Sequence[set[str]]) -> Table:
    places = dict(zip(ranking.labels, ranking.ranks, strict=True))
    ordered = [*ranking.labels, *(label for label in scores if label not in places)]
    first = min(ranking.ranks, default=math.nan)
    rows = tuple(
        (
            Cell(label, is_number=False),
            *(
                Cell(_shown(score), label in winners)
                for score, winners in zip(scores[label], best, strict=True)
            ),
            Cell(f"{places[label]:.2f}", places[label] == first) if label in places else Cell(numbers.ABSENT),
        )
        for label in ordered
    )
    caption = f"Mean {heading(ranking.metric, has_mixtures=True)} by data set"
    return Table(caption, ("model", *ranking.datasets, "mean rank"), rows)


def _shown(score: float) -> str:
    if abs(score) <= _ROUND_OFF:
        return "0"
    return numbers.ABSENT if math.isnan(score) else numbers.plain(score, _DIGITS)


def _said(ranking: Ranking, models: int) -> str:
    """What the ranks tell, in words."""
    title, n = METRICS[ranking.metric].title, len(ranking.datasets)
    lacking = models - len(ranking.labels)
    rest = f" Not ranked, for want of a score on some data set: {lacking} of {models} models." * bool(lacking)
    if not ranking.labels:
        return f"{title}: no model has a score on every data set.{rest}"
    first = f"{title}: {ranking.labels[0]} has the best mean rank, {ranking.ranks[0]:.2f} over {n} data sets"
    if math.isnan(ranking.p):
        return f"{first}; {LEAST_SETS} and two models would allow a test.{rest}"
    told = "p < 0.001" if ranking.p < 0.001 else f"p = {ranking.p:.2g}"
    if ranking.p > LEVEL:
        return f"{first}, but the order of the models may be chance (Friedman's test: {told}).{rest}"
    behind = [
        label
        for label, place in zip(ranking.labels, ranking.ranks, strict=True)
        if place - ranking.ranks[0] >= ranking.critical
    ]
    ahead = f"it is ahead of {', '.join(behind)}" if behind else "but no model is surely behind it"
    return (
        f"{first}; the order is no chance (Friedman's test: {told}), and two models differ where their mean "
        f"ranks are {ranking.critical:.2f} apart (Nemenyi, 5 %): {ahead}.{rest}"
    )
