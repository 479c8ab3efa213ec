"""The experiments of the paper: which they are, and which of them can run with the data at hand."""

from collections.abc import Sequence
from dataclasses import dataclass

from hgpbench import config
from hgpbench.config import Experiment
from hgpbench.data.source import open_source
from hgpbench.errors import ConfigError, DataError
from hgpbench.words import nearest

# In the order of the paper: section V, then section VI.
EXPERIMENTS = (
    "toy",
    "toy-lambda",
    "toy-convergence",
    "toy-rows-500",
    "toy-rows-2000",
    "toy-rows-8000",
    "solar",
    "solar-later",
    "sinc2d",
    "protein",
    "protein-sweeps",
    "sarcos",
    "3droad",
    "electric",
    "electric-cores",
    "electric-batch",
)
# What to run on a part of the data where only that part was fetched; the results say which it was.
STAND_INS = {"sarcos": "sarcos-subset", "3droad": "3droad-sample"}


@dataclass(frozen=True)
class Choice:
    """The experiments to run, and one line for each that was replaced or cannot run."""

    experiments: tuple[Experiment, ...]
    replaced: tuple[str, ...]
    missing: tuple[str, ...]


def choose(names: Sequence[str], quick: bool) -> Choice:
    """The experiments of these names, or all of the paper's; those named must be able to run."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise ConfigError(
            f"{unknown[0]!r} is not an experiment of the paper{nearest(unknown[0], EXPERIMENTS)}; "
            f"they are: {', '.join(EXPERIMENTS)}"
        )
    experiments, replaced, missing = [], [], []
    for name in names or EXPERIMENTS:
        experiment = config.load(name, quick)
        lacking = _lacking(experiment)
        if lacking and name in STAND_INS:
            part = config.load(STAND_INS[name], quick)
            if not _lacking(part):
                said = f"{part.dataset}:{part.variant}"
                replaced.append(f"{name}: the full dataset is not here; {part.name} runs on {said} instead")
                experiment, lacking = part, ""
        if not lacking:
            experiments.append(experiment)
        elif names:
            raise ConfigError(f"{name}: {lacking}")
        else:
            missing.append(f"{name} is left out: {lacking}")
    return Choice(tuple(experiments), tuple(replaced), tuple(missing))


def _lacking(experiment: Experiment) -> str:
    """Why the experiment's dataset cannot be used, or nothing."""
    try:
        open_source(experiment.dataset, experiment.variant)
    except DataError as error:
        return str(error)
    return ""
