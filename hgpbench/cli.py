"""The command line: parse, call one function, print, exit code. Heavy imports wait until they are needed."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from hgpbench import __version__

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
    repeats: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Seeds 0 to N-1, instead of the config's repeats.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="0-9", help="Exactly these seeds, e.g. 0-9 or 0,2,5.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="Only this label (or pattern); may be repeated.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Runs at the same time.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="BLAS threads of each run, instead of the config's.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and what it should cost; run nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Run again what is done; the old run is set aside.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed or was skipped.")
    ] = False,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Start nothing more after the first failure.")
    ] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The results folder.")] = Path("results"),
) -> None:
    """Run experiments; what is done already is not run again.

    Exit code: 0 all done, 2 usage or config, 3 some runs failed, 130 interrupted.
    """
    with _one_line_errors():
        from hgpbench import config
        from hgpbench.bench import forks
        from hgpbench.errors import ConfigError

        if repeats is not None and seeds is not None:
            raise ConfigError("--repeats and --seeds both choose the seeds; give one of them")
        experiments = [config.load(name) for name in configs]
        if not dry_run:
            forks.warm()  # loads the heavy libraries beside us
        from hgpbench.bench import campaign
        from hgpbench.bench.supervise import Interrupted
        from hgpbench.display import RunDisplay

        chosen = (
            campaign.parse_seeds(seeds) if seeds is not None else tuple(range(repeats)) if repeats else None
        )
        options = campaign.Options(
            results=out,
            seeds=chosen,
            only=tuple(only or ()),
            threads=threads,
            parallel=jobs,
            force=force,
            retry_failed=retry_failed,
            fail_fast=fail_fast,
            command=shlex.join(["hgpbench", *sys.argv[1:]]),
        )
        campaigns = [campaign.prepare(experiment, options) for experiment in experiments]
        if dry_run:
            from hgpbench import listings

            typer.echo("\n\n".join(listings.plan(prepared) for prepared in campaigns))
            return
        tally = campaign.Tally()
        for prepared in campaigns:
            try:
                with RunDisplay(prepared.experiment.name, len(prepared.due)) as display:
                    tally += campaign.perform(prepared, display)
            except Interrupted as signal:
                _complain(f"interrupted by {signal}; type the same command to continue")
                raise typer.Exit(EXIT_INTERRUPTED) from None
            if fail_fast and tally.failed:
                break
        typer.echo(str(tally))
        if tally.failed:
            raise typer.Exit(EXIT_FAILED_RUNS)


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
        from hgpbench.display import counting

        with counting("scoring runs") as progress:
            summary = reports.build(
                path,
                out or path / reports.FOLDER,
                formats=tuple(format_ or ("md",)),
                plot=plot,
                html=html,
                progress=progress,
            )
        typer.echo(summary.text)
        for problem in summary.problems:
            _complain(problem)
        for written in summary.files:
            typer.echo(f"wrote {written}", err=True)


@app.command()
def schema() -> None:
    """Print the JSON Schema of experiment files."""
    import json

    from hgpbench import config

    typer.echo(json.dumps(config.schema(), indent=1))


@app.command()
def doctor() -> None:
    """Print machine, BLAS, threads and versions."""
    with _one_line_errors():
        from hgpbench import listings

        typer.echo(listings.doctor())
