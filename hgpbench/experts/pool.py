"""Where experts live: in this process, or shared out among several, each with one BLAS thread.

Expert i is in *lane* i mod L, whatever the number of workers, and a worker owns whole lanes. A batch takes
one expert from each lane, so that every worker has its fair share of it; a committee adds up the experts of
each lane, then the lanes, in order. So 1, 2 or 64 workers compute the same bits, and stay equally
busy as long as they are no more than the lanes.

Each worker puts its experts in the hands of an *owner*, whose methods are the questions that may be asked:
the method travels by its name, arrays and small frozen objects with it, and one message goes to each worker
whatever the number of its experts. Local parameters stay where they are. Workers are processes: scipy's BLAS
and LAPACK wrappers keep the interpreter's lock, so that a second thread would only wait. Each is a fresh
interpreter at the end of a socket, not a fork: that is safe whatever threads the caller runs, asks nothing of
the caller's script, and is what another machine could run as well.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, Concatenate, Generic, NamedTuple, ParamSpec, Protocol, Self, TypeVar

import numpy as np

from hgpbench.cores import thread_variables
from hgpbench.errors import Ended, FitError
from hgpbench.experts.rows import Index, Numbers, Rows
from hgpbench.fitting.threads import libraries

START = "from hgpbench.experts.pool import serve; serve({channel}, {data})"
OUTSIDE = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP}  # exit codes that are not a worker's own doing
WATCH_EVERY = 1.0  # seconds between a worker's looks at whether its parent is still there

Owner = TypeVar("Owner")
AnyOwner = TypeVar("AnyOwner", covariant=True)
Answer = TypeVar("Answer")
Entry = TypeVar("Entry")
Details = ParamSpec("Details")


class Each(list[Entry]):
    """A detail of a question with one entry per expert asked about: a worker gets those of its experts."""


class Lasting(NamedTuple):
    """Questions by which what an owner knows of experts outlives it: all that is local to them, and back.

    ``changing`` are those that leave experts as they were not before; any other may be asked twice.
    """

    state: Callable[..., list[Any]]  # of (owner, numbers, whole)
    restore: Callable[..., list[None]]  # of (owner, numbers, states)
    forget: Callable[..., list[None]]  # of (owner, numbers)
    changing: frozenset[Callable[..., list[Any]]]


class Pool(Protocol[AnyOwner]):
    """Who owns the experts. Use it as a context; leaving it ends the workers."""

    def ask(
        self,
        question: Callable[Concatenate[AnyOwner, Numbers, Details], list[Answer]],
        numbers: Numbers,
        *details: Details.args,
        **named: Details.kwargs,
    ) -> list[Answer]:
        """Put a question, a method of the owner, about these experts; answers come in their order."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *ending: object) -> None: ...


def open_pool(rows: Rows, lanes: int, n_workers: int, owner: Callable[[Rows], Owner]) -> Pool[Owner]:
    """Workers for these rows: this process alone where one is asked for, or where there is one lane."""
    n_workers = min(n_workers, lanes)
    return Serial(rows, owner) if n_workers <= 1 else Processes(rows, lanes, n_workers, owner)


class Serial(Generic[Owner]):
    """All experts in this process."""

    def __init__(self, rows: Rows, owner: Callable[[Rows], Owner]) -> None:
        self._owner = owner(rows)

    def ask(
        self,
        question: Callable[Concatenate[Owner, Numbers, Details], list[Answer]],
        numbers: Numbers,
        *details: Details.args,
        **named: Details.kwargs,
    ) -> list[Answer]:
        """One BLAS thread here too: more would round differently from a worker, and gain nothing."""
        with libraries().limit(limits=1):
            return question(self._owner, numbers, *details, **named)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ending: object) -> None:
        pass


class Processes(Generic[Owner]):
    """Lane i with worker i mod W; the rows in one nameless file that all workers map."""

    def __init__(self, rows: Rows, lanes: int, n_workers: int, owner: Callable[[Rows], Owner]) -> None:
        self._lanes = lanes
        with tempfile.TemporaryFile() as file:
            rows.X.tofile(file)
            rows.y.tofile(file)
            file.flush()
            self._workers = [_Worker(file) for _ in range(n_workers)]
        for worker in self._workers:
            worker.send((owner, rows.X.shape, rows.starts))

    def ask(
        self,
        question: Callable[Concatenate[Owner, Numbers, Details], list[Answer]],
        numbers: Numbers,
        *details: Details.args,
        **named: Details.kwargs,
    ) -> list[Answer]:
        """Each worker gets one message, and answers with one."""
        places: list[list[int]] = [[] for _ in self._workers]
        for place, number in enumerate(numbers):
            places[number % self._lanes % len(self._workers)].append(place)
        asked = [(worker, mine) for worker, mine in zip(self._workers, places, strict=True) if mine]
        for worker, mine in asked:
            own = [share(detail, mine) for detail in details]
            own_named = {name: share(detail, mine) for name, detail in named.items()}
            worker.send((question, [numbers[place] for place in mine], own, own_named))
        answers: dict[int, Answer] = {}
        for worker, mine in asked:
            answers |= zip(mine, worker.receive(), strict=True)
        return [answers[place] for place in range(len(numbers))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ending: object) -> None:
        for worker in self._workers:
            worker.end(patiently=ending[0] is None)


def share(detail: object, places: Sequence[int]) -> object:
    """What of a detail is for the experts asked about at these places."""
    return [detail[place] for place in places] if isinstance(detail, Each) else detail


class _Worker:
    """A process with an owner of experts, and this end of the socket to it."""

    def __init__(self, data: IO[bytes]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            passed = {"channel": theirs.fileno(), "data": data.fileno()}
            path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
            self._process = subprocess.Popen(
                [sys.executable, "-c", START.format(**passed)],
                pass_fds=list(passed.values()),
                stdin=subprocess.DEVNULL,
                env=os.environ | thread_variables(1) | {"PYTHONPATH": path},
            )
        self._channel = Connection(ours.detach())

    def send(self, message: object) -> None:
        try:
            self._channel.send(message)
        except OSError as error:
            raise self._ended() from error

    def receive(self) -> list[Any]:
        try:
            answers: list[Any] = self._channel.recv()
        except (EOFError, OSError) as error:
            raise self._ended() from error
        return answers

    def end(self, patiently: bool) -> None:
        """Close the socket, which ends an idle worker by itself; one at work is not waited for."""
        self._channel.close()
        if not patiently:
            self._process.kill()
        self._process.wait()

    def _ended(self) -> FitError:
        code = self._process.wait()
        hint = ", perhaps for want of memory" if code == -signal.SIGKILL else ""
        kind = Ended if code in OUTSIDE else FitError
        return kind(f"a worker process ended with exit code {code}{hint}: see the log, or use n_jobs=1")


def serve(channel: int, data: int) -> None:
    """The life of a worker process: answer questions until the socket closes."""
    # An interrupt is the parent's affair, which then closes the socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    connection = Connection(channel)
    try:
        make_owner, (n, d), starts = connection.recv()
        owner = make_owner(_mapped(data, n, d, starts))
        while True:
            question, numbers, details, named = connection.recv()
            connection.send(question(owner, numbers, *details, **named))
    except (EOFError, ConnectionError):
        return  # anything else ends the process with a traceback in the log, and the parent says so


def _mapped(data: int, n: int, d: int, starts: Index) -> Rows:
    with open(data, "rb") as file:
        values = np.memmap(file, dtype=np.float64, mode="r")
    return Rows(values[: n * d].reshape(n, d), values[n * d :], starts)


def _end_with_parent() -> None:
    """A long answer must not outlive a parent that was killed."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(WATCH_EVERY)
    os._exit(1)
