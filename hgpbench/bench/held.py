"""The right to do a run: its lock, and the place where its result will lie until it takes its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hgpbench.bench import leftovers, locks, replacement
from hgpbench.bench import record as records
from hgpbench.bench.job import Job
from hgpbench.bench.record import Record, Stamp


@dataclass
class Held:
    """A run that nobody else does meanwhile."""

    folder: Path
    place: Path  # where it works: its folder, or beside a finished result that it is to replace
    lock: IO[str]

    def conclude(self, record: Record) -> None:
        """Let the result take its place, and let go of the run."""
        replacement.conclude(self.folder, self.place, record)
        self.release()

    def release(self) -> None:
        """Let go of the run as it is."""
        self.lock.close()


def hold(results: Path, job: Job, planned: Stamp | None) -> Held | Record | None:
    """The right to do a run; the record where another process has ended it since, None where one is at it.

    ``planned`` is the stamp of the record that was there when the run was planned.
    """
    folder = (results / job.folder).absolute()  # whatever directory the model changes to
    lock = locks.hold(locks.of_run(folder))
    if lock is None:
        return None
    record = _ended_since(job, folder, planned)
    if record is not None:
        lock.close()
        return record
    place = replacement.place(folder)
    place.mkdir(parents=True, exist_ok=True)
    leftovers.sweep_parts(place)
    return Held(folder, place, lock)


def _ended_since(job: Job, folder: Path, planned: Stamp | None) -> Record | None:
    """The record of a run that another process has finished since this one was planned."""
    replacement.settle(folder)
    if records.stamp(folder) == planned:
        return None
    record = records.find_at(folder, job.model, job.seed)
    return None if record is None or record.status == "killed" else record
