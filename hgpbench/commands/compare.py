"""``hgpbench compare``: from a table to which model to use, why, and the command for it."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from hgpbench.commands.endings import say
from hgpbench.commands.options import (
    OnCluster,
    Out,
    SchedulerFile,
    TlsCa,
    TlsCert,
    TlsKey,
    chosen_cluster,
    command_line,
)
from hgpbench.commands.tables import reading_tables
from hgpbench.data.frames.choices import Choices
from hgpbench.errors import ConfigError


@reading_tables
def compare(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A file with a table, or a dataset's name.")],
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    budget: Annotated[
        str,
        typer.Option(metavar="TIME", help="About how long it may take, on a machine that does nothing else."),
    ] = "10min",
    models: Annotated[
        list[str] | None, typer.Option("--models", metavar="NAME", help="Only these; may be repeated.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=3, max=100, help="Seeds of the report; by default 3 to 10, by rows.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rows that share a value of it stay on one side.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Test on rows that are later than the training rows.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=256, help="Runs at the same time; one a core.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call dataset and results.")] = None,
    out: Out = Path("results"),
    cluster: OnCluster = None,
    scheduler_file: SchedulerFile = None,
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    *,
    choices: Choices,
) -> None:
    """Say which model suits a table, whether its noise varies, and what to do next.

    All models start on few rows, the better ones go on to more, and the best run with at least three seeds.
    The budget is of processor time: where the machine has other work, this takes longer.
    """
    from hgpbench import units
    from hgpbench.bench import asked, forks
    from hgpbench.cluster import Cluster, opened

    try:
        seconds = units.seconds(budget)
    except ValueError as error:
        raise ConfigError(f"--budget {budget}: {error}") from None
    wanted = chosen_cluster(jobs or 1, cluster, scheduler_file, tls_ca, tls_cert, tls_key)
    # One cluster for all rounds: workers of our own take seconds to start.
    where = nullcontext(forks.warm()) if wanted is None else opened(wanted)
    from hgpbench.bench import halving
    from hgpbench.commands import subjects
    from hgpbench.commands.contest import Contest
    from hgpbench.commands.report import write_report
    from hgpbench.peers import PEERS

    if group is not None and time is not None:
        raise ConfigError("--group and --time both say how to split; give one of them")
    split = {key: column for key, column in (("by", group), ("time", time)) if column is not None}
    names = subjects.checked(models)
    subject = subjects.find(table, target, name, choices, split)
    say(subject.told, err=True)
    with where as place:
        contest = Contest(
            name=subject.name,
            title=f"Which model for {subject.target}?",
            dataset=subject.dataset,
            rows=subject.rows,
            inputs=subject.inputs,
            split=split,
            models=names,
            budget=seconds,
            results=out,
            parallel=place.threads if isinstance(place, Cluster) else jobs or os.cpu_count() or 1,
            command=command_line(),
            place=place,
            repeats=repeats,
        )
        contest.run()
    folder = out / subject.name
    asked.write(
        folder,
        asked.Asked(
            table,
            subject.target,
            subject.rows,
            subjects.reading(choices),
            tuple(contest.cut),
            subject.copies,
            str(folder),
            group or "",
            halving.sizes(subject.rows)[0],
            tuple(PEERS),
            *contest.enough,
            tuple(contest.chosen),
        ),
    )
    write_report(folder, plot=True, html=True, brief=True)
