"""Experiments one after the other, with a display: what ``run`` and ``reproduce`` share."""

from collections.abc import Sequence
from multiprocessing.context import ForkServerContext

import typer

from hgpbench.bench import campaign
from hgpbench.bench.campaign import Campaign, Options, Tally
from hgpbench.bench.supervise import Interrupted
from hgpbench.commands import listings
from hgpbench.commands.display import RunDisplay
from hgpbench.commands.endings import EXIT_INTERRUPTED, complain
from hgpbench.config import Experiment


def prepare(experiments: Sequence[Experiment], options: Options) -> list[Campaign]:
    """Check every experiment before any of them starts."""
    return [campaign.prepare(experiment, options) for experiment in experiments]


def plans(campaigns: Sequence[Campaign]) -> str:
    """What would run, for a dry run to print."""
    return "\n\n".join(listings.plan(prepared) for prepared in campaigns)


def perform(campaigns: Sequence[Campaign], server: ForkServerContext) -> Tally:
    """Run what is due, experiment by experiment; an interrupt ends the command with its own exit code."""
    tally = Tally()
    try:
        for prepared in campaigns:
            with RunDisplay(prepared.experiment.name, len(prepared.due)) as display:
                tally += campaign.perform(prepared, display, server)
            if prepared.options.fail_fast and tally.failed:
                break
    except Interrupted as signal:
        complain(f"interrupted by {signal}; type the same command to continue")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    return tally
