"""Tables that an experiment names by their path: each becomes a dataset before anything is planned."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hgpbench.bench import plan
from hgpbench.commands.endings import say
from hgpbench.config import Experiment
from hgpbench.data.fetch import FetchResult
from hgpbench.data.frames.choices import Choices
from hgpbench.data.names import expanded
from hgpbench.data.own import bring
from hgpbench.errors import ConfigError, DataError
from hgpbench.units import show_seconds
from hgpbench.words import listed

MOST_INPUTS = 20  # whose names are shown


def imported(experiment: Experiment) -> Experiment:
    """The experiment with its table as a dataset, which is told; stored only where it is new."""
    if experiment.table is None:
        return experiment
    table = experiment.table
    try:
        given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.reading.items()}
        result = bring(_found(experiment, table.path), table.target, choices=Choices(**given))
    except DataError as error:
        place = ".".join(map(str, experiment.place))
        keys = "; here such options are keys beside path:, without the dashes" if "--" in str(error) else ""
        raise ConfigError(f"{experiment.document.where(experiment.place)}: {place}: {error}{keys}") from None
    say("\n    ".join([_told(result), *result.notes]), err=True)
    return replace(experiment, dataset=result.name, variant=None, table=None)


def _told(result: FetchResult) -> str:
    """What became of a table, and its inputs."""
    how = f"written in {show_seconds(result.seconds)}" if result.status == "written" else "there already"
    rows = f"{result.rows:,} rows, {result.inputs} input{'s' * (result.inputs != 1)}, target {result.target}"
    inputs = f"inputs: {listed(result.columns, MOST_INPUTS)}"
    return f"{result.name}: {rows}, {result.path} ({how})\n    {inputs}"


def _found(experiment: Experiment, written: str) -> Path:
    """The file: from the folder of the experiment's file, or else from the working folder."""
    places = [folder / expanded(written) for folder in plan.folders(experiment)]
    there = next((place for place in places if place.is_file()), None)
    if there is None:
        raise DataError(f"no such file: {' nor '.join(dict.fromkeys(map(str, places)))}")
    return there
