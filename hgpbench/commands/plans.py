"""What a command would run and what that should cost, as lines and as plain data."""

from collections.abc import Sequence
from typing import Any

from hgpbench import units
from hgpbench.bench.campaign import Campaign, estimate
from hgpbench.bench.costs import Estimate
from hgpbench.commands.listings import Listing


def plans(campaigns: Sequence[Campaign]) -> str:
    """What the command would cost, and each run of each experiment with its state."""
    each = ["\n".join(map(str, plan(campaign))) for campaign in campaigns]
    return "\n\n".join([*whole(campaigns), *each])


def whole(campaigns: Sequence[Campaign]) -> list[str]:
    """What all experiments would cost, where there are several."""
    if len(campaigns) < 2:
        return []
    told = sum((estimate(campaign) for campaign in campaigns), Estimate())  # one after the other
    return [f"in all {_cost(sum(len(campaign.due) for campaign in campaigns), told)}"]


def plan(campaign: Campaign) -> tuple[str, str, Listing]:
    """The experiment, what the command would cost, and the runs."""
    experiment = campaign.experiment
    due = {job.identity for job in campaign.due}
    rows = []
    for planned in campaign.planned:
        job = planned.job
        state: str = "cached" if planned.state == "done" else planned.state
        if job.identity in due and state != "pending":
            state += ", runs again"
        rows.append((job.label, job.model, str(job.seed), state, job.folder.as_posix()))
    listing = Listing(("LABEL", "MODEL", "SEED", "STATE", "FOLDER"), tuple(rows), frozenset({2}))
    return f"{experiment.name}: {experiment.path}", _cost(len(due), estimate(campaign)), listing


def _cost(due: int, told: Estimate) -> str:
    """What so many runs should take."""
    if not due:
        return "nothing to run"
    about = "no earlier run tells the time"
    if due > told.unknown:
        about = f"about {units.show_seconds(told.seconds)}"
        if told.guessed:
            about += f", {told.guessed} by their arithmetic alone (right within a factor of three or so)"
        if told.unknown:
            about += f", and {told.unknown} of which nothing is known yet"
    memory = f"; some {units.show_bytes(_rounded(told.memory))} of memory" if told.memory else ""
    return f"{due} to run: {about}{memory}"


def _rounded(count: float) -> int:
    """To two digits: no more is known."""
    digits = 10 ** max(0, len(str(int(count))) - 2)
    return round(count / digits) * digits


def as_data(campaigns: Sequence[Campaign]) -> list[dict[str, Any]]:
    """Each experiment with its runs, and what the command would cost."""
    return [_plan(campaign) for campaign in campaigns]


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
        "memory_bytes": round(told.memory) or None,
        "guessed": told.guessed,
        "unknown": told.unknown,
    }
