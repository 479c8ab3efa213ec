"""The command line: the commands by name, and errors as one red line. Heavy imports wait in the commands."""

import functools
from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer

from hgpbench import __version__
from hgpbench.commands.compare import compare
from hgpbench.commands.endings import EXIT_USAGE, complain
from hgpbench.commands.export import export
from hgpbench.commands.fetch import fetch
from hgpbench.commands.fit import fit, predict
from hgpbench.commands.init import init
from hgpbench.commands.report import report
from hgpbench.commands.reproduce import reproduce
from hgpbench.commands.run import run
from hgpbench.commands.show import datasets, doctor, models, schema
from hgpbench.errors import HgpbenchError

Parameters = ParamSpec("Parameters")

app = typer.Typer(
    name="hgpbench",
    help="Benchmarks for large-scale heteroscedastic Gaussian-process regression.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _with_one_line_errors(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """The command, but an error that is the user's to mend becomes one red line and exit code 2."""

    @functools.wraps(command)  # typer reads names, types and help from the command itself
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            return command(*args, **kwargs)
        except HgpbenchError as error:
            complain(str(error))
        except BrokenPipeError:
            raise  # nobody reads any more: typer ends quietly, with exit code 1
        except OSError as error:
            complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        raise typer.Exit(EXIT_USAGE)

    return guarded


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


# In the order of the help.
_COMMANDS = (
    *(compare, init, fetch, datasets, models, run, reproduce, report, export),
    *(fit, predict, schema, doctor),
)
for _command in _COMMANDS:
    app.command()(_with_one_line_errors(_command))
