"""The command line: parse, call one function, print, exit code. Heavy imports wait until they are needed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hgpbench import __version__

if TYPE_CHECKING:
    from hgpbench.bench.campaign import Campaign, Tally

EXIT_USAGE, EXIT_FAILED_RUNS, EXIT_INTERRUPTED = 2, 3, 130

app = typer.Typer(
    name="hgpbench",
    help="Benchmarks for large-scale heteroscedastic Gaussian-process regression.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn an error that is the user's to mend into one red line and exit code 2."""
    from hgpbench.errors import HgpbenchError

    try:
        yield
    except HgpbenchError as error:
        _complain(str(error))
        raise typer.Exit(EXIT_USAGE) from None
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        _complain(what)
        raise typer.Exit(EXIT_USAGE) from None


def _complain(message: str) -> None:
    typer.secho(f"hgpbench: {' '.join(message.split())}", fg=typer.colors.RED, err=True)


def _dataset_names(incomplete: str) -> list[str]:
    from hgpbench import shipped

    return [name for name in shipped.names("datasets") if name.startswith(incomplete)]


def _config_names(incomplete: str) -> list[str]:
    from hgpbench import shipped

    here = [str(path) for path in Path().glob("*.yaml")]
    return [name for name in [*shipped.names("configs"), *here] if name.startswith(incomplete)]


def _model_names(incomplete: str) -> list[str]:
    from hgpbench.models import MODELS

    return [name for name in MODELS if name.startswith(incomplete)]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hgpbench {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME[:VARIANT]...",
            help="Datasets, or .yaml cards of your own.",
            autocompletion=_dataset_names,
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
    with _one_line_errors():
        from hgpbench import fetching

        if csv is not None:
            fetching.check_own(names, source)
            typer.echo(fetching.own(csv, name or csv.stem, target, force))
            return
        for each in fetching.named(names, target, name):
            typer.echo(fetching.verify(each) if check else fetching.fetch(each, source, force))


@app.command()
def datasets() -> None:
    """List the datasets: rows, inputs, target, and whether they have been fetched."""
    with _one_line_errors():
        from hgpbench import listings

        typer.echo(listings.datasets())


@app.command()
def models(
    name: Annotated[
        str | None,
        typer.Argument(help="Show one model and its parameters in full.", autocompletion=_model_names),
    ] = None,
) -> None:
    """List the models with their parameters and defaults."""
    with _one_line_errors():
        from hgpbench import listings

        typer.echo(listings.models(name))


Repeats = Annotated[
    int | None, typer.Option(min=1, max=1000, help="Seeds 0 to N-1, instead of the config's repeats.")
]
Seeds = Annotated[str | None, typer.Option(metavar="0-9", help="Exactly these seeds, e.g. 0-9 or 0,2,5.")]
Jobs = Annotated[int, typer.Option(min=1, max=256, help="Runs at the same time.")]
Threads = Annotated[
    int | None, typer.Option(min=1, max=1024, help="Threads of each run, instead of the config's.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="The small variant that ends in minutes, kept apart as NAME-quick.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the plan and what it should cost; run nothing.")
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="The results folder.")]


@app.command()
def run(
    configs: Annotated[
        list[str],
        typer.Argument(
            metavar="CONFIG...",
            help="Experiment files, or names of shipped ones.",
            autocompletion=_config_names,
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
    force: Annotated[
        bool, typer.Option("--force", help="Run again what is done; the old run is set aside.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed or was skipped.")
    ] = False,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Start nothing more after the first failure.")
    ] = False,
    out: Out = Path("results"),
) -> None:
    """Run experiments; what is done already is not run again.

    Exit code: 0 all done, 2 usage or config, 3 some runs failed, 130 interrupted.
    """
    with _one_line_errors():
        from hgpbench import config
        from hgpbench.bench import forks

        experiments = [config.load(name, quick) for name in configs]
        if not dry_run:
            forks.warm()  # loads the heavy libraries beside us
        from hgpbench import running

        chosen = running.options(
            out,
            repeats,
            seeds,
            only=only or (),
            threads=threads,
            parallel=jobs,
            force=force,
            retry_failed=retry_failed,
            fail_fast=fail_fast,
        )
        campaigns = running.prepare(experiments, chosen)
        if dry_run:
            _print_plans(campaigns)
            return
        tally = _perform(campaigns)
        typer.echo(str(tally))
        if tally.failed:
            raise typer.Exit(EXIT_FAILED_RUNS)


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPERIMENT...]",
            help="Experiments of the paper; all of them where none is named.",
            autocompletion=_config_names,
        ),
    ] = None,
    repeats: Repeats = None,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    threads: Threads = None,
    quick: Quick = False,
    dry_run: DryRun = False,
    out: Out = Path("results"),
) -> None:
    """Run the paper's experiments, draw its figures, and check its claims.

    The report goes to DIR/report. Full size takes days; start with --quick. Exit codes as for run.
    """
    with _one_line_errors():
        from hgpbench import reproducing
        from hgpbench.bench import forks

        choice = reproducing.choose(names or (), quick)
        if not dry_run:
            forks.warm()
        from hgpbench import report as reports
        from hgpbench import running

        campaigns = running.prepare(
            choice.experiments,
            running.options(out, repeats, seeds, threads=threads, parallel=jobs, retry_failed=True),
        )
        for line in (*choice.replaced, *choice.missing):
            typer.echo(line, err=True)
        if dry_run:
            _print_plans(campaigns)
            return
        tally = _perform(campaigns)
        _report(out, out / reports.FOLDER, plot=True, html=True, names=[e.name for e in choice.experiments])
        typer.echo(str(tally), err=True)
        if tally.failed or choice.missing:
            raise typer.Exit(EXIT_FAILED_RUNS)


def _report(
    path: Path,
    out: Path,
    formats: Sequence[str] = ("md",),
    plot: bool = False,
    html: bool = False,
    names: Sequence[str] = (),
) -> None:
    """Build a report, print its first format, and tell what was written and what could not be read."""
    from hgpbench import report as reports
    from hgpbench.display import counting

    with counting("scoring runs") as progress:
        summary = reports.build(
            path, out, formats=tuple(formats), plot=plot, html=html, names=tuple(names), progress=progress
        )
    typer.echo(summary.text)
    for problem in summary.problems:
        _complain(problem)
    for written in summary.files:
        typer.echo(f"wrote {written}", err=True)


def _print_plans(campaigns: "list[Campaign]") -> None:
    from hgpbench import listings

    typer.echo("\n\n".join(listings.plan(prepared) for prepared in campaigns))


def _perform(campaigns: "list[Campaign]") -> "Tally":
    """Run what is due; an interrupt ends the command with its own exit code."""
    from hgpbench import running
    from hgpbench.bench.supervise import Interrupted

    try:
        return running.perform(campaigns)
    except Interrupted as signal:
        _complain(f"interrupted by {signal}; type the same command to continue")
        raise typer.Exit(EXIT_INTERRUPTED) from None


@app.command()
def report(
    path: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="A results folder, or one experiment in it.")
    ] = Path("results"),
    plot: Annotated[bool, typer.Option("--plot", help="Draw the plots, as PNG and SVG.")] = False,
    html: Annotated[
        bool, typer.Option("--html", help="Write one page with the tables and the plots.")
    ] = False,
    format_: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="md|csv|latex|json", help="Format of the tables; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write; default RESULTS/report.")
    ] = None,
) -> None:
    """Tables, tests and plots from stored predictions."""
    with _one_line_errors():
        from hgpbench import report as reports

        _report(path, out or path / reports.FOLDER, format_ or ("md",), plot, html)


@app.command()
def schema() -> None:
    """Print the JSON Schema of experiment files."""
    import json

    from hgpbench import config

    typer.echo(json.dumps(config.json_schema(), indent=1))


@app.command()
def doctor() -> None:
    """Print machine, BLAS, threads and versions."""
    with _one_line_errors():
        from hgpbench import listings

        typer.echo(listings.doctor())
