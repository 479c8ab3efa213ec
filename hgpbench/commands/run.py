"""``hgpbench run``: experiments from their files to their last run."""

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


def run(
    configs: Annotated[
        list[str],
        typer.Argument(
            metavar="CONFIG...",
            help="Experiment files, or names of shipped ones.",
            autocompletion=config_names,
        ),
    ],
    repeats: Repeats = None,
    seeds: Seeds = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="Only this label (or pattern); may be repeated.")
    ] = None,
    jobs: Jobs = 1,
    threads: Threads = None,
    quick: Quick = False,
    dry_run: DryRun = False,
    as_json: PlanAsJson = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Run again what is done; the new result replaces the old, which is set aside."
        ),
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed or was skipped.")
    ] = False,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Start nothing more after the first failure.")
    ] = False,
    out: Out = Path("results"),
    known: Known = None,
    cluster: OnCluster = None,
    scheduler_file: SchedulerFile = None,
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
) -> None:
    """Run experiments; what is done already is not run again.

    Exit code: 0 all done, 2 usage or config, 3 some runs failed, 130 interrupted.
    """
    from hgpbench import config
    from hgpbench.bench import forks

    check_json(as_json, dry_run)
    experiments = [each for name in configs for each in config.load_all(name, quick)]
    wanted = chosen_cluster(jobs, cluster, scheduler_file, tls_ca, tls_cert, tls_key)
    # Loads the heavy libraries beside us.
    server = None if dry_run or wanted is not None else forks.warm()
    from hgpbench.bench.campaign import Options, prepare
    from hgpbench.commands import campaigns
    from hgpbench.commands.imports import imported
    from hgpbench.commands.show import show_plans

    options = Options(
        results=out,
        seeds=chosen_seeds(repeats, seeds),
        only=tuple(only or ()),
        threads=threads,
        parallel=wanted.local or 1 if wanted is not None else jobs,
        force=force,
        retry_failed=retry_failed,
        fail_fast=fail_fast,
        command=command_line(),
        known=known_runs(known),
    )
    # Every experiment is checked before any of them starts.
    prepared = [prepare(imported(experiment), options) for experiment in experiments]
    place = server or wanted
    if dry_run or place is None:
        show_plans(prepared, as_json)
        return
    tally = campaigns.perform(prepared, place)
    say(str(tally))
    for line in campaigns.shortcomings(prepared):
        say(line, err=True)  # standard output is the tally alone, which scripts read
    if tally.failed:
        raise typer.Exit(EXIT_FAILED_RUNS)
