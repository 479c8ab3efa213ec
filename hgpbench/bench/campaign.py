"""An experiment from its plan to its last run: what is cached, what runs now, what is set aside."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from statistics import mean

from hgpbench.bench import manifest as manifests
from hgpbench.bench import plan, provenance
from hgpbench.bench import record as records
from hgpbench.bench.job import Job
from hgpbench.bench.plan import Planned
from hgpbench.bench.record import Record
from hgpbench.bench.supervise import Supervisor, Watcher
from hgpbench.config import Experiment


@dataclass(frozen=True)
class Options:
    """How to run, as the command line says it: what ``run`` offers, ``reproduce`` in part."""

    results: Path
    seeds: tuple[int, ...] | None = None  # None: as many as the config's repeats
    only: tuple[str, ...] = ()
    threads: int | None = None
    parallel: int = 1
    force: bool = False
    retry_failed: bool = False
    fail_fast: bool = False
    command: str = ""


@dataclass(frozen=True)
class Campaign:
    """A checked experiment with the state of each of its runs."""

    experiment: Experiment
    options: Options
    planned: tuple[Planned, ...]

    @property
    def due(self) -> list[Job]:
        """The jobs that this command has to run."""
        again = {"pending", "code changed", *(("failed", "skipped") if self.options.retry_failed else ())}
        return [p.job for p in self.planned if self.options.force or p.state in again]


@dataclass(frozen=True)
class Tally:
    """How many runs ended in which way."""

    done: int = 0
    cached: int = 0
    failed: int = 0
    skipped: int = 0
    left: int = 0  # not started, or under way in another process
    changed: int = 0  # of all these, runs that other code had done before

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    def __str__(self) -> str:
        text = f"{self.done} done, {self.cached} cached, {self.failed} failed, {self.skipped} skipped"
        text += f", {self.left} left" if self.left else ""
        return f"{text} ({self.changed} code changed)" if self.changed else text


def prepare(experiment: Experiment, options: Options) -> Campaign:
    """Check everything and look up what is there already; nothing is written."""
    seeds = options.seeds if options.seeds is not None else tuple(range(experiment.repeats))
    jobs = plan.make(experiment, seeds, options.only, options.threads)
    return Campaign(experiment, options, tuple(plan.states(jobs, options.results)))


def perform(campaign: Campaign, watcher: Watcher, server: ForkServerContext) -> Tally:
    """Write the manifest, run what is due, count how it ended."""
    experiment, options = campaign.experiment, campaign.options
    due = campaign.due
    _write_manifest(campaign)
    if options.force:
        for job in due:
            _set_aside(options.results / job.folder)
    supervisor = Supervisor(
        results=options.results,
        limits=experiment.limits,
        origin={**provenance.collect(plan.folders(experiment)[0]), "command": options.command},
        watcher=watcher,
        server=server,
        parallel=options.parallel,
        fail_fast=options.fail_fast,
    )
    ended = supervisor.run(due)
    return _tally(campaign.planned, due, ended)


def estimate(campaign: Campaign) -> tuple[float, int]:
    """Seconds that the due runs should take, from earlier runs, and how many runs nothing is known of."""
    known, unknown = 0.0, 0
    for job in campaign.due:
        times = _earlier_times(job, campaign.options.results)
        if times:
            known += mean(times)
        else:
            unknown += 1
    return known / campaign.options.parallel, unknown


def _write_manifest(campaign: Campaign) -> None:
    """Add the planned runs to those that earlier commands planned for the same settings."""
    experiment, options = campaign.experiment, campaign.options
    folder = options.results / experiment.name
    jobs = [planned.job for planned in campaign.planned]
    new, settings = plan.manifest(experiment, jobs), plan.settings(experiment, jobs)
    older = plan.renewed(manifests.find(folder), experiment, jobs)
    manifests.write(folder, new.merged_with(older, settings))


def _set_aside(folder: Path) -> None:
    """Rename a run's folder, so that --force replaces a result without losing it."""
    if not (folder / records.RECORD).exists():
        return
    number = 1
    while (aside := folder.with_name(f"{folder.name}~{number}")).exists():
        number += 1
    folder.rename(aside)


def _tally(planned: Sequence[Planned], due: Sequence[Job], ended: dict[str, Record | None]) -> Tally:
    counts: Counter[str] = Counter()
    running = {job.identity for job in due}
    for item in planned:
        record = ended.get(item.job.identity)
        if item.job.identity not in running:
            counts["cached" if item.state == "done" else item.state] += 1
        elif record is None:
            counts["left"] += 1
        else:
            counts[record.status if record.status in {"done", "skipped"} else "failed"] += 1
    return Tally(**counts, changed=sum(item.state == "code changed" for item in planned))


def _earlier_times(job: Job, results: Path) -> list[float]:
    """Total times of finished runs of the same setting, or else of the same model on the same dataset."""
    stored = [record for path in (results / job.folder.parent).glob("*/") if (record := records.find(path))]
    done = [record for record in stored if record.status == "done"]
    same = [r for r in done if r.params == job.params and r.split == job.split]
    return [record.timings["total_wall"] for record in same or done]
