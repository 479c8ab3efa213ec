"""What the listing commands print: datasets, models, plans, the machine."""

import inspect
import os
from collections.abc import Collection, Sequence
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


def datasets() -> str:
    """One line per dataset and variant."""
    rows = [("DATASET", "ROWS", "INPUTS", "TARGET", "STATE", "LICENCE", "TITLE")]
    for item in list_datasets():
        rows.append(
            (
                item.full_name,
                f"{item.rows:,}" if item.rows else "?",
                str(item.inputs or "?"),
                item.target,
                _state(item),
                item.licence,
                item.problem or item.title,
            )
        )
    return columns(rows, right={1, 2})


def models(name: str | None, results: Path) -> str:
    """Every model in a few lines, or one in full, with the times of earlier runs in a results folder."""
    if name is None:
        return "\n\n".join(_model(key) for key in SHIPPED)
    if name not in SHIPPED:
        raise ConfigError(f"no model {name!r}{nearest(name, SHIPPED)}; models: {', '.join(SHIPPED)}")
    paragraphs = [each for each in _paragraphs(name) if not each.startswith(COST)]
    return "\n".join([_model(name), _measured(name, results), "", "\n\n".join(paragraphs)])


def plans(campaigns: Sequence[Campaign]) -> str:
    """Each run of each experiment with its state, and what the command would cost."""
    return "\n\n".join(_plan(campaign) for campaign in campaigns)


def doctor() -> str:
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
    return columns(rows)


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


def _plan(campaign: Campaign) -> str:
    experiment = campaign.experiment
    due = {job.identity for job in campaign.due}
    rows = [("LABEL", "MODEL", "SEED", "STATE", "FOLDER")]
    for planned in campaign.planned:
        job = planned.job
        state: str = "cached" if planned.state == "done" else planned.state
        if job.identity in due and state != "pending":
            state += ", runs again"
        rows.append((job.label, job.model, str(job.seed), state, job.folder.as_posix()))
    seconds, unknown = estimate(campaign)
    about = f"about {units.show_seconds(seconds)}" if len(due) > unknown else "no earlier run tells the time"
    if unknown and len(due) > unknown:
        about += f", and {unknown} of which nothing is known yet"
    cost = f"{len(due)} to run: {about}" if due else "nothing to run"
    return f"{experiment.name}: {experiment.path}\n{columns(rows, right={2})}\n{cost}"


def _state(item: Listed) -> str:
    if item.problem:
        return "unusable"
    return "ready" if item.fetched else "not fetched"


def _model(name: str) -> str:
    """First line of a model's description, its reference, its parameters with defaults, what it costs."""
    summary, *others = _paragraphs(name)
    lines = [f"{name}: {summary}", f"    {SHIPPED[name].reference}"]
    params = ", ".join(f"{key}={value!r}" for key, value in _defaults(name).items())
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
        for each in costs.measured(name, _defaults(name), results)
    ]
    if not told:
        return f"    measured: no run at the defaults in {results}"
    return f"    measured: fits at the defaults in {results}: {'; '.join(told)}"


def _paragraphs(name: str) -> list[str]:
    return (inspect.getdoc(SHIPPED[name]) or "").split("\n\n")


def _defaults(name: str) -> dict[str, Any]:
    """Parameters with their defaults, but the seed, which a run sets."""
    given = inspect.signature(SHIPPED[name]).parameters.values()
    return {each.name: each.default for each in given if each.name != SEED_PARAMETER}
