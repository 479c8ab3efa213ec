"""How a command ends badly: its exit code, and one red line."""

import typer

EXIT_USAGE, EXIT_FAILED_RUNS, EXIT_INTERRUPTED = 2, 3, 130


def complain(message: str) -> None:
    """One red line on standard error, whatever the message has of lines."""
    typer.secho(f"hgpbench: {' '.join(message.split())}", fg=typer.colors.RED, err=True)
