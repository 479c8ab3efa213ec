"""``hgpbench fetch``: one line per dataset, and the notes that belong to it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hgpbench import units
from hgpbench.commands.completion import dataset_names
from hgpbench.commands.endings import say
from hgpbench.errors import ConfigError

if TYPE_CHECKING:
    from hgpbench.data.fetch import FetchResult


def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME[:VARIANT]...",
            help="Datasets, or .yaml cards of your own.",
            autocompletion=dataset_names,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="PATH|URL", help="Take the raw file, archive or folder from here."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Import a table of your own: .csv, or .h5 with X and y."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="With --csv: the column to predict.")] = None,
    name: Annotated[str | None, typer.Option(help="With --csv: what to call the dataset.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only verify what was fetched before.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset that is there already.")] = False,
) -> None:
    """Download, verify and convert datasets into datasets/NAME.h5."""
    from hgpbench.data import fetch as fetches
    from hgpbench.data.own import import_table

    if csv is not None:
        _check_own(names, source)
        say(_told(import_table(csv, name or csv.stem, target, force=force)))
        return
    for each in _named(names, target, name):
        result = fetches.check(each) if check else fetches.fetch(each, source=source, force=force)
        say(_told(result))


def _named(names: list[str] | None, target: str | None, name: str | None) -> list[str]:
    """The datasets asked for; an error where there is none or an option makes no sense with them."""
    if not names:
        raise ConfigError(
            "no dataset given; name some (see `hgpbench datasets`), or use --csv FILE --target COLUMN"
        )
    if target is not None or name is not None:
        raise ConfigError("--target and --name belong to --csv; a named dataset has a card that says both")
    return names


def _check_own(names: list[str] | None, source: str | None) -> None:
    """--csv stands alone."""
    if names or source:
        raise ConfigError("--csv imports one file of your own; it does not go with dataset names or --from")


def _told(result: "FetchResult") -> str:
    if result.status == "generated":
        return f"{result.name}: drawn from the seed of each run; nothing to fetch"
    happened = {"written": f"written in {units.show_seconds(result.seconds)}", "present": "there already"}
    rows = f"{result.rows:,} rows, {result.inputs} input{'s' * (result.inputs != 1)}, target {result.target}"
    lines = [f"{result.name}: {rows}, {result.path} ({happened[result.status]})"]
    return "\n".join([*lines, *(f"    {note}" for note in result.notes)])
