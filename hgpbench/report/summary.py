"""Mean and standard deviation over seeds of every quantity of a table."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hgpbench.metrics import METRICS, beats_trivial
from hgpbench.report.collect import Experiment, Run

COSTS = ("fit_seconds", "predict_seconds", "total_seconds", "processor_seconds", "peak_memory_bytes")
QUANTITIES = (*METRICS, *COSTS)


@dataclass(frozen=True)
class Stat:
    """Mean and sample standard deviation of n values; NaN where there are too few."""

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Stat":
        sample = [float(value) for value in values]
        if not sample:
            return cls(math.nan, math.nan, 0)
        mean = sum(sample) / len(sample)  # an infinite loss stays one: averaging must not hide it
        if len(sample) == 1 or not math.isfinite(mean):
            return cls(mean, math.nan, len(sample))
        return cls(mean, statistics.stdev(sample), len(sample))


@dataclass(frozen=True)
class Row:
    """One label of a table."""

    label: str
    model: str
    done: int
    planned: int
    stats: dict[str, Stat]


def values(run: Run) -> dict[str, float]:
    """Every quantity of one finished run by name; a cost that was not recorded is absent."""
    if run.digest is None or run.record is None:
        return {}
    timings = run.record.timings
    quantities = dict(run.digest.scores)
    if "fit_wall" in timings:
        quantities["fit_seconds"] = timings["fit_wall"]
    if "predict_wall" in timings:
        quantities["predict_seconds"] = timings["predict_wall"]
    if {"fit_wall", "predict_wall"} <= timings.keys():
        quantities["total_seconds"] = timings["fit_wall"] + timings["predict_wall"]
    if {"fit_cpu", "predict_cpu"} <= timings.keys():
        quantities["processor_seconds"] = timings["fit_cpu"] + timings["predict_cpu"]
    if run.record.peak_memory is not None:
        quantities["peak_memory_bytes"] = float(run.record.peak_memory)
    return quantities


def rows(experiment: Experiment) -> list[Row]:
    """One row per label, finished or not, in the order of the plan."""
    return [_row(experiment, label) for label in experiment.labels]


def clock(table: Sequence[Row]) -> str:
    """Processor time, which other work does not lengthen; where it was not taken, that of the wall clock."""
    return "processor_seconds" if any(row.stats["processor_seconds"].n for row in table) else "total_seconds"


def best(table: list[Row], quantity: str) -> set[str]:
    """Labels with the best mean; empty where no direction is better or there is nothing to choose from.

    Only labels with as many finished runs as any other take part: one lucky seed must not win. Nor must one
    that knows no more than the mean and variance of the training targets, however well these cover.
    """
    metric = METRICS.get(quantity)
    if metric is None or metric.direction == "none":
        return set()
    most = max((row.done for row in table), default=0)
    means = {row.label: row.stats[quantity].mean for row in table if row.done == most and row.done > 0}
    losses = {
        label: abs(mean - metric.target) if metric.target is not None else mean
        for label, mean in means.items()
    }
    losses = {label: loss for label, loss in losses.items() if math.isfinite(loss)}
    if len(losses) < 2:
        return set()
    skilled = {row.label for row in table if beats_trivial(metric.skill, row.stats[metric.skill].mean)}
    losses = {label: loss for label, loss in losses.items() if label in skilled}
    least = min(losses.values(), default=math.inf)
    return {label for label, loss in losses.items() if math.isclose(loss, least, rel_tol=1e-9, abs_tol=1e-12)}


def _row(experiment: Experiment, label: str) -> Row:
    runs = experiment.of(label)
    finished = [values(run) for run in runs if run.digest is not None]
    stats = {name: Stat.of(each[name] for each in finished if name in each) for name in QUANTITIES}
    return Row(label, runs[0].entry.model, len(finished), len(runs), stats)
