"""``hgpbench reproduce``: the paper's experiments, and the report on them."""

from pathlib import Path
from typing import Annotated

import typer

from hgpbench.commands.completion import config_names
from hgpbench.commands.endings import EXIT_FAILED_RUNS, say
from hgpbench.commands.options import (
    DryRun,
    Jobs,
    Known,
    OnCluster,
    Out,
    PlanAsJson,
    Quick,
    Repeats,
    SchedulerFile,
    Seeds,
    Threads,
    TlsCa,
    TlsCert,
    TlsKey,
    check_json,
    chosen_cluster,
    chosen_seeds,
    command_line,
    known_runs,
)
from hgpbench.commands.report import write_report


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPERIMENT...]",
            help="Experiments of the paper; all of them where none is named.",
            autocompletion=config_names,
        ),
    ] = None,
    repeats: Repeats = None,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    threads: Threads = None,
    quick: Quick = False,
    dry_run: DryRun = False,
    as_json: PlanAsJson = False,
    out: Out = Path("results"),
    known: Known = None,
    cluster: OnCluster = None,
    scheduler_file: SchedulerFile = None,
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
) -> None:
    """Run the paper's experiments, draw its figures, and check its claims.

    The report goes to DIR/report. Full size takes days; start with --quick. Exit codes as for run.
    """
    from hgpbench.bench import forks
    from hgpbench.paper.reproduce import choose

    check_json(as_json, dry_run)
    choice = choose(names or (), quick)
    wanted = chosen_cluster(jobs, cluster, scheduler_file, tls_ca, tls_cert, tls_key)
    server = None if dry_run or wanted is not None else forks.warm()
    from hgpbench.bench.campaign import Options, prepare
    from hgpbench.commands import campaigns
    from hgpbench.commands.show import show_plans

    options = Options(
        results=out,
        seeds=chosen_seeds(repeats, seeds),
        threads=threads,
        parallel=wanted.local or 1 if wanted is not None else jobs,
        retry_failed=True,
        command=command_line(),
        known=known_runs(known),
    )
    # Every experiment is checked before any of them starts.
    prepared = [prepare(experiment, options) for experiment in choice.experiments]
    for line in (*choice.replaced, *choice.missing):
        say(line, err=True)
    place = server or wanted
    if dry_run or place is None:
        show_plans(prepared, as_json)
        return
    tally = campaigns.perform(prepared, place)
    write_report(out, plot=True, html=True, names=[experiment.name for experiment in choice.experiments])
    say(str(tally), err=True)
    if tally.failed or choice.missing:
        raise typer.Exit(EXIT_FAILED_RUNS)
