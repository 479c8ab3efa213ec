"""Runs on a cluster: each is an errand of one worker, and its record is written here, as on one machine.

This side decides which worker gets which run, as it knows the limits; the cluster says who lives. A run whose
worker is lost starts again on another one, from the last checkpoint that came back, at most ``ATTEMPTS``
times in all. The run's lock is held here from its start to its record, so nobody does it twice.
"""

import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hgpbench import files
from hgpbench.bench import agent, code, supply
from hgpbench.bench import errand as errands
from hgpbench.bench import record as records
from hgpbench.bench.channel import Told
from hgpbench.bench.errand import Outcome
from hgpbench.bench.held import Held, hold
from hgpbench.bench.job import Job
from hgpbench.bench.muster import Muster
from hgpbench.bench.record import Record, Stamp
from hgpbench.bench.supervise import POLL, Interrupted, Watcher, signals_noted
from hgpbench.bench.trust import Trust
from hgpbench.cluster import Cluster, Worker, answer_of
from hgpbench.config import Limits
from hgpbench.errors import ClusterError

ATTEMPTS = 3  # of a run, each lost with its worker
LOOK_EVERY = 0.5  # seconds between looks at who lives
LONELY = 600.0  # seconds without any worker after which nobody is expected to come
AGAIN = "the next run starts it again"
FAREWELL = 20.0  # seconds for interrupted runs to hand in their records


@dataclass
class _Run:
    """A run that this command is at."""

    job: Job
    held: Held
    losses: int = 0
    trouble: str = ""  # with its last worker
    avoided: set[str] = field(default_factory=set)  # folders of workers with which it had trouble
    address: str = ""
    folder: str = ""  # of its worker, which another one at the same address would not have
    attempt: str = ""
    future: Any = None
    started: float = field(default_factory=time.monotonic)


@dataclass
class Dispatcher:
    """Sends jobs to the workers of a cluster, and sees each to its record."""

    results: Path
    limits: Limits
    origin: dict[str, Any]
    watcher: Watcher
    cluster: Cluster
    fail_fast: bool = False
    stamps: dict[str, Stamp | None] = field(default_factory=dict)  # the records there when this was planned
    taken: set[str] = field(default_factory=set)  # identities that another process ran since then
    _running: dict[str, _Run] = field(default_factory=dict)  # by attempt
    _again: deque[_Run] = field(default_factory=deque)  # lost, and to be started elsewhere
    _supplying: dict[tuple[str, str], list[_Run]] = field(default_factory=dict)
    _workers: dict[str, Worker] = field(default_factory=dict)
    _trust: Trust = field(default_factory=Trust)
    _inbox: "queue.SimpleQueue[Callable[[], None]]" = field(default_factory=queue.SimpleQueue)
    _topic: str = field(default_factory=lambda: f"hgpbench-{uuid.uuid4().hex}")
    _ended: dict[str, Record | None] = field(default_factory=dict)
    _seen: float = field(default_factory=time.monotonic)  # when there was a worker last
    _looked: float = 0.0

    def run(self, jobs: list[Job]) -> dict[str, Record | None]:
        """Run all jobs; records by identity, None for one that another process is running."""
        waiting = deque(jobs)
        with signals_noted() as arrived:
            self.cluster.listen(self._topic, lambda message: self._inbox.put(lambda: self._hear(message)))
            try:
                self._workers = self.cluster.workers()
                self._muster = self._met(jobs)
                while waiting or self._again or self._running:
                    self._look()
                    self._start_what_fits(waiting)
                    self._attend()
                    if self.fail_fast and self._has_failed():
                        waiting.clear()
                    if arrived:
                        self._interrupt(arrived[0])
                        raise Interrupted(arrived[0])
            finally:
                self._let_go(f"the command ended before the run did; {AGAIN}")
                self.cluster.hush(self._topic)
        return self._ended

    def _has_failed(self) -> bool:
        return any(r and r.status not in {"done", "skipped"} for r in self._ended.values())

    def _met(self, jobs: list[Job]) -> Muster:
        """The workers that are there at the start."""
        digests = {k: v for job in jobs for k, v in code.shipped_files(job.code).items()}
        muster = Muster(self.cluster, digests, self.watcher.noted, self._inbox.put)
        muster.begin(list(self._workers))
        return muster

    def _look(self) -> None:
        """Who lives; runs of those who do not are lost."""
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        self._looked, self._workers = now, self.cluster.workers()
        self._muster.greet(self._workers)
        for run in list(self._running.values()):
            worker = self._workers.get(run.address)
            if worker is None or worker.folder != run.folder:
                self._lost(run, "was lost")
        if any(map(self._muster.accepts, self._workers)):
            self._seen = now
        elif now - self._seen > LONELY:
            raise ClusterError(
                f"{self.cluster.title} has had no worker for {LONELY / 60:.0f} minutes; "
                "start some, and type the same command to continue"
            )

    def _start_what_fits(self, waiting: deque[Job]) -> None:
        """Fill every worker, those with the fewest runs first."""
        for run in list(self._again):
            address = self._free_worker(run.job, run.avoided)
            if address is not None:
                self._again.remove(run)
                self._send(run, address)
        while waiting:
            address = self._free_worker(waiting[0], ())
            if address is None:
                return
            new = self._claim(waiting.popleft())
            if new is not None:
                self._send(new, address)

    def _free_worker(self, job: Job, avoided: Collection[str]) -> str | None:
        usable = {a: w for a, w in self._workers.items() if self._muster.accepts(a) and not w.paused}
        counts = dict.fromkeys(self._trust.chosen(usable, avoided), 0)
        for run in self._running.values():
            if run.address in counts:
                counts[run.address] += 1
        free = [a for a, count in counts.items() if count < self._places(usable[a], job)]
        return min(free, key=lambda a: counts[a], default=None)

    def _places(self, worker: Worker, job: Job) -> int:
        """How many such runs a worker can do at once: at least one."""
        most = worker.threads // job.threads
        if self.limits.memory is not None and worker.memory is not None:
            most = min(most, worker.memory // self.limits.memory)
        return max(most, 1)

    def _claim(self, job: Job) -> _Run | None:
        held = hold(self.results, job, self.stamps.get(job.identity))
        if isinstance(held, Held):
            self.watcher.started(job)
            return _Run(job, held)
        if held is not None:
            self.taken.add(job.identity)
        self._ended[job.identity] = held
        self.watcher.finished(job, held)
        return None

    def _send(self, run: _Run, address: str) -> None:
        """Give the run to a worker, with the last state that there is of it."""
        run.address, run.folder, run.attempt = address, self._workers[address].folder, uuid.uuid4().hex
        state = run.held.place / records.CHECKPOINT
        content = state.read_bytes() if state.is_file() else None
        parcel = errands.pack(run.job, self.limits, self.origin, run.attempt, content)
        run.future = self.cluster.start(address, agent.run, parcel, self._topic)
        self._running[run.attempt] = run
        attempt = run.attempt
        run.future.add_done_callback(lambda future: self._receive(attempt, future))

    def _receive(self, attempt: str, future: Any) -> None:
        """On a thread of Dask's: fetch what a worker answered."""
        try:
            outcome = answer_of(future)
        except ClusterError as error:
            outcome = Outcome(problem=str(error))
        self._inbox.put(lambda: self._answered(attempt, outcome))

    def _attend(self) -> None:
        """Do what has come up, waiting a moment for it."""
        with suppress(queue.Empty):
            self._inbox.get(timeout=POLL)()
            while True:
                self._inbox.get_nowait()()

    def _hear(self, message: dict[str, Any]) -> None:
        run = self._running.get(message["attempt"])
        if run is None:  # of an attempt that was given up
            return
        if "told" in message:
            self.watcher.progressed(run.job, Told(**message["told"]))
        else:
            threading.Thread(target=self._fetch, args=(run, run.attempt, run.address), daemon=True).start()

    def _fetch(self, run: _Run, attempt: str, address: str) -> None:
        """Bring a checkpoint home, from which the run can go on without its worker."""
        content = self.cluster.ask([address], agent.checkpoint, attempt).get(address)
        if isinstance(content, bytes):
            self._inbox.put(lambda: self._keep(run, attempt, content))

    def _keep(self, run: _Run, attempt: str, content: bytes) -> None:
        if self._running.get(attempt) is run:
            with suppress(OSError):  # no room: the run may still end well
                _write(run.held.place / records.CHECKPOINT, content)

    def _answered(self, attempt: str, outcome: Outcome) -> None:
        """A worker has ended an errand, one way or another."""
        run = self._running.get(attempt)
        if run is None:
            return
        if outcome.lacks_data:
            self._supply(run)
        elif outcome.record is None:
            self._lost(run, f"could not do it: {outcome.problem}")
        else:
            self._trust.success(run.folder)
            self._conclude(run, outcome.record, outcome.files)

    def _lost(self, run: _Run, trouble: str) -> None:
        """Start a run again on another worker, or give it up."""
        self._drop(run)
        run.losses, run.trouble = run.losses + 1, f"worker {run.address} {trouble}"
        run.avoided.add(run.folder)
        self._trust.trouble(run.folder)
        if run.losses < ATTEMPTS:
            self.watcher.noted(f"{run.trouble}; {run.job.label} seed {run.job.seed} starts again")
            self._again.append(run)
        else:
            self._conclude(
                run, self._record_for(run, f"given up after {ATTEMPTS} workers: {run.trouble}; {AGAIN}"), {}
            )

    def _drop(self, run: _Run) -> None:
        self._running.pop(run.attempt, None)
        if run.future is not None:
            run.future.release()

    def _supply(self, run: _Run) -> None:
        """Send a worker the dataset that it lacks, once for all of its runs."""
        key = run.address, str(run.job.dataset["sha256"])
        if key in self._supplying:
            self._supplying[key].append(run)
            return
        self._supplying[key] = [run]
        threading.Thread(target=self._send_data, args=(key, run.job.dataset), daemon=True).start()

    def _send_data(self, key: tuple[str, str], dataset: dict[str, Any]) -> None:
        trouble = supply.send(self.cluster, key[0], self._topic, dataset)
        self._inbox.put(lambda: self._supplied(key, trouble))

    def _supplied(self, key: tuple[str, str], trouble: str) -> None:
        for run in self._supplying.pop(key):
            if self._running.get(run.attempt) is not run:  # lost meanwhile
                continue
            if trouble:
                self._lost(run, trouble)
            else:
                self._drop(run)
                self._send(run, run.address)

    def _conclude(self, run: _Run, record: Record, content: dict[str, bytes]) -> None:
        """Store what came back; the arrays land before the record that vouches for them."""
        self._drop(run)
        place = run.held.place
        try:
            for name, body in content.items():
                _write(place / name, body)
            records.write(place, record)
            if record.status != "killed":
                (place / records.CHECKPOINT).unlink(missing_ok=True)
        except OSError as error:
            reason = f"the result could not be stored: {error.strerror or error}"
            record = replace(record, status="failed", reason=reason, predictions_sha256=None)
            with suppress(OSError):  # a full disk: the row is told, and the run is due again
                records.write(place, record)
        run.held.conclude(record)
        self._ended[run.job.identity] = record
        self.watcher.finished(run.job, record)

    def _record_for(self, run: _Run, reason: str) -> Record:
        """The record of a run that no worker has written."""
        return Record(
            status="killed",
            reason=reason,
            **run.job.described(),
            timings={"total_wall": time.monotonic() - run.started},
            provenance={**self.origin, "attempt": run.attempt, "threads": run.job.threads},
        )

    def _interrupt(self, name: str) -> None:
        """Have the runs under way end and hand in their records, for as long as that makes sense."""
        reason = f"interrupted by {name}; {AGAIN}"
        addresses = {run.address for run in self._running.values()}
        self.cluster.ask(addresses, agent.stop, list(self._running))
        deadline = time.monotonic() + FAREWELL
        while self._running and time.monotonic() < deadline:
            self._attend()
        self._let_go(reason)

    def _let_go(self, reason: str) -> None:
        """A record for every run that is still out, also when something unforeseen went wrong here."""
        for run in [*self._running.values(), *self._again]:
            self._conclude(run, self._record_for(run, reason), {})
        self._again.clear()


def _write(path: Path, content: bytes) -> None:
    with files.replacing(path) as part:
        part.write_bytes(content)
