"""``hgpbench fetch``: one line per dataset, and the notes that belong to it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hgpbench import units
from hgpbench.commands.completion import dataset_names
from hgpbench.commands.endings import say
from hgpbench.commands.tables import asks_nothing, reading_tables
from hgpbench.data.frames.choices import Choices
from hgpbench.data.names import is_openml
from hgpbench.errors import ConfigError
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
    for each in _named(names, target, name, choices):
        if is_openml(each) and not check:
            say(_told(import_openml(each, target, choices=choices, force=force, folder=folder), own=True))
        elif check:
            say(_told(fetches.check(each, folder=folder)))
        else:
            say(_told(fetches.fetch(each, source=source, force=force, folder=folder)))


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
