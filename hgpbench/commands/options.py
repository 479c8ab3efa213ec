"""The options that ``run`` and ``reproduce`` have in common: type, range and help of each."""

from pathlib import Path
from typing import Annotated

import typer

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
