"""What the listing commands know, as plain data for other programs: their ``--json``."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hgpbench.bench import costs, provenance
from hgpbench.bench.campaign import Campaign, estimate
from hgpbench.bench.estimators import SHIPPED
from hgpbench.commands import listings
from hgpbench.data.catalogue import list_datasets
from hgpbench.errors import ConfigError
from hgpbench.peers import Peer, missing
from hgpbench.words import nearest


def as_json(data: Any) -> str:
    """Plain data as text; what JSON has no word for is said as Python prints it."""
    return json.dumps(data, indent=1, default=repr)


def datasets() -> list[dict[str, Any]]:
    """Every dataset and variant."""
    return [
        {"full_name": item.full_name, **asdict(item), "state": listings.state(item)}
        for item in list_datasets()
    ]


def models(name: str | None, results: Path) -> list[dict[str, Any]]:
    """Every model, or one with the times of earlier runs in a results folder."""
    if name is None:
        return [_model(key) for key in SHIPPED]
    if name not in SHIPPED:
        raise ConfigError(f"no model {name!r}{nearest(name, SHIPPED)}; models: {', '.join(SHIPPED)}")
    measured = costs.measured(name, listings.defaults(name), results)
    return [{**_model(name), "measured": [asdict(each) for each in measured]}]


def plans(campaigns: Sequence[Campaign]) -> list[dict[str, Any]]:
    """Each experiment with its runs, and what the command would cost."""
    return [_plan(campaign) for campaign in campaigns]


def doctor() -> dict[str, Any]:
    """Machine, numerical libraries, versions and source."""
    return {
        "machine": provenance.machine(),
        "blas": provenance.blas(),
        "versions": provenance.versions(),
        "source": provenance.source(),
    }


def _model(name: str) -> dict[str, Any]:
    summary, *others = listings.paragraphs_of(name)
    kind = SHIPPED[name]
    needs = kind.needs if issubclass(kind, Peer) else ()
    return {
        "name": name,
        "summary": summary,
        "reference": kind.reference,
        "parameters": listings.defaults(name),
        "cost": next(
            (
                " ".join(each[len(listings.COST) :].split())
                for each in others
                if each.startswith(listings.COST)
            ),
            None,
        ),
        "needs": list(needs),
        "missing": list(missing(kind)) if issubclass(kind, Peer) else [],
    }


def _plan(campaign: Campaign) -> dict[str, Any]:
    due = {job.identity for job in campaign.due}
    told = estimate(campaign)
    return {
        "experiment": campaign.experiment.name,
        "config": str(campaign.experiment.path),
        "runs": [
            {
                "label": planned.job.label,
                "model": planned.job.model,
                "seed": planned.job.seed,
                "state": planned.state,
                "due": planned.job.identity in due,
                "folder": planned.job.folder.as_posix(),
            }
            for planned in campaign.planned
        ],
        "due": len(due),
        "seconds": told.seconds if len(due) > told.unknown else None,
        "guessed": told.guessed,
        "unknown": told.unknown,
    }
