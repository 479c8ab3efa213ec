"""Runs as supervised processes: limits are kept, every ending leaves a record, an interrupt ends cleanly."""

import os
import signal
import socket
import time
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from hgpbench import units
from hgpbench.bench import child, forks, logs, orphans
from hgpbench.bench import record as records
from hgpbench.bench.channel import Listener, Told
from hgpbench.bench.held import Held, hold
from hgpbench.bench.job import Job
from hgpbench.bench.memory import Usage, usage
from hgpbench.bench.record import Record, Stamp, Status
from hgpbench.config import Limits
from hgpbench.errors import FitError

POLL = 0.05  # seconds
PATIENCE = 10.0  # seconds for a killed process to be gone; one that waits for a dead disk may take for ever
WEIGH_EVERY = 0.25  # seconds between looks at what a run uses; each walks all processes of the machine

_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}  # not the run's own doing
_UNKNOWN = 255  # what multiprocessing says of a process whose server is gone
_NAMES = {kind.value: kind.name for kind in signal.Signals}


class Interrupted(Exception):
    """SIGINT or SIGTERM arrived; the runs under way have been ended and recorded."""


class Watcher(Protocol):
    """Who is told what happens: a progress bar, or nobody."""

    def started(self, job: Job) -> None: ...
    def progressed(self, job: Job, told: Told) -> None: ...
    def finished(self, job: Job, record: Record | None) -> None: ...
    def noted(self, line: str) -> None: ...


@dataclass
class _Run:
    """A process under way."""

    job: Job
    held: Held
    attempt: str
    process: BaseProcess
    server: int | None  # the process that forked it, and tells how it ended
    listener: Listener  # progress comes in; the end of its channel tells the run that we are gone
    started: float
    weighed: float = 0.0  # when what it uses was looked at last
    used: Usage = field(default_factory=Usage)  # the most memory, the last time


@dataclass
class Supervisor:
    """Starts jobs, at most ``parallel`` at a time, and sees each to its record."""

    results: Path
    limits: Limits
    origin: dict[str, Any]
    watcher: Watcher
    server: ForkServerContext  # see forks.warm
    parallel: int = 1
    fail_fast: bool = False
    stamps: dict[str, Stamp | None] = field(default_factory=dict)  # the records there when this was planned
    taken: set[str] = field(default_factory=set)  # identities that another process ran since then
    _running: list[_Run] = field(default_factory=list)
    _before: set[int] = field(default_factory=orphans.children)  # processes that are none of ours

    def run(self, jobs: list[Job]) -> dict[str, Record | None]:
        """Run all jobs; records by identity, None for one that another process is running."""
        waiting, ended = deque(jobs), dict[str, Record | None]()
        with signals_noted() as arrived:
            try:
                while waiting or self._running:
                    while waiting and len(self._running) < self.parallel:
                        self._start(waiting.popleft(), ended)
                    for run in list(self._running):
                        self._look_after(run, ended)
                    if self.fail_fast and any(
                        r and r.status not in {"done", "skipped"} for r in ended.values()
                    ):
                        waiting.clear()
                    if arrived:
                        for run in list(self._running):
                            self._end(
                                run,
                                "killed",
                                f"interrupted by {arrived[0]}; the next run starts it again",
                                ended,
                            )
                        raise Interrupted(arrived[0])
                    if self._running:
                        time.sleep(POLL)
            finally:
                for run in self._running:  # only where something unforeseen went wrong here
                    _end_processes(run.process)
        return ended

    def _start(self, job: Job, ended: dict[str, Record | None]) -> None:
        held = hold(self.results, job, self.stamps.get(job.identity))
        if not isinstance(held, Held):
            if held is not None:
                self.taken.add(job.identity)
            ended[job.identity] = held
            self.watcher.finished(job, held)
            return
        attempt = uuid.uuid4().hex
        ours, theirs = socket.socketpair()
        with theirs:
            process = self._launch(held.place, job, {**self.origin, "attempt": attempt}, theirs)
        number, now = forks.server_number(), time.monotonic()
        self._running.append(_Run(job, held, attempt, process, number, Listener(ours), now))
        self.watcher.started(job)

    def _launch(self, *details: Any) -> BaseProcess:
        """A process for a run; a server that was killed is started again, once it is gone."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            forks.revive()
            process = self.server.Process(target=child.main, args=(*details, dict(os.environ)))
            with suppress(OSError, EOFError):  # the server is dying, which takes a moment on a busy machine
                process.start()
                return process
            time.sleep(POLL)
        raise FitError(f"no process could be started in {PATIENCE:g} s; is the machine short of memory?")

    def _look_after(self, run: _Run, ended: dict[str, Record | None]) -> None:
        logs.shorten(run.held.place)
        told = run.listener.latest()
        if told is not None:
            self.watcher.progressed(run.job, told)
        wall, now = self.limits.wall, time.monotonic()
        if run.process.exitcode is not None:
            self._end(run, *_verdict(run.process.exitcode, forks.is_running(run.server)), ended)
        elif wall is not None and now - run.started > wall:
            self._end(run, "timeout", f"stopped after the limit of {units.show_seconds(wall)}", ended)
        elif now - run.weighed > WEIGH_EVERY:
            self._weigh(run, now, ended)

    def _weigh(self, run: _Run, now: float, ended: dict[str, Record | None]) -> None:
        """End a run that used more memory or processor time than it may."""
        cpu, memory, found = self.limits.cpu, self.limits.memory, usage(run.process.pid)
        # A process that ends in this moment has used nothing; the time of its ended children comes late.
        run.used = Usage(max(run.used.memory, found.memory), max(run.used.seconds, found.seconds))
        run.weighed = now
        if memory is not None and run.used.memory > memory:
            used = units.show_bytes(run.used.memory)
            self._end(run, "memory", f"used {used}, the limit is {units.show_bytes(memory)}", ended)
        elif cpu is not None and run.used.seconds > cpu:
            limit = units.show_seconds(cpu)
            self._end(run, "timeout", f"stopped after the limit of {limit} of processor time", ended)

    def _end(self, run: _Run, status: Status, reason: str, ended: dict[str, Record | None]) -> None:
        """Make sure that nothing of the run is alive, and that it has a record of this attempt."""
        _end_processes(run.process)
        own = forks.own()
        if own is not None:  # living runs keep what they start: what came to us is of this one
            orphans.end_adopted(own | self._before)
        logs.shorten(run.held.place)
        record = records.find(run.held.place)
        if record is None or record.provenance.get("attempt") != run.attempt:
            record = self._record_for(run, status, reason)
            with suppress(OSError):  # a full disk: the row is told, and the run is due again
                records.write(run.held.place, record)
        run.held.conclude(record)
        self._running.remove(run)
        run.listener.channel.close()
        ended[run.job.identity] = record
        self.watcher.finished(run.job, record)

    def _record_for(self, run: _Run, status: Status, reason: str) -> Record:
        """The record of a run that could not write its own."""
        job = run.job
        return Record(
            status=status,
            reason=reason,
            **job.described(),
            timings={"total_wall": time.monotonic() - run.started, "total_cpu": run.used.seconds},
            peak_memory=run.used.memory or None,
            provenance={**self.origin, "attempt": run.attempt, "threads": job.threads},
            log_tail=records.log_tail(run.held.place),
        )


def _verdict(code: int, told: bool) -> tuple[Status, str]:
    """What an exit code says of a run that left no record, told by a server that lives or made up."""
    if code == _UNKNOWN and not told:
        return "killed", "ended with the server of runs, which was killed; the next run starts it again"
    if code == child.EXIT_STORED_NOTHING:
        return "failed", "its result could not be stored; is the disk full? see its log"
    if code >= 0:
        return "failed", f"the run's process ended with exit code {code} and left no record; see its log"
    name = _NAMES.get(-code, f"signal {-code}")  # those for real time have no name
    if -code in _OUTSIDE:
        hint = ", perhaps for want of memory" if -code == signal.SIGKILL else ""
        return "killed", f"ended from outside by {name}{hint}; the next run starts it again"
    return "failed", f"the run's process crashed ({name}); see its log"


def _end_processes(process: BaseProcess) -> None:
    """End a run and whatever it started."""
    if process.pid is None:  # never started
        return
    if process.exitcode is None:
        orphans.end_tree(process.pid)
    with suppress(ProcessLookupError, PermissionError):  # all gone already, or not yet a group of its own
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join(PATIENCE)


@contextmanager
def signals_noted() -> Iterator[list[str]]:
    """Note SIGINT and SIGTERM in a list instead of dying of them: a loop can then end between two steps."""
    arrived: list[str] = []

    def note(number: int, frame: FrameType | None) -> None:
        arrived.append(signal.Signals(number).name)

    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, note) for kind in kinds]
    try:
        yield arrived
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
