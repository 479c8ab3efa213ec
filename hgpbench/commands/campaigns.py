"""Experiments one after the other, with a display: what ``run`` and ``reproduce`` share."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from hgpbench.bench import campaign
from hgpbench.bench.campaign import Campaign, Options, Tally
from hgpbench.bench.supervise import Interrupted
from hgpbench.commands import listings
from hgpbench.commands.display import RunDisplay
from hgpbench.commands.endings import EXIT_INTERRUPTED, complain
from hgpbench.config import Experiment
from hgpbench.errors import ConfigError


def options(
    results: Path,
    repeats: int | None,
    seeds: str | None,
    *,
    only: Sequence[str] = (),
    threads: int | None = None,
    parallel: int = 1,
    force: bool = False,
    retry_failed: bool = False,
    fail_fast: bool = False,
) -> Options:
    """What the command line says about how to run, checked."""
    if repeats is not None and seeds is not None:
        raise ConfigError("--repeats and --seeds both choose the seeds; give one of them")
    chosen = campaign.parse_seeds(seeds) if seeds is not None else tuple(range(repeats)) if repeats else None
    return Options(
        results=results,
        seeds=chosen,
        only=tuple(only),
        threads=threads,
        parallel=parallel,
        force=force,
        retry_failed=retry_failed,
        fail_fast=fail_fast,
        command=shlex.join(["hgpbench", *sys.argv[1:]]),
    )


def prepare(experiments: Sequence[Experiment], chosen: Options) -> list[Campaign]:
    """Check every experiment before any of them starts."""
    return [campaign.prepare(experiment, chosen) for experiment in experiments]


def plans(campaigns: Sequence[Campaign]) -> str:
    """What would run, for a dry run to print."""
    return "\n\n".join(listings.plan(prepared) for prepared in campaigns)


def perform(campaigns: Sequence[Campaign]) -> Tally:
    """Run what is due, experiment by experiment; an interrupt ends the command with its own exit code."""
    tally = Tally()
    try:
        for prepared in campaigns:
            with RunDisplay(prepared.experiment.name, len(prepared.due)) as display:
                tally += campaign.perform(prepared, display)
            if prepared.options.fail_fast and tally.failed:
                break
    except Interrupted as signal:
        complain(f"interrupted by {signal}; type the same command to continue")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    return tally
