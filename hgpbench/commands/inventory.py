"""What the listing commands know, as plain data for other programs: their ``--json``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hgpbench.commands import described, listings
from hgpbench.commands.described import Described


def as_json(data: Any) -> str:
    """Plain data as text; what JSON has no word for is said as Python prints it."""
    return json.dumps(data, indent=1, default=repr)


def datasets() -> list[dict[str, Any]]:
    """Every dataset and variant."""
    from hgpbench.data.catalogue import list_datasets

    return [
        {"full_name": item.full_name, **asdict(item), "state": listings.state(item)}
        for item in list_datasets()
    ]


def models(name: str | None, results: Path) -> list[dict[str, Any]]:
    """Every model, or one with the times of earlier runs in a results folder."""
    if name is None:
        return list(map(_model, described.models().values()))
    from hgpbench.bench import costs

    model = listings.found(name)
    measured = costs.measured(name, model.defaults, results)
    reckoned = [{"rows": rows, "seconds": told} for rows, told in listings.reckoned(model).items()]
    return [{**_model(model), "reckoned": reckoned, "measured": [asdict(each) for each in measured]}]


def _model(model: Described) -> dict[str, Any]:
    return {
        "name": model.name,
        "summary": model.paragraphs[0],
        "reference": model.reference,
        "parameters": model.defaults,
        "cost": listings.cost(model),
        "needs": list(model.needs),
        "missing": model.missing,
    }
