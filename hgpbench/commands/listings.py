"""What the listing commands print: datasets, models, plans, the machine."""

import inspect
import os
from collections.abc import Collection, Sequence

from hgpbench import units
from hgpbench.bench import provenance
from hgpbench.bench.campaign import Campaign, estimate
from hgpbench.data.catalogue import Listed, list_datasets
from hgpbench.errors import ConfigError
from hgpbench.models import MODELS
from hgpbench.words import nearest

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


def models(name: str | None) -> str:
    """Every model in a few lines, or one model in full."""
    if name is None:
        return "\n\n".join(_model(key) for key in MODELS)
    if name not in MODELS:
        raise ConfigError(f"no model {name!r}{nearest(name, MODELS)}; models: {', '.join(MODELS)}")
    return f"{_model(name)}\n\n{inspect.getdoc(MODELS[name])}"


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
    """Name and first line of a model's description, its reference, its parameters with defaults."""
    kind = MODELS[name]
    summary = (inspect.getdoc(kind) or "").partition("\n")[0]
    given = inspect.signature(kind).parameters.values()
    params = ", ".join(f"{p.name}={p.default!r}" for p in given if p.name != "random_state")
    lines = [f"{name}: {summary}", f"    {kind.reference}"]
    if params:
        lines.append(f"    parameters: {params}")
    return "\n".join(lines)
