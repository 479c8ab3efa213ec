"""The commands that only show something: ``datasets``, ``models``, ``schema``, ``doctor``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hgpbench.commands.completion import model_names
from hgpbench.commands.endings import say
from hgpbench.commands.options import AsJson, Wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hgpbench.bench.campaign import Campaign


def datasets(
    as_json: AsJson = False,
    wide: Wide = False,
) -> None:
    """List the datasets: rows, inputs, target, and whether they have been fetched."""
    from hgpbench.commands import inventory, listings, screen

    if as_json:
        say(inventory.as_json(inventory.datasets()))
    elif screen.is_terminal():
        screen.show_listing(listings.datasets(), wide)
    else:
        say(str(listings.datasets()))


def models(
    name: Annotated[
        str | None,
        typer.Argument(help="Show one model and its parameters in full.", autocompletion=model_names),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the models with their parameters, defaults and cost; one also with times of runs in results."""
    from hgpbench.commands import inventory, listings, screen

    results = Path("results")
    if as_json:
        say(inventory.as_json(inventory.models(name, results)))
    elif screen.is_terminal():
        screen.show_text(listings.models(name, results))
    else:
        say(listings.models(name, results))


def schema() -> None:
    """Print the JSON Schema of experiment files."""
    import json

    from hgpbench import config

    say(json.dumps(config.json_schema(), indent=1))


def doctor(as_json: AsJson = False) -> None:
    """Print machine, BLAS, threads and versions."""
    from hgpbench.commands import inventory, machine, screen

    if as_json:
        say(inventory.as_json(machine.as_data()))
    elif screen.is_terminal():
        screen.show_listing(machine.doctor())
    else:
        say(str(machine.doctor()))


def show_plans(prepared: "Sequence[Campaign]", as_json: bool) -> None:
    """Print what ``run`` and ``reproduce`` would do."""
    from hgpbench.commands import inventory, plans, screen

    if as_json:
        say(inventory.as_json(plans.as_data(prepared)))
    elif screen.is_terminal():
        for line in plans.whole(prepared):
            say(line)
        for campaign in prepared:
            title, cost, runs = plans.plan(campaign)
            say(f"{title}\n{cost}")
            screen.show_listing(runs, remedy="--json has them")
    else:
        say(plans.plans(prepared))
