"""An experiment from its plan to its last run: what is cached, what runs now, what is set aside."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.context import ForkServerContext
from pathlib import Path

from hgpbench.bench import costs, effort, leftovers, plan, provenance
from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from hgpbench.bench.dispatch import Dispatcher
from hgpbench.bench.job import Job
from hgpbench.bench.plan import Planned
from hgpbench.bench.record import Record, Stamp
from hgpbench.bench.supervise import Supervisor, Watcher
from hgpbench.cluster import Cluster
from hgpbench.config import Experiment
from hgpbench.data.source import open_source
from hgpbench.data.split import Split


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
    known: frozenset[str] = frozenset()  # identities of runs that were done elsewhere


@dataclass(frozen=True)
class Campaign:
    """A checked experiment with the state of each of its runs."""

    experiment: Experiment
    options: Options
    planned: tuple[Planned, ...]
    stamps: dict[str, Stamp | None]  # which records there were when this was planned

    @property
    def due(self) -> list[Job]:
        """The jobs that this command has to run; one for all labels that ask for the same."""
        again = {"pending", "code changed", *(("failed", "skipped") if self.options.retry_failed else ())}
        asked = [p.job for p in self.planned if self.options.force or p.state in again]
        return list({job.identity: job for job in reversed(asked)}.values())[::-1]


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
    # A model may change the directory as soon as it is imported, which planning does.
    options = replace(options, results=options.results.absolute())
    seeds = options.seeds if options.seeds is not None else tuple(range(experiment.repeats))
    jobs = plan.make(experiment, seeds, options.only, options.threads)
    # Noted before the records are read: what is written from now on is seen as new.
    stamps = {job.identity: records.stamp(options.results / job.folder) for job in jobs}
    return Campaign(experiment, options, tuple(plan.states(jobs, options.results, options.known)), stamps)


def perform(campaign: Campaign, watcher: Watcher, where: ForkServerContext | Cluster) -> Tally:
    """Write the manifest, run what is due, here or on a cluster, count how it ended."""
    options, due = campaign.options, campaign.due
    _write_manifest(campaign)
    for item in campaign.planned:
        if item.state == "done":
            leftovers.sweep_finished(options.results / item.job.folder)
    runner = _runner(campaign, watcher, where)
    ended = runner.run(due)
    return _tally(campaign.planned, due, ended, runner.taken)


def _runner(
    campaign: Campaign, watcher: Watcher, where: ForkServerContext | Cluster
) -> Supervisor | Dispatcher:
    """Who sees the runs to their records."""
    experiment, options = campaign.experiment, campaign.options
    origin = {**provenance.collect(plan.folders(experiment)[0]), "command": options.command}
    if isinstance(where, Cluster):
        return Dispatcher(
            results=options.results,
            limits=experiment.limits,
            origin=origin,
            watcher=watcher,
            cluster=where,
            fail_fast=options.fail_fast,
            stamps=campaign.stamps,
        )
    return Supervisor(
        results=options.results,
        limits=experiment.limits,
        origin=origin,
        watcher=watcher,
        server=where,
        parallel=options.parallel,
        fail_fast=options.fail_fast,
        stamps=campaign.stamps,
    )


def estimate(campaign: Campaign) -> costs.Estimate:
    """What the due runs should take, as many at a time as was asked for."""
    results = campaign.options.results

    def sizes(job: Job) -> tuple[int, int, int]:
        source = open_source(job.dataset["name"], job.dataset["variant"])
        return *source.sizes(Split(**job.split)), source.n_inputs

    def seconds(job: Job) -> float | None:
        rows, _, inputs = sizes(job)
        return costs.by_arithmetic(job, rows, inputs, results)

    def memory(job: Job) -> float | None:
        return effort.memory(job.model, job.params, *sizes(job))

    found = costs.estimate(campaign.due, results, seconds, memory)
    at_once = campaign.options.parallel
    return replace(
        found,
        seconds=found.seconds / at_once,
        memory=found.memory * min(at_once, max(1, len(campaign.due))),
    )


def _write_manifest(campaign: Campaign) -> None:
    """Add the planned runs to those that earlier commands planned for the same settings."""
    experiment, options = campaign.experiment, campaign.options
    folder = options.results / experiment.name
    jobs = [planned.job for planned in campaign.planned]
    new, settings = plan.manifest(experiment, jobs), plan.settings(experiment, jobs)
    manifests.update(folder, lambda older: new.merged_with(plan.renewed(older, experiment, jobs), settings))


def _tally(
    planned: Sequence[Planned], due: Sequence[Job], ended: dict[str, Record | None], taken: set[str]
) -> Tally:
    """Every planned run by its ending; what this command did not run itself is cached where it is done."""
    counts: Counter[str] = Counter()
    running, found = {job.identity for job in due}, set(taken)
    for item in planned:
        identity = item.job.identity
        record = ended.get(identity)
        if identity not in running:
            counts["cached" if item.state in ("done", "elsewhere") else item.state] += 1
        elif record is None:
            counts["left"] += 1
        elif record.status == "done":
            counts["cached" if identity in found else "done"] += 1
        else:
            counts["skipped" if record.status == "skipped" else "failed"] += 1
        found.add(identity)  # a second label of the same run
    return Tally(**counts, changed=sum(item.state == "code changed" for item in planned))
