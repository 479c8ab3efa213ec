"""What a command says, and how it ends badly: its exit code, and one red line."""

import typer

from hgpbench.words import printable

EXIT_USAGE, EXIT_FAILED_RUNS, EXIT_INTERRUPTED = 2, 3, 130
_LONGEST = 4_000  # characters of a message


def say(text: str, err: bool = False) -> None:
    """Print text that may hold the words of others."""
    typer.echo(printable(text, lines=True), err=err)


def complain(message: str) -> None:
    """One red line on standard error, whatever the message has of lines."""
    line = printable(" ".join(message.split()))
    cut = line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"
    typer.secho(f"hgpbench: {cut}", fg=typer.colors.RED, err=True)
