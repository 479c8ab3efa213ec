"""Experiments that differ in the number of training rows alone, read together: a sweep over rows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hgpbench.config import QUICK
from hgpbench.paper.published import load
from hgpbench.report.collect import Experiment, Run

ROWS = "rows"  # what a label is swept over


def joined(experiments: Sequence[Experiment]) -> Iterator[Experiment]:
    """One experiment for each series that has members here, its labels as of a sweep: ``dvshgp:rows=500``."""
    for name, setup in load().experiments.items():
        for ending in ("", QUICK):
            wanted = [f"{member}{ending}" for member in setup.series]
            found = [each for each in experiments if each.name in wanted]
            if found:
                yield _join(f"{name}{ending}", found)


def last_of(experiment: Experiment, experiments: Sequence[Experiment]) -> Experiment | None:
    """The series that ends with this experiment, among these; None where it ends none."""
    for series in joined(experiments):
        names = [each.name for each in experiments if _is_of(each, series)]
        if names and names[-1] == experiment.name:
            return series
    return None


def _is_of(experiment: Experiment, series: Experiment) -> bool:
    members = load().experiments[series.name.removesuffix(QUICK)].series
    same = experiment.name.endswith(QUICK) == series.name.endswith(QUICK)
    return same and experiment.name.removesuffix(QUICK) in members


def _join(name: str, found: Sequence[Experiment]) -> Experiment:
    """Runs under labels that tell their rows; what was planned and not run is there as well."""
    runs = tuple(_labelled(run, experiment) for experiment in found for run in experiment.runs)
    entries = tuple(run.entry for run in runs)
    mixed = frozenset(_label(label, each) for each in found for label in each.mixed)
    return Experiment(replace(found[0].manifest, name=name, title="", entries=entries), runs, mixed)


def _labelled(run: Run, experiment: Experiment) -> Run:
    return replace(run, entry=replace(run.entry, label=_label(run.entry.label, experiment)))


def _label(label: str, experiment: Experiment) -> str:
    return f"{label}:{ROWS}={experiment.manifest.split['train']}"
