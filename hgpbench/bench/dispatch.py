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
from hgpbench.bench import agent, code
from hgpbench.bench import errand as errands
from hgpbench.bench import record as records
from hgpbench.bench.channel import Told
from hgpbench.bench.errand import BLOCK, Outcome
from hgpbench.bench.held import Held, hold
from hgpbench.bench.job import Job
from hgpbench.bench.record import Record, Stamp
from hgpbench.bench.supervise import POLL, Interrupted, Watcher, signals_noted
from hgpbench.bench.trust import Trust
from hgpbench.cluster import SILENT, Cluster, Worker, answer_of
from hgpbench.config import Limits
from hgpbench.errors import ClusterError, HgpbenchError

ATTEMPTS = 3  # of a run, each lost with its worker
LOOK_EVERY = 0.5  # seconds between looks at who lives
ASK_AGAIN = 5.0  # seconds until a worker that has not answered is asked again
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
    _fit: dict[str, bool] = field(default_factory=dict)  # of the workers met so far: whether they can be used
    _asked: dict[str, float] = field(default_factory=dict)  # when those were asked that have not answered yet
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
                self._meet(jobs)
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

    def _meet(self, jobs: list[Job]) -> None:
        """Look whether all workers are as they should be; one that is not ends the command at its start.

        One that does not answer may have died: it is asked again while the others work.
        """
        self._digests = {k: v for job in jobs for k, v in code.shipped_files(job.code).items()}
        self._workers = self.cluster.workers()
        troubles = self._troubles(list(self._workers))
        for address, line in troubles.items():
            if line is not None:
                raise ClusterError(f"worker {address} {line}")
        self._met(list(self._workers), troubles)
        for address in self._asked:
            self.watcher.noted(f"worker {address} does not answer; it is not used until it does")

    def _troubles(self, addresses: list[str]) -> dict[str, str | None]:
        """What keeps each of these workers from being used, None for nothing; of those alone that answer."""
        found = self.cluster.check(addresses)
        alike = [address for address, line in found.items() if line is None]
        for address, modules in self.cluster.ask(alike, agent.differences, self._digests).items():
            if isinstance(modules, SILENT):
                del found[address]
            elif isinstance(modules, Exception):
                found[address] = f"cannot compare its code with ours ({modules!r:.200})"
            elif modules:
                found[address] = (
                    f"has other code of hgpbench ({modules[0]} differs); install the same on both sides"
                )
        return found

    def _met(self, asked: list[str], troubles: dict[str, str | None]) -> None:
        """Note which of the workers asked can be used; the silent ones are asked again in a while."""
        for address in asked:
            if address in troubles:
                self._fit[address] = troubles[address] is None
                self._asked.pop(address, None)
            else:
                self._asked[address] = time.monotonic()

    def _look(self) -> None:
        """Who lives; runs of those who do not are lost."""
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        self._looked, self._workers = now, self.cluster.workers()
        self._greet(now)
        for run in list(self._running.values()):
            worker = self._workers.get(run.address)
            if worker is None or worker.folder != run.folder:
                self._lost(run, "was lost")
        if any(self._fit.get(address) for address in self._workers):
            self._seen = now
        elif now - self._seen > LONELY:
            raise ClusterError(
                f"{self.cluster.title} has had no worker for {LONELY / 60:.0f} minutes; "
                "start some, and type the same command to continue"
            )

    def _greet(self, now: float) -> None:
        """Ask workers whom nobody has asked, or who have not answered; on a thread, as one may hang."""
        new = [
            address
            for address in self._workers
            if address not in self._fit and now - self._asked.get(address, -ASK_AGAIN) >= ASK_AGAIN
        ]
        if not new:
            return
        self._asked |= dict.fromkeys(new, float("inf"))

        def ask() -> None:
            troubles = self._troubles(new)
            self._inbox.put(lambda: self._greeted(new, troubles))

        threading.Thread(target=ask, daemon=True).start()

    def _greeted(self, asked: list[str], troubles: dict[str, str | None]) -> None:
        self._met(asked, troubles)
        for address, line in troubles.items():
            if line is not None:
                self.watcher.noted(f"worker {address} is not used: it {line}")

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
        usable = {a: w for a, w in self._workers.items() if self._fit.get(a) and not w.paused}
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
        address, sha256 = key
        trouble = ""
        try:
            for path in reversed(errands.data_files(dataset)):  # the rows last: with them it is there
                self._send_file(address, sha256, path)
        except (OSError, HgpbenchError) as error:
            trouble = f"could not be sent dataset {dataset['name']}: {error}"
        self._inbox.put(lambda: self._supplied(key, trouble))

    def _send_file(self, address: str, sha256: str, path: Path) -> None:
        size, offset = path.stat().st_size, 0
        with path.open("rb") as file:
            while offset < size or offset == 0:
                block = file.read(BLOCK)
                last = offset + len(block) >= size
                details = sha256, self._topic, path.name, offset, block, last
                answer = self.cluster.ask([address], agent.receive, *details).get(address)
                if isinstance(answer, Exception):
                    raise ClusterError(f"{type(answer).__name__}: {answer}"[:300])
                offset += len(block)
                if last:
                    return

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
