"""``hgpbench export``: a line for each run that has ended, to commit, to carry, to make a report of."""

from pathlib import Path
from typing import Annotated

import typer

from hgpbench.commands.endings import complain, say


def export(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="A results folder, or one experiment in it.")
    ],
    lines: Annotated[
        Path, typer.Argument(metavar="LINES", help="The folder of lines, one file an experiment.")
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPERIMENT", help="Only this experiment; may be repeated."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put lines in the place of finished ones that are not stale.")
    ] = False,
) -> None:
    """Keep a line of each run that has ended: record, scores, and what tables, claims and pictures need.

    Lines that are there stay, unless other code than today's made them or they did not end well. `hgpbench
    report LINES` makes the report of them, and `hgpbench run --known LINES` runs only what they lack.
    """
    from hgpbench.commands import ledgers
    from hgpbench.commands.display import counting
    from hgpbench.report.collect import collect

    with counting("scoring runs") as progress:
        collection = collect(results, progress, only or ())
    for name, outcomes in ledgers.bring(collection, lines, replace).items():
        say(f"{name}: {'; '.join(ledgers.told(outcomes))}")
    for problem in collection.problems:
        complain(problem)
