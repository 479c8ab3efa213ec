"""Find the experiments in a results folder and what became of each of their planned runs."""

import glob
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

from hgpbench.bench import manifest, record
from hgpbench.bench.manifest import Entry, Manifest
from hgpbench.bench.record import Arrays, Record, Status
from hgpbench.errors import RecordError
from hgpbench.report import digest
from hgpbench.report.digest import Digest
from hgpbench.words import SEVERAL, printable, printable_all

State = Status | Literal["not run", "damaged"]
NOT_RUN: State = "not run"  # of a run, and of a claim about runs
Progress = Callable[[int, int], None]  # runs read so far, runs in all
_LONGEST = 1_000  # characters of a reason
_THREADS = min(8, os.cpu_count() or 1)


@dataclass(frozen=True)
class Run:
    """One planned run: where it is, what became of it, and its digest if it was done."""

    entry: Entry
    folder: Path
    state: State
    reason: str | None = None
    record: Record | None = None
    digest: Digest | None = None
    is_line: bool = False  # known by the line that was kept of it, without its folder
    kept: Arrays | None = None  # what such a line has of its arrays

    def arrays(self) -> Arrays | None:
        """What a finished run predicted; where there is but its line, the little that this keeps, if any."""
        return self.kept if self.is_line else record.read_arrays(self.folder)


@dataclass(frozen=True)
class Experiment:
    """The plan of an experiment and its runs, in the order of the plan."""

    manifest: Manifest
    runs: tuple[Run, ...]
    mixed: frozenset[str] = frozenset()  # labels whose runs different code or data have made

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def labels(self) -> list[str]:
        """Labels in the order of the plan."""
        return list(dict.fromkeys(run.entry.label for run in self.runs))

    @property
    def finished(self) -> list[Record]:
        """Records of the runs that have a score."""
        return [run.record for run in self.runs if run.record is not None and run.digest is not None]

    @property
    def has_mixtures(self) -> bool:
        """Whether any predictive is other than normal, so that the two MSLL differ."""
        return any(run.digest is not None and run.digest.is_mixture for run in self.runs)

    def of(self, label: str) -> list[Run]:
        """All planned runs of a label, by seed."""
        return list(self._by_label.get(label, ()))

    def done(self, label: str) -> dict[int, Digest]:
        """Digests of the finished runs of a label by seed."""
        return {run.entry.seed: run.digest for run in self.of(label) if run.digest is not None}

    @cached_property
    def _by_label(self) -> dict[str, list[Run]]:
        """Looked up for every pair of labels that is compared, so sorted once."""
        found: dict[str, list[Run]] = {}
        for run in sorted(self.runs, key=lambda run: run.entry.seed):
            found.setdefault(run.entry.label, []).append(run)
        return found


@dataclass(frozen=True)
class Collection:
    """Every experiment found, and one line for each that could not be read."""

    experiments: tuple[Experiment, ...]
    problems: tuple[str, ...] = ()


def collect(path: Path, progress: Progress | None = None, names: Sequence[str] = ()) -> Collection:
    """Read one experiment's folder, or those of a results folder: all, or the named ones in their order."""
    if (path / manifest.MANIFEST).is_file():
        return _read_all([(path, _plan(path))], (), progress)
    several = (
        [] if names else sorted(path.parent.glob(f"{glob.escape(path.name)}{SEVERAL}*/{manifest.MANIFEST}"))
    )
    if several:  # the name of an experiment on several datasets, which has no folder of its own
        return _read_all([(file.parent, _plan(file.parent)) for file in several], (), progress)
    if not path.is_dir():
        raise RecordError(
            f"{path}: no such folder; give a results folder or one experiment's folder inside it"
        )
    plans, problems = [], []
    every = sorted(file.parent for file in path.glob(f"*/{manifest.MANIFEST}"))
    for folder in [path / name for name in names] or every:
        try:
            plans.append((folder, _plan(folder)))
        except RecordError as error:
            problems.append(printable(str(error)))
    if not plans:
        detail = f" ({problems[0]})" if problems else ""
        raise RecordError(
            f"{path}: no experiment in this folder{detail}; start one with `hgpbench run CONFIG`"
        )
    return _read_all(plans, tuple(problems), progress)


def _plan(folder: Path) -> Manifest:
    """The stored plan with words that can be shown."""
    stored = manifest.read(folder)
    entries = tuple(replace(e, label=printable(e.label), model=printable(e.model)) for e in stored.entries)
    about = {"dataset": printable_all(stored.dataset), "split": printable_all(stored.split)}
    return replace(stored, title=printable(stored.title), entries=entries, **about)


def _results_folder(folder: Path, plan: Manifest) -> Path:
    """The folder that the plan's runs are relative to; the experiment's own may be a link, either way."""
    beside, behind = (Path.cwd() / folder).parent, folder.resolve().parent
    tops = {Path(entry.folder).parts[0] for entry in plan.entries if Path(entry.folder).parts}
    there = {path.name for path in beside.iterdir()}
    return beside if tops & there else behind


def _read_all(
    plans: list[tuple[Path, Manifest]], problems: tuple[str, ...], progress: Progress | None
) -> Collection:
    roots = [(_results_folder(folder, plan), plan) for folder, plan in plans]
    planned = [(root, entry) for root, plan in roots for entry in plan.entries]
    runs = iter(_read_runs(planned, progress))
    experiments = tuple(Experiment(plan, tuple(islice(runs, len(plan.entries)))) for _, plan in plans)
    return Collection(experiments, problems)


def _read_runs(planned: list[tuple[Path, Entry]], progress: Progress | None) -> list[Run]:
    """Read and score in threads: scoring is numpy and scipy, which let each other run."""
    runs: list[Run] = []
    pool = ThreadPoolExecutor(max_workers=_THREADS)
    try:
        for run in pool.map(_read_run, *zip(*planned, strict=True)) if planned else ():
            runs.append(run)
            if progress is not None:
                progress(len(runs), len(planned))
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupted report does not score the rest first
    return runs


def _read_run(results: Path, entry: Entry) -> Run:
    folder = results / entry.folder
    try:
        if ".." in folder.parts or Path(entry.folder).is_absolute():
            raise RecordError(f"{entry.folder}: leads out of the results folder")
        if not (folder / record.RECORD).is_file():
            return Run(entry, folder, NOT_RUN)
        stored = record.read_at(folder, entry.model, entry.seed)
        shown = Record(**printable_all(vars(stored)))
        if stored.status != "done":
            return Run(entry, folder, stored.status, _shortened(shown.reason), shown)
        return Run(entry, folder, "done", None, shown, digest.of_run(folder, stored))
    except (RecordError, OSError) as error:
        return Run(entry, folder, "damaged", _shortened(f"{printable(str(error))}; run again with --force"))


def _shortened(reason: str | None) -> str | None:
    """A reason that a table can hold; the record keeps all of it."""
    return reason if reason is None or len(reason) <= _LONGEST else f"{reason[:_LONGEST]} …"
