"""What the labels of a sweep say: the label that was swept, and the parameters it was given."""

import re
from dataclasses import dataclass, replace

from hgpbench.report.collect import Experiment

MANY = 16  # labels that plots of all of them can show and stay readable
_PARAMETER = re.compile(r"(?:^|,)([A-Za-z_]\w*)=")


@dataclass(frozen=True)
class Swept:
    """A label of the form ``base:name=value,name=value``."""

    base: str
    params: dict[str, str]


def parse(label: str) -> Swept | None:
    """The parts of a swept label; None of any other."""
    base, _, text = label.partition(":")
    _, *parts = _PARAMETER.split(text)
    return Swept(base, dict(zip(parts[::2], parts[1::2], strict=True))) if parts else None


def base_of(label: str) -> str:
    """The label before a sweep expanded it."""
    swept = parse(label)
    return label if swept is None else swept.base


def readable(experiment: Experiment) -> Experiment:
    """The experiment without the variants of its sweeps, where they are too many to show one by one."""
    if len(experiment.labels) <= MANY:
        return experiment
    return replace(experiment, runs=tuple(run for run in experiment.runs if parse(run.entry.label) is None))
