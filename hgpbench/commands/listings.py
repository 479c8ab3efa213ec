"""What the listing commands print: datasets, models, plans, the machine."""

import inspect
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hgpbench import units
from hgpbench.bench import costs, provenance
from hgpbench.bench.campaign import Campaign, estimate
from hgpbench.bench.estimators import SEED_PARAMETER, SHIPPED
from hgpbench.data.catalogue import Listed, list_datasets
from hgpbench.errors import ConfigError
from hgpbench.peers import Peer, install, missing
from hgpbench.words import nearest

COST = (
    "Cost: "  # how the paragraph of a docstring begins that says it; docstrings are no part of a run's code
)
KERNELS_VARIABLE = "OPENBLAS_CORETYPE"  # by which an environment holds OpenBLAS to one processor's code


@dataclass(frozen=True)
class Listing:
    """Rows of words, with headings or without; ``right`` are the columns that hold numbers."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()

    def __str__(self) -> str:
        """As aligned text, for a file or another program."""
        return columns([*([self.headings] if self.headings else []), *self.rows], self.right)


def datasets() -> Listing:
    """One line per dataset and variant."""
    rows = tuple(
        (
            item.full_name,
            f"{item.rows:,}" if item.rows else "?",
            str(item.inputs or "?"),
            item.target,
            state(item),
            item.problem or item.title,
            item.licence,
        )
        for item in list_datasets()
    )
    headings = ("DATASET", "ROWS", "INPUTS", "TARGET", "STATE", "TITLE", "LICENCE")
    return Listing(headings, rows, frozenset({1, 2}))


def models(name: str | None, results: Path) -> str:
    """Every model in a few lines, or one in full, with the times of earlier runs in a results folder."""
    if name is None:
        return "\n\n".join(_model(key) for key in SHIPPED)
    if name not in SHIPPED:
        raise ConfigError(f"no model {name!r}{nearest(name, SHIPPED)}; models: {', '.join(SHIPPED)}")
    paragraphs = [each for each in paragraphs_of(name) if not each.startswith(COST)]
    return "\n".join([_model(name), _measured(name, results), "", "\n\n".join(paragraphs)])


def plans(campaigns: Sequence[Campaign]) -> str:
    """Each run of each experiment with its state, and what the command would cost."""
    return "\n\n".join("\n".join(map(str, plan(campaign))) for campaign in campaigns)


def plan(campaign: Campaign) -> tuple[str, Listing, str]:
    """The experiment, its runs, and what the command would cost."""
    experiment = campaign.experiment
    due = {job.identity for job in campaign.due}
    rows = []
    for planned in campaign.planned:
        job = planned.job
        state: str = "cached" if planned.state == "done" else planned.state
        if job.identity in due and state != "pending":
            state += ", runs again"
        rows.append((job.label, job.model, str(job.seed), state, job.folder.as_posix()))
    told = estimate(campaign)
    about = "no earlier run tells the time"
    if len(due) > told.unknown:
        about = f"about {units.show_seconds(told.seconds)}"
        if told.guessed:
            about += (
                f", {told.guessed} by their arithmetic alone, which is right within a factor of three or so"
            )
        if told.unknown:
            about += f", and {told.unknown} of which nothing is known yet"
    cost = f"{len(due)} to run: {about}" if due else "nothing to run"
    listing = Listing(("LABEL", "MODEL", "SEED", "STATE", "FOLDER"), tuple(rows), frozenset({2}))
    return f"{experiment.name}: {experiment.path}", listing, cost


def doctor() -> Listing:
    """Machine, numerical libraries and versions."""
    machine = provenance.machine()
    source = provenance.source()
    rows = [
        ("cpu", f"{machine['cpu']}, {machine['cores']} cores ({machine['logical_cores']} logical)"),
        ("memory", units.show_bytes(machine["memory"])),
        ("system", machine["os"]),
    ]
    for pool in provenance.blas():
        library = f"{pool['internal_api']} {pool.get('version') or ''}".strip()
        kernels = pool.get("architecture", "?")
        if pool["internal_api"] == "openblas" and KERNELS_VARIABLE in os.environ:
            kernels += f", set by {KERNELS_VARIABLE}"
        rows.append((pool["user_api"], f"{library} ({kernels}), {pool['num_threads']} threads"))
    rows += list(provenance.versions().items())
    if source["git_sha"]:
        rows.append(("source", source["git_sha"][:12] + (" with changes" if source["git_dirty"] else "")))
    return Listing((), tuple(rows))


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Rows as aligned text, two spaces between columns, the last one ragged."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def state(item: Listed) -> str:
    """Whether a dataset can be used."""
    if item.problem:
        return "unusable"
    return "ready" if item.fetched else "not fetched"


def _model(name: str) -> str:
    """First line of a model's description, its reference, its parameters with defaults, what it costs."""
    summary, *others = paragraphs_of(name)
    lines = [f"{name}: {summary}", f"    {SHIPPED[name].reference}"]
    params = ", ".join(f"{key}={value!r}" for key, value in defaults(name).items())
    if params:
        lines.append(f"    parameters: {params}")
    lines += _needed(name)
    lines += [f"    cost: {' '.join(each[len(COST) :].split())}" for each in others if each.startswith(COST)]
    return "\n".join(lines)


def _needed(name: str) -> list[str]:
    """What a peer needs, and whether it is there."""
    kind = SHIPPED[name]
    if not issubclass(kind, Peer) or not kind.needs:
        return []
    absent = missing(kind)
    state = f"not installed: {install(kind)}" if absent else "installed"
    return [f"    needs: {' and '.join(kind.needs)} ({state})"]


def _measured(name: str, results: Path) -> str:
    """What fits at the defaults took, as far as earlier runs tell; no guess for other sizes."""
    told = [
        f"{each.rows:,} rows of {each.dataset} {units.show_seconds(each.seconds)}"
        f" ({each.threads} {'thread' if each.threads == 1 else 'threads'})"
        for each in costs.measured(name, defaults(name), results)
    ]
    if not told:
        return f"    measured: no run at the defaults in {results}"
    return f"    measured: fits at the defaults in {results}: {'; '.join(told)}"


def paragraphs_of(name: str) -> list[str]:
    """The description of a model, in paragraphs."""
    return (inspect.getdoc(SHIPPED[name]) or "").split("\n\n")


def defaults(name: str) -> dict[str, Any]:
    """Parameters with their defaults, but the seed, which a run sets."""
    given = inspect.signature(SHIPPED[name]).parameters.values()
    return {each.name: each.default for each in given if each.name != SEED_PARAMETER}
