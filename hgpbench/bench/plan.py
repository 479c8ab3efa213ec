"""From an experiment to its jobs: everything that can be wrong is found here, before anything runs."""

import fnmatch
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from hgpbench import shipped
from hgpbench.bench import estimators
from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from hgpbench.bench.estimators import Model
from hgpbench.bench.job import Job, asked_by
from hgpbench.bench.signature import arguments
from hgpbench.config import MAX_RUNS, Entry, Experiment, SplitConfig
from hgpbench.data.source import Source, open_source
from hgpbench.data.split import Split
from hgpbench.errors import ConfigError, DataError
from hgpbench.words import nearest

State = Literal["pending", "done", "elsewhere", "failed", "skipped", "code changed"]


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
    dataset = {name: getattr(source, name) for name in ("name", "variant", "sha256", "target", "synthetic")}
    shares = split.asked()
    templates = [
        _job(entry, experiment, dataset, shares, threads or experiment.limits.threads) for entry in entries
    ]
    return [replace(template, seed=seed) for seed in seeds for template in templates]


def parameters(entry: Entry, experiment: Experiment) -> dict[str, Any]:
    """All parameters of an entry's model, defaults included, checked."""
    return arguments(entry, _model(entry, experiment), experiment.document)


def folders(experiment: Experiment) -> tuple[Path, ...]:
    """Where a model of the user's own may lie: beside the experiment file, or in the working folder."""
    here, beside = Path.cwd(), experiment.path.resolve().parent
    return (here,) if beside == shipped.folder("configs").resolve() else tuple(dict.fromkeys((beside, here)))


def manifest(experiment: Experiment, jobs: Sequence[Job]) -> manifests.Manifest:
    """What the report needs to find the runs of these jobs."""
    entries = tuple(manifests.Entry(j.label, j.model, j.seed, j.folder.as_posix(), j.setting) for j in jobs)
    return manifests.Manifest(experiment.name, experiment.title, jobs[0].dataset, jobs[0].split, entries)


def settings(experiment: Experiment, jobs: Sequence[Job]) -> dict[str, str]:
    """The setting of every label in the file's order, also of those that ``--only`` left out of the jobs."""
    return {label: job.setting for label, job in _templates(experiment, jobs).items()}


def renewed(
    older: manifests.Manifest | None, experiment: Experiment, jobs: Sequence[Job]
) -> manifests.Manifest | None:
    """An earlier manifest with the folders that its runs have by the code of today.

    A run that only other code has done is then "not run" in the report, until it has been run again: a table
    never mixes what different code computed.
    """
    if older is None:
        return None
    templates = _templates(experiment, jobs)
    return replace(
        older, entries=tuple(_renewed(entry, templates.get(entry.label)) for entry in older.entries)
    )


def states(jobs: Iterable[Job], results: Path, known: Container[str] = ()) -> list[Planned]:
    """What the results folder has of each job already, and which others are known to be done elsewhere."""
    listed = cache(_by_question)  # each folder is listed once, however many jobs it holds
    planned = [Planned(job, _state(job, results, listed(results / job.folder.parent))) for job in jobs]
    return [
        replace(each, state="elsewhere") if each.state != "done" and each.job.identity in known else each
        for each in planned
    ]


def _job(
    entry: Entry, experiment: Experiment, dataset: dict[str, Any], split: dict[str, Any], threads: int
) -> Job:
    """The job of an entry, with the first seed."""
    model = _model(entry, experiment)
    params = arguments(entry, model, experiment.document)
    try:
        model = estimators.complete(model, params)
    except ConfigError as error:
        raise ConfigError(f"{_place(entry, experiment)}: {error}") from None
    return Job(
        experiment=experiment.name,
        label=entry.label,
        model=model.name,
        params=params,
        seed=0,
        dataset=dataset,
        split=split,
        threads=threads,
        code=model.code,
        address=model.address,
        swept=entry.swept,
    )


def _model(entry: Entry, experiment: Experiment) -> Model:
    try:
        return estimators.find(entry.model, folders(experiment))
    except ConfigError as error:
        raise ConfigError(f"{_place(entry, experiment)}: {error}") from None


def _place(entry: Entry, experiment: Experiment) -> str:
    """Where an experiment file names the model of an entry."""
    return f"{experiment.document.where(('models', entry.base, 'model'))}: models.{entry.base}"


def _templates(experiment: Experiment, jobs: Sequence[Job]) -> dict[str, Job]:
    """A job of every label, in the file's order."""
    planned, first = {job.label: job for job in jobs}, jobs[0]
    return {
        entry.label: planned.get(entry.label)
        or _job(entry, experiment, first.dataset, first.split, first.threads)
        for entry in experiment.entries
    }


def _renewed(entry: manifests.Entry, template: Job | None) -> manifests.Entry:
    if template is None or template.setting != entry.setting:
        return entry
    return replace(entry, folder=replace(template, seed=entry.seed).folder.as_posix())


def _by_question(folder: Path) -> dict[str, list[str]]:
    """The runs in a folder, by what they were asked, whatever code answered."""
    found = defaultdict[str, list[str]](list)
    for path in folder.iterdir() if folder.is_dir() else ():
        found[asked_by(path.name)].append(path.name)
    return found


def _state(job: Job, results: Path, listed: dict[str, list[str]]) -> State:
    """How a run stands; one that was ended from outside counts as pending."""
    record = records.find_at(results / job.folder, job.model, job.seed)
    if record is None:
        others = (name for name in listed.get(job.asked, ()) if name != job.folder.name)
        done = any((results / job.folder.with_name(name) / records.RECORD).is_file() for name in others)
        return "code changed" if done else "pending"
    if record.status == "killed":
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
        place = ".".join(map(str, experiment.place))
        raise ConfigError(f"{experiment.document.where(experiment.place)}: {place}: {error}") from None


def _split(experiment: Experiment, source: Source) -> Split:
    asked = experiment.split
    if asked is None:
        split = source.default_split
    elif isinstance(asked, SplitConfig):
        split = Split(**asked.model_dump())
    else:
        split = Split(asked, asked)
    try:
        source.sizes(split)
    except DataError as error:
        raise ConfigError(f"{experiment.document.where(('split',))}: split: {error}") from None
    return split
