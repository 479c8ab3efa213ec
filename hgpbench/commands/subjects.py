"""What a comparison is about: a table of the user's, imported where it is new, or a dataset by its name."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from hgpbench.bench import halving, overlap
from hgpbench.bench.entrants import ENTRANTS
from hgpbench.bench.estimators import SHIPPED
from hgpbench.bench.halving import FEWEST_ROWS
from hgpbench.commands.tables import asks_nothing
from hgpbench.data.frames.choices import Choices
from hgpbench.data.names import expanded, is_openml
from hgpbench.data.own import bring
from hgpbench.data.source import Source, open_source, parse_name
from hgpbench.data.split import Split
from hgpbench.errors import ConfigError, DataError
from hgpbench.words import listed, nearest

Order = Mapping[str, str]  # by: or time: a column
MOST_INPUTS = 20  # whose names are shown


@dataclass(frozen=True)
class Subject:
    """A dataset that is ready, and how to call it."""

    name: str  # of the results
    dataset: str
    target: str
    rows: int
    inputs: int
    copies: int
    told: str


def find(table: str, target: str | None, name: str | None, choices: Choices, split: Order) -> Subject:
    """Import a table, or look up a dataset."""
    if not (is_openml(table) or expanded(table).is_file()):
        return _stored(table, target, name, choices, split)
    choices = _with_order(choices, split)
    result = bring(table, target, choices=choices, name=name)
    source = open_source(result.name)
    inputs = f"inputs: {listed(source.columns, MOST_INPUTS)}"
    return _subject(result.name, result.name, source, split, (inputs, *result.notes))


def _stored(table: str, target: str | None, name: str | None, choices: Choices, split: Order) -> Subject:
    if Path(table).suffix or os.sep in table:
        raise DataError(f"{table}: no such file")
    if not asks_nothing(choices):
        raise ConfigError(f"{table} is a dataset already: how to read it belongs to a file with a table")
    source = open_source(*parse_name(table))
    if target not in (None, source.target):
        raise ConfigError(f"--target {target}: the target of {table} is {source.target}")
    return _subject(name or f"compare-{table.replace(':', '-')}", table, source, split, ())


def _with_order(choices: Choices, split: Order) -> Choices:
    """What to read, with the column that the split goes by."""
    column = split.get("by") or split.get("time")
    if column is None or choices.inputs is None or column in choices.inputs:
        return choices
    return replace(choices, inputs=(*choices.inputs, column))


def reading(choices: Choices) -> str:
    """How a table is read, as options for another command."""
    words = list[str]()
    for field in fields(Choices):
        value, default = getattr(choices, field.name), getattr(Choices(), field.name)
        option = f"--{field.name.replace('_', '-')}"
        if value == default:
            continue
        if field.name == "na":
            words += [word for text in value for word in (option, text)]
        elif isinstance(value, bool):
            words.append(option if value else f"--no-{field.name}")
        else:
            words += [option, ",".join(value) if isinstance(value, tuple) else str(value)]
    return shlex.join(words)


def checked(models: Sequence[str] | None) -> tuple[str, ...]:
    """The models asked for, with commas between or one an option; ConfigError on one that is none."""
    names = [name.strip() for each in models or () for name in each.split(",") if name.strip()]
    for name in names:
        if name not in SHIPPED:
            raise ConfigError(
                f"--models {name}: no such model{nearest(name, SHIPPED)}; by default: {', '.join(ENTRANTS)}"
            )
    return tuple(dict.fromkeys(names))


def _subject(name: str, dataset: str, source: Source, split: Order, notes: tuple[str, ...]) -> Subject:
    if source.rows < FEWEST_ROWS:
        raise DataError(
            f"{dataset}: {source.rows} rows are too few to compare models on; {FEWEST_ROWS} are the least"
        )
    source.sizes(Split(*halving.sizes(source.rows), by=split.get("by"), time=split.get("time")))
    copies = 0
    if not source.synthetic:
        whole = source.fold(Split("all", "train"), 0)
        copies = overlap.copies(whole.X_train, whole.y_train)
    told = f"{dataset}: {source.rows:,} rows, {source.n_inputs} inputs, target {source.target}"
    lines = "\n".join([told, *(f"    {note}" for note in notes)])
    return Subject(name, dataset, source.target, source.rows, source.n_inputs, copies, lines)
