"""``hgpbench fetch``: one line per dataset, and the notes that belong to it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hgpbench import units
from hgpbench.commands.completion import dataset_names
from hgpbench.commands.endings import EXIT_USAGE, complain, say
from hgpbench.commands.tables import asks_nothing, reading_tables
from hgpbench.data.frames.choices import Choices
from hgpbench.data.names import is_openml
from hgpbench.errors import ConfigError, DataError, Unreachable
from hgpbench.words import listed

if TYPE_CHECKING:
    from hgpbench.data.fetch import FetchResult

MOST_INPUTS = 20  # whose names are shown


@reading_tables
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME[:VARIANT]...",
            help="Datasets, .yaml cards of your own, or openml:ID.",
            autocompletion=dataset_names,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="PATH|URL", help="Take the raw file, archive or folder from here."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table",
            "--csv",
            metavar="FILE",
            help="Import a table of your own: CSV, Parquet, Feather, HDF5.",
        ),
    ] = None,
    target: Annotated[str | None, typer.Option(help="With --table: the column to predict.")] = None,
    name: Annotated[str | None, typer.Option(help="With --table: what to call the dataset.")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="Store it where every folder finds it.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only verify what was fetched before.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset that is there already.")] = False,
    *,
    choices: Choices,
) -> None:
    """Download, verify and convert datasets into datasets/NAME.h5."""
    from hgpbench.data import fetch as fetches
    from hgpbench.data.names import shared_folder
    from hgpbench.data.own import import_openml, import_table, name_for

    folder = shared_folder() if shared else None
    if table is not None:
        _check_own(names, source)
        called = name or name_for(table)
        say(_told(import_table(table, called, target, choices=choices, force=force, folder=folder), own=True))
        return

    def obtain(each: str) -> str:
        if is_openml(each) and not check:
            return _told(import_openml(each, target, choices=choices, force=force, folder=folder), own=True)
        if check:
            return _told(fetches.check(each, folder=folder))
        return _told(fetches.fetch(each, source=source, force=force, folder=folder, tell=_tell))

    _each(_named(names, target, name, choices), obtain)


def _each(names: list[str], obtain: Callable[[str], str]) -> None:
    """Try all names, whatever becomes of the first; what to do where nobody answers is told once."""
    failed = list[DataError]()
    for name in names:
        try:
            say(obtain(name))
        except DataError as error:
            if len(names) == 1:
                raise
            complain(error.what if isinstance(error, Unreachable) else str(error))
            failed.append(error)
    if any(isinstance(error, Unreachable) for error in failed):
        complain(Unreachable.advice)
    if failed:
        raise typer.Exit(EXIT_USAGE)


def _tell(line: str) -> None:
    """A sign of life, where somebody looks at it."""
    if sys.stderr.isatty():
        say(line, err=True)


def _named(names: list[str] | None, target: str | None, name: str | None, choices: Choices) -> list[str]:
    """The datasets asked for; an error where there is none or an option makes no sense with them."""
    if not names:
        raise ConfigError(
            "no dataset given; name some (see `hgpbench datasets`), or use --table FILE --target COLUMN"
        )
    carded = [each for each in names if not is_openml(each)]
    if name is not None or (carded and (target is not None or not asks_nothing(choices))):
        raise ConfigError(
            "--target, --name and how to read belong to --table; a named dataset has a card that says them"
        )
    return names


def _check_own(names: list[str] | None, source: str | None) -> None:
    """--table stands alone."""
    if names or source:
        raise ConfigError("--table imports one file of your own; it does not go with dataset names or --from")


def _told(result: "FetchResult", own: bool = False) -> str:
    if result.status == "generated":
        return f"{result.name}: drawn from the seed of each run; nothing to fetch"
    happened = {"written": f"written in {units.show_seconds(result.seconds)}", "present": "there already"}
    rows = f"{result.rows:,} rows, {result.inputs} input{'s' * (result.inputs != 1)}, target {result.target}"
    lines = [f"{result.name}: {rows}, {result.path} ({happened[result.status]})"]
    inputs = [f"inputs: {listed(result.columns, MOST_INPUTS)}"] if own else []
    return "\n".join([*lines, *(f"    {note}" for note in (*inputs, *result.notes))])
