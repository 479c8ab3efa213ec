"""On a worker of a cluster: takes errands, has deputies see to them, keeps the datasets that were sent."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path

from hgpbench.bench import code, provenance
from hgpbench.bench import errand as errands
from hgpbench.bench import record as records
from hgpbench.bench.channel import Told
from hgpbench.bench.errand import RETURNED, Errand, Order, Outcome
from hgpbench.bench.record import Record
from hgpbench.cluster import there
from hgpbench.data.names import data_folder

START = "from hgpbench.bench.deputy import main; main({channel})"
MALLOC = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
POLL = 0.2  # seconds between looks at whether a run is still wanted

_lock = threading.Lock()
_idle: list["_Deputy"] = []
_stopped: set[str] = set()  # attempts that the command wants to end


def run(errand: Errand, topic: str) -> Outcome:
    """Have a run done here, and give back what it left."""
    task = there.task()
    place = task.home / "runs" / errand.attempt
    try:
        data = errands.find_data(errand.job.dataset, _data_folders(errand, task.home))
        if data is None:
            return Outcome(lacks_data=True)
        order = _order(errand, place, data)
        folder = order.results / order.job.folder
        _leave_checkpoint(folder, errand.checkpoint)
        with _deputy() as deputy:
            ending = _attend(deputy, order, task, topic, errand.attempt, folder)
        if not isinstance(ending, Record):
            return Outcome(problem=ending or "its run was not done")
        return Outcome(ending, _files(folder, ending))
    except OSError as error:
        return Outcome(problem=f"{error.strerror or error}")
    finally:
        _stopped.discard(errand.attempt)
        shutil.rmtree(place, ignore_errors=True)


def stop(attempts: list[str]) -> None:
    """Have these runs end as by an interrupt; their records come back as those of others do."""
    _stopped.update(attempts)


def differences(digests: dict[str, str]) -> list[str]:
    """Modules of hgpbench that are others here than where the runs were planned."""
    return [module for module, digest in digests.items() if code.digest_of(module) != digest]


def receive(sha256: str, sender: str, name: str, offset: int, block: bytes, last: bool) -> None:
    """A block of a file of a dataset; the file has its name once it is whole."""
    folder = there.home() / "data" / sha256
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{name}.{sender}.part"
    with part.open("r+b" if offset else "wb") as file:
        file.seek(offset)
        file.write(block)
    if last:
        part.replace(folder / name)


def checkpoint(attempt: str) -> bytes | None:
    """The state that a run has stored last."""
    place = there.home() / "runs" / attempt
    with suppress(StopIteration, OSError):
        return next(place.rglob(records.CHECKPOINT)).read_bytes()
    return None


def _data_folders(errand: Errand, home: Path) -> list[Path]:
    sent = home / "data" / str(errand.job.dataset["sha256"])
    return [sent, data_folder().absolute(), Path(errand.data)]


def _order(errand: Errand, place: Path, data: Path) -> Order:
    place.mkdir(parents=True)
    job = errands.unpack(errand, place / "modules")
    origin = {**errand.origin, "versions": provenance.versions(), "machine": provenance.machine()}
    here = Path(errand.here)
    return Order(job, errand.limits, origin, place / "results", data, here if here.is_dir() else place)


def _leave_checkpoint(folder: Path, content: bytes | None) -> None:
    if content is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / records.CHECKPOINT).write_bytes(content)


def _files(folder: Path, record: Record) -> dict[str, bytes]:
    """What comes back: a killed run's checkpoint too, from which another attempt goes on."""
    names = (*RETURNED, records.CHECKPOINT) if record.status == "killed" else RETURNED
    return {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}


def _attend(
    deputy: "_Deputy", order: Order, task: there.Task, topic: str, attempt: str, folder: Path
) -> Record | str | None:
    """Follow a run to its end, and tell how far it is."""
    deputy.channel.send(order)
    stored = None
    while True:
        try:
            while deputy.channel.poll(POLL):
                message = deputy.channel.recv()
                if not isinstance(message, Told):
                    deputy.free = True
                    return message
                task.tell(topic, {"attempt": attempt, "told": asdict(message)})
        except (EOFError, OSError):
            return "the process that saw to its runs was ended"
        if attempt in _stopped or not task.is_wanted():
            deputy.interrupt()
        state = records.stamp(folder, records.CHECKPOINT)
        if state not in (None, stored):
            stored = state
            task.tell(topic, {"attempt": attempt, "checkpoint": True})


@contextmanager
def _deputy() -> Iterator["_Deputy"]:
    """A deputy for one run: an idle one, or a new one."""
    with _lock:
        found = _idle.pop() if _idle else None
    deputy = found if found is not None and found.lives() else _Deputy()
    try:
        yield deputy
    finally:
        if deputy.free:
            with _lock:
                _idle.append(deputy)
        else:
            deputy.end()


def _environment() -> dict[str, str]:
    """What runs find in theirs: this one's, but for how Dask has its workers give memory back.

    They would ask for it again with the next matrix, and take up to a tenth longer than on one machine.
    """
    return {name: value for name, value in os.environ.items() if name not in MALLOC}


class _Deputy:
    """A process that supervises runs, and this end of the channel to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
            self._process = subprocess.Popen(
                [sys.executable, "-c", START.format(channel=theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=_environment() | {"PYTHONPATH": path},
                start_new_session=True,  # an interrupt of the terminal is the command's to answer
            )
        self.channel = Connection(ours.detach())
        self.free = False  # to see to another run

    def lives(self) -> bool:
        """Whether it can be given another run."""
        self.free = False
        return self._process.poll() is None

    def interrupt(self) -> None:
        """Have the run under way end, with a record."""
        with suppress(OSError):
            self._process.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """Hang up; it ends by itself, and what it has started with it."""
        self.channel.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10.0)
            return
        self._process.kill()
        self._process.wait()
