"""The options that ``run`` and ``reproduce`` share: type, range and help of each, and what they say."""

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hgpbench.errors import ConfigError

if TYPE_CHECKING:  # what it imports takes a third of the time of a listing
    from hgpbench.cluster.wanted import Wanted

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
Known = Annotated[
    Path | None,
    typer.Option(metavar="LINES", help="Run only what these lines lack; see export."),
]
OnCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on a Dask cluster: tcp://HOST:PORT, or local:N for N workers here.",
    ),
]
SchedulerFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Run on the Dask cluster whose scheduler wrote this file."),
]
TlsCa = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Certificates that the cluster is trusted by.")
]
TlsCert = Annotated[Path | None, typer.Option(metavar="FILE", help="Our certificate for the cluster.")]
TlsKey = Annotated[Path | None, typer.Option(metavar="FILE", help="The key of our certificate.")]


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


def chosen_cluster(
    jobs: int,
    address: str | None,
    scheduler_file: Path | None,
    ca: Path | None,
    cert: Path | None,
    key: Path | None,
) -> "Wanted | None":
    """The cluster asked for to do runs, if any."""
    wanted = wanted_cluster(address, scheduler_file, ca, cert, key)
    if wanted is not None and jobs != 1:
        raise ConfigError(
            "--jobs is for this machine; a worker of a cluster does as many runs as it has threads for"
        )
    return wanted


def wanted_cluster(
    address: str | None, scheduler_file: Path | None, ca: Path | None, cert: Path | None, key: Path | None
) -> "Wanted | None":
    """The cluster asked for, if any."""
    if address is None and scheduler_file is None:
        if ca is not None or cert is not None or key is not None:
            raise ConfigError("--tls-ca, --tls-cert and --tls-key are for a cluster; name it by --cluster")
        return None
    from hgpbench.cluster.wanted import Wanted

    wanted = Wanted(address, scheduler_file, ca, cert, key)
    wanted.check()
    return wanted


def known_runs(folder: Path | None) -> frozenset[str]:
    """The runs that a folder of lines has finished, where one is given."""
    if folder is None:
        return frozenset()
    from hgpbench.commands import ledgers

    return ledgers.known(folder)


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
