"""The options that ``run`` and ``reproduce`` share: type, range and help of each, and what they say."""

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from hgpbench.errors import ConfigError

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
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON, for other programs.")]
PlanAsJson = Annotated[bool, typer.Option("--json", help="With --dry-run: print the plan as JSON.")]
Wide = Annotated[
    bool, typer.Option("--wide", help="All columns, also those that the terminal has no room for.")
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="The results folder.")]


_MOST_SEEDS = 100_000


def check_json(as_json: bool, dry_run: bool) -> None:
    """Refuse --json where there is no plan to print."""
    if as_json and not dry_run:
        raise ConfigError("--json prints the plan of --dry-run; for results as JSON see report --format json")


def chosen_seeds(repeats: int | None, seeds: str | None) -> tuple[int, ...] | None:
    """The seeds asked for; None leaves them to the config."""
    if repeats is not None and seeds is not None:
        raise ConfigError("--repeats and --seeds both choose the seeds; give one of them")
    if seeds is not None:
        return _parsed(seeds)
    return tuple(range(repeats)) if repeats else None


def command_line() -> str:
    """The command as it was typed, for the records of its runs."""
    return shlex.join(["hgpbench", *sys.argv[1:]])


def _parsed(text: str) -> tuple[int, ...]:
    """``0-9``, ``3`` or ``0,2,5-7``."""
    seeds: list[int] = []
    for part in text.split(","):
        span = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", part)
        if span is None:
            raise ConfigError(
                f"--seeds {text}: {part.strip()!r} is not a seed or a range; write 0-9 or 0,2,5-7"
            )
        first, last = int(span[1]), int(span[2] or span[1])
        if last < first or last - first >= 10_000:
            raise ConfigError(
                f"--seeds {text}: {part.strip()!r} is not a range from small to large of at most 10,000"
            )
        seeds.extend(range(first, last + 1))
        if len(seeds) > _MOST_SEEDS:
            raise ConfigError(f"--seeds: more than {_MOST_SEEDS:,} seeds; ask for fewer at a time")
    return tuple(dict.fromkeys(seeds))
