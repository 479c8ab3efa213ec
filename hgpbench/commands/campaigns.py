"""Experiments one after the other, with a display: what ``run`` and ``reproduce`` share."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from multiprocessing.context import ForkServerContext

import typer

from hgpbench import cluster
from hgpbench.bench import campaign
from hgpbench.bench.campaign import Campaign, Tally
from hgpbench.bench.supervise import Interrupted
from hgpbench.cluster import Cluster
from hgpbench.cluster.wanted import Wanted
from hgpbench.commands.display import RunDisplay
from hgpbench.commands.endings import EXIT_INTERRUPTED, complain


def shortcomings(campaigns: Sequence[Campaign]) -> Iterator[str]:
    """A line for each experiment in which a fit is no better than the mean, cached ones included."""
    from hgpbench.report import closing

    for prepared in campaigns:
        jobs, results = [planned.job for planned in prepared.planned], prepared.options.results
        told = closing.no_better((job.label, job.seed, results / job.folder) for job in jobs)
        if told:
            name = prepared.experiment.name
            yield f"{name}: no better than the mean of the training targets, by SMSE: {'; '.join(told)}"


def perform(campaigns: Sequence[Campaign], place: ForkServerContext | Wanted | Cluster) -> Tally:
    """Run what is due, experiment by experiment, by the server of this machine or on a cluster.

    A cluster that is only wanted is opened for as long as this takes. An interrupt ends the command with its
    own exit code.
    """
    tally = Tally()
    try:
        with cluster.opened(place) if isinstance(place, Wanted) else nullcontext(place) as where:
            for prepared in campaigns:
                with RunDisplay(prepared.experiment.name, len(prepared.due)) as display:
                    tally += campaign.perform(prepared, display, where)
                if prepared.options.fail_fast and tally.failed:
                    break
    except Interrupted as signal:
        complain(f"interrupted by {signal}; type the same command to continue")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    return tally
