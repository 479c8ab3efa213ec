"""What the paper prints (``published.yaml``), and which of its experiments one of ours repeats."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from hgpbench.config import QUICK
from hgpbench.report.collect import Experiment

SOURCE = "published.yaml"
SIZES = "other sizes"
APART = "split apart"
_APART = {
    "by": "rows of the same {} on one side",
    "time": "tested on later {}",
    "blocks": "tested on whole ones of {} pieces of the file",
}

Quantity = Literal["smse", "msll", "seconds", "hours", "noise_var", "speedup"]
Printed = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$")]  # text, because 0.0020 has four decimals
Words = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Setup(_Strict):
    """An experiment of the paper: its data and sizes, and the names of ours on a part of the data.

    Or a series of experiments of ours that differ in the training rows alone and are read together.
    """

    dataset: Words
    variant: Words | None = None  # the one that is the paper's, where the card offers several
    train: Count | None = None
    test: Count | None = None
    apart: bool = False  # an experiment of ours whose split is meant to keep rows apart
    parts: tuple[Words, ...] = Field(default=(), strict=False)  # YAML has lists only
    series: tuple[Words, ...] = Field(default=(), strict=False)


class Printout(_Strict):
    """Numbers that stand together in one place of the paper."""

    experiment: Words
    place: Words
    about: Words
    models: Annotated[
        dict[Words, Annotated[dict[Quantity, Printed], Field(min_length=1)]], Field(min_length=1)
    ]


class Published(_Strict):
    """All that the paper prints."""

    experiments: dict[Words, Setup]
    tables: tuple[Printout, ...] = Field(strict=False)


@dataclass(frozen=True)
class Departure:
    """One way in which an experiment is not the paper's: a word for it, and the whole of it."""

    tag: str
    words: str


@cache
def load() -> Published:
    """The shipped numbers."""
    text = resources.files(__package__).joinpath(SOURCE).read_text(encoding="utf-8")
    return Published.model_validate(yaml.safe_load(text))


def counterpart(experiment: Experiment) -> str | None:
    """Name of the paper's experiment that this one repeats, wholly or in part; None where it is none."""
    name = experiment.name.removesuffix(QUICK)
    for base, setup in load().experiments.items():
        if name == base or name in setup.parts:
            return base if experiment.manifest.dataset["name"] == setup.dataset else None
    return None


def printouts(experiment: Experiment) -> list[Printout]:
    """What the paper prints of this experiment."""
    base = counterpart(experiment)
    return [each for each in load().tables if each.experiment == base]


def departures(experiment: Experiment) -> list[Departure]:
    """How the runs differ from the paper's experiment in data and sizes; empty for a full one."""
    base = counterpart(experiment)
    if base is None:
        return []
    setup, differences = load().experiments[base], []
    if experiment.name.endswith(QUICK):
        differences.append(Departure("quick", "quick variant"))
    variant = experiment.manifest.dataset.get("variant")
    if variant not in (None, setup.variant):
        differences.append(Departure(str(variant), f"dataset {setup.dataset}:{variant}"))
    if not setup.apart:
        differences += _apart(experiment.manifest.split)
    train = {record.n_train for record in experiment.finished}
    test = {record.n_test for record in experiment.finished}
    return [*differences, *_sizes(train, setup.train, "training"), *_sizes(test, setup.test, "test")]


def _apart(split: Mapping[str, Any]) -> list[Departure]:
    """What a split keeps together where the paper draws rows at random."""
    for key, words in _APART.items():
        if split.get(key) is not None:
            return [Departure(APART, words.format("inputs" if split[key] == "*" else split[key]))]
    return []


def _sizes(sizes: set[int | None], wanted: int | None, rows: str) -> list[Departure]:
    others = sorted(size for size in sizes if size is not None and size != wanted)
    if wanted is None or not others:
        return []
    said = " and ".join(f"{size:,}" for size in others)
    return [Departure(SIZES, f"{said} {rows} rows where the paper has {wanted:,}")]
