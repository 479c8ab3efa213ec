"""From an experiment to its jobs: everything that can be wrong is found here, before anything runs."""

import fnmatch
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from hgpbench.bench import estimators
from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from hgpbench.bench.job import Job
from hgpbench.bench.record import Record
from hgpbench.config import MAX_RUNS, Entry, Experiment, SplitConfig
from hgpbench.data.source import Source, open_source
from hgpbench.data.split import Split
from hgpbench.errors import ConfigError, DataError
from hgpbench.words import nearest

State = Literal["pending", "done", "failed", "skipped"]


@dataclass(frozen=True)
class Planned:
    """A job and what is known of it already."""

    job: Job
    state: State


def make(experiment: Experiment, seeds: Sequence[int], only: Sequence[str], threads: int | None) -> list[Job]:
    """The jobs of an experiment, seed by seed, so that an early stop leaves comparable rows."""
    source = _source(experiment)
    split = _split(experiment, source)
    entries = _selected(experiment, only)
    if len(entries) * len(seeds) > MAX_RUNS:
        raise ConfigError(
            f"{experiment.path}: {len(entries) * len(seeds):,} runs ({len(entries):,} labels, {len(seeds):,} "
            f"seeds) are more than the {MAX_RUNS:,} of one command; choose some with --only or --seeds"
        )
    settings = [(entry, parameters(entry, experiment)) for entry in entries]
    dataset = {name: getattr(source, name) for name in ("name", "variant", "sha256", "target", "synthetic")}
    return [
        Job(
            experiment=experiment.name,
            label=entry.label,
            model=entry.model,
            params=params,
            seed=seed,
            dataset=dataset,
            split={"train": split.train, "test": split.test},
            threads=threads or experiment.limits.threads,
            swept=entry.swept,
        )
        for seed in seeds
        for entry, params in settings
    ]


def manifest(experiment: Experiment, jobs: Sequence[Job]) -> manifests.Manifest:
    """What the report needs to find the runs of these jobs."""
    entries = tuple(manifests.Entry(j.label, j.model, j.seed, j.folder.as_posix(), j.setting) for j in jobs)
    return manifests.Manifest(experiment.name, experiment.title, jobs[0].dataset, jobs[0].split, entries)


def settings(experiment: Experiment, jobs: Sequence[Job]) -> dict[str, str]:
    """The setting of every label in the file's order, also of those that ``--only`` left out of the jobs."""
    planned = {job.label: job for job in jobs}
    for entry in experiment.entries:
        if entry.label not in planned:
            params = parameters(entry, experiment)
            planned[entry.label] = replace(
                jobs[0], label=entry.label, model=entry.model, params=params, swept=entry.swept
            )
    return {entry.label: planned[entry.label].setting for entry in experiment.entries}


def states(jobs: Iterable[Job], results: Path) -> list[Planned]:
    """What the results folder already has of each job."""
    return [Planned(job, _state(records.find(results / job.folder))) for job in jobs]


def _state(record: Record | None) -> State:
    """How a run stands; one that was ended from outside counts as pending."""
    if record is None or record.status == "killed":
        return "pending"
    if record.status == "done" or record.status == "skipped":
        return record.status
    return "failed"


def _selected(experiment: Experiment, only: Sequence[str]) -> list[Entry]:
    """The entries that ``--only`` names: by label, by the label before a sweep, or by a pattern."""
    if not only:
        return list(experiment.entries)
    chosen = set[str]()
    for wanted in only:
        hits = [
            e.label for e in experiment.entries if wanted == e.base or fnmatch.fnmatchcase(e.label, wanted)
        ]
        if not hits:
            labels = [entry.label for entry in experiment.entries]
            raise ConfigError(
                f"--only {wanted}: no such label{nearest(wanted, labels)}; labels: {', '.join(labels)}"
            )
        chosen.update(hits)
    return [entry for entry in experiment.entries if entry.label in chosen]


def _source(experiment: Experiment) -> Source:
    try:
        return open_source(experiment.dataset, experiment.variant)
    except DataError as error:
        raise ConfigError(f"{experiment.document.where(('dataset',))}: dataset: {error}") from None


def _split(experiment: Experiment, source: Source) -> Split:
    asked = experiment.split
    if asked is None:
        split = source.default_split
    elif isinstance(asked, SplitConfig):
        split = Split(asked.train, asked.test)
    else:
        split = Split(asked, asked)
    try:
        source.sizes(split)
    except DataError as error:
        raise ConfigError(f"{experiment.document.where(('split',))}: split: {error}") from None
    return split


def parameters(entry: Entry, experiment: Experiment) -> dict[str, Any]:
    """All parameters of the model, defaults included; each given one checked against the signature."""
    try:
        kind = estimators.find(entry.model)
    except ConfigError as error:
        at = experiment.document.where(("models", entry.base, "model"))
        raise ConfigError(f"{at}: models.{entry.base}: {error}") from None
    signature = inspect.signature(kind)
    hints = get_type_hints(kind.__init__)
    allowed = [name for name in signature.parameters if name != estimators.SEED_PARAMETER]
    checked = {name: signature.parameters[name].default for name in allowed}
    for part, values in (("models", entry.given), ("sweep", entry.params)):
        for name, value in values.items():
            where = f"{experiment.document.where((part, entry.base, name))}: {part}.{entry.base}.{name}"
            if name == estimators.SEED_PARAMETER:
                raise ConfigError(f"{where}: set by the run's seed; use repeats or --seeds")
            if name in getattr(kind, "former", {}):
                raise ConfigError(
                    f"{where}: {entry.model} has no such parameter any more: it is {kind.former[name]}"
                )
            if name not in allowed:
                raise ConfigError(
                    f"{where}: {entry.model} has no such parameter{nearest(name, allowed)}; "
                    f"parameters: {', '.join(allowed) or 'none'}"
                )
            checked[name] = _checked(value, hints.get(name, Any), where)
            if name in getattr(kind, "shorthands", {}):
                checked[name] = _written(kind.shorthands[name], checked[name], where)
    return checked


def _written(shorthand: Callable[[str], str], value: str, where: str) -> str:
    """The one text for what a shorthand stands for: runs of the same settings are the same runs."""
    try:
        return shorthand(value)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


def _checked(value: Any, hint: Any, where: str) -> Any:
    """The value as the signature's type, or an error that says what the type allows."""
    try:
        return TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True)).validate_python(
            value, strict=True
        )
    except ValidationError as error:
        allowed = " or ".join(
            dict.fromkeys(p["msg"].removeprefix("Input should be ") for p in error.errors())
        )
        raise ConfigError(f"{where}: {value!r:.60} is not allowed; allowed: {allowed}") from None
