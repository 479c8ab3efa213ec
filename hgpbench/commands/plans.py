"""What a command would run and what that should cost, as lines and as plain data."""

from collections.abc import Sequence
from typing import Any

from hgpbench import units
from hgpbench.bench.campaign import Campaign, estimate
from hgpbench.commands.listings import Listing


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
        "guessed": told.guessed,
        "unknown": told.unknown,
    }
