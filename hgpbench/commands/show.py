"""The commands that only show something: ``datasets``, ``models``, ``schema``, ``doctor``."""

from pathlib import Path
from typing import Annotated

import typer

from hgpbench.commands.completion import model_names
from hgpbench.commands.endings import say


def datasets() -> None:
    """List the datasets: rows, inputs, target, and whether they have been fetched."""
    from hgpbench.commands import listings

    say(listings.datasets())


def models(
    name: Annotated[
        str | None,
        typer.Argument(help="Show one model and its parameters in full.", autocompletion=model_names),
    ] = None,
) -> None:
    """List the models with their parameters, defaults and cost; one also with times of runs in results."""
    from hgpbench.commands import listings

    say(listings.models(name, Path("results")))


def schema() -> None:
    """Print the JSON Schema of experiment files."""
    import json

    from hgpbench import config

    say(json.dumps(config.json_schema(), indent=1))


def doctor() -> None:
    """Print machine, BLAS, threads and versions."""
    from hgpbench.commands import listings

    say(listings.doctor())
