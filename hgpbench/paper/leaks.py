"""Do rankings survive where no test row is known already? Two tables of the same models, compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hgpbench.report import compare
from hgpbench.report.collect import Experiment
from hgpbench.report.numbers import plain
from hgpbench.report.tables import Cell, Table
from hgpbench.words import listed

PAIRS = {
    "protein": ("protein-distinct", "without rows whose inputs occur in training"),
    "electric": ("electric-blocks", "tested on whole weeks"),
    "sarcos-subset": ("sarcos-subset-blocks", "tested on whole movements"),
    "3droad-sample": ("3droad-sample-blocks", "tested on whole pieces of road"),
}
"""A table with a random split: the one without its leak, and in what that differs."""
SCORES = {"smse": "SMSE", "msll": "MSLL (exact)"}
DRAWS = 2_000  # of seeds, for the interval of a rank correlation
_MOST_NAMED = 8
_ROUND_OFF = 1e-12

Sample = dict[str, dict[int, float]]  # by label and seed
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Survival:
    """One score of the models of two tables, best first in the first of them."""

    score: str
    labels: tuple[str, ...]
    means: tuple[tuple[float, ...], tuple[float, ...]]
    correlation: float  # Kendall's tau of the means
    interval: tuple[float, float]  # 95 %, over draws of seeds
    changed: tuple[str, ...]  # pairs told apart in both tables, each time the other first
    kept: int  # pairs told apart in both, in one order

    @property
    def sentence(self) -> str:
        """Whether the ranking survives, in words."""
        low, high = (plain(end, 2) for end in self.interval)
        said = (
            f"{SCORES[self.score]} of {len(self.labels)} models: rank correlation (Kendall) "
            f"{plain(self.correlation, 2)} [{low}, {high}]; of the pairs that tests tell apart in both "
            f"tables {self.kept} keep their order"
        )
        if not self.changed:
            return f"{said} and none changes it: what can be told of the ranking survives."
        return (
            f"{said} and {len(self.changed)} change it: {listed(list(self.changed), _MOST_NAMED)}. "
            "The ranking does not survive in full."
        )


def tables(experiments: Sequence[Experiment]) -> Iterator[tuple[str, list[Table], list[str]]]:
    """For each pair of tables that is here: its heading, means side by side, and what survives."""
    by_name = {each.name: each for each in experiments}
    for first, (second, words) in PAIRS.items():
        if first not in by_name or second not in by_name:
            continue
        found = [survival(by_name[first], by_name[second], score) for score in SCORES]
        told = [each for each in found if each is not None]
        if told:
            yield (
                f"{first} and {second}: {words}",
                [_table(each, first, second) for each in told],
                [each.sentence for each in told],
            )


def survival(first: Experiment, second: Experiment, score: str) -> Survival | None:
    """How one score ranks the models that both tables have; None for fewer than three."""
    samples = [
        {label: _values(experiment, label, score) for label in experiment.labels}
        for experiment in (first, second)
    ]
    labels = [label for label in first.labels if samples[0][label] and samples[1].get(label)]
    if len(labels) < 3:
        return None
    labels.sort(key=lambda label: float(np.mean(list(samples[0][label].values()))))
    means = [[float(np.mean(list(sample[label].values()))) for label in labels] for sample in samples]
    orders = [_told_apart(experiment, score) for experiment in (first, second)]
    both = [pair for pair in combinations(labels, 2) if all(pair in order for order in orders)]
    changed = [(a, b) for a, b in both if orders[0][a, b] != orders[1][a, b]]
    return Survival(
        score,
        tuple(labels),
        (tuple(means[0]), tuple(means[1])),
        kendall(np.array(means[0]), np.array(means[1])),
        _interval(samples, labels),
        tuple(f"{a} and {b}" for a, b in changed),
        len(both) - len(changed),
    )


def kendall(first: Array, second: Array) -> float:
    """Share of the pairs in one order less those in the other; ties count for neither."""
    rows, columns = np.triu_indices(len(first), k=1)
    signs = np.sign(first[rows] - first[columns]) * np.sign(second[rows] - second[columns])
    return float(signs.mean())


def _values(experiment: Experiment, label: str, score: str) -> dict[int, float]:
    return {seed: digest.scores[score] for seed, digest in experiment.done(label).items()}


def _told_apart(experiment: Experiment, score: str) -> dict[tuple[str, str], bool]:
    """Pairs that the tests of the table tell apart, either way round: whether the first is better."""
    found = {}
    for pair in compare.compare(experiment, score):
        if pair.is_different:
            found[pair.first, pair.second] = pair.difference < 0
            found[pair.second, pair.first] = pair.difference > 0
    return found


def _interval(samples: Sequence[Sample], labels: Sequence[str]) -> tuple[float, float]:
    """The middle 95 % of the rank correlation over draws of seeds with replacement, alike for all models."""
    rng = np.random.default_rng(0)
    drawn = []
    for sample in samples:
        shared = sorted(set.intersection(*(set(sample[label]) for label in labels)))
        values = np.array([[sample[label][seed] for seed in shared] for label in labels])
        if not shared:  # nothing to draw from: each model's own mean, without scatter
            values = np.array([[np.mean(list(sample[label].values()))] for label in labels])
        picks = rng.integers(0, values.shape[1], (DRAWS, values.shape[1]))
        drawn.append(values[:, picks].mean(axis=2).T)
    found = [kendall(a, b) for a, b in zip(*drawn, strict=True)]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def _table(each: Survival, first: str, second: str) -> Table:
    ranks = [np.argsort(np.argsort(values)) + 1 for values in each.means]
    rows = tuple(
        (
            Cell(label, is_number=False),
            *(Cell(text) for at in (0, 1) for text in (_shown(each.means[at][i]), str(int(ranks[at][i])))),
        )
        for i, label in enumerate(each.labels)
    )
    headings = ("model", first, "rank", second, "rank there")
    return Table(f"{SCORES[each.score]}, means over seeds", headings, rows)


def _shown(mean: float) -> str:
    return plain(mean) if abs(mean) > _ROUND_OFF else "0"
