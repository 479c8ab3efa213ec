"""A supervisor of runs on a worker of a cluster: the same as on one machine, in a process of its own.

It sees to one run at a time. Its worker holds the other end of the channel, so the channel's end means that
the worker is gone, and the run ends too.
"""

import os
import select
import shutil
import signal
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext

from hgpbench.bench import forks
from hgpbench.bench.channel import Told
from hgpbench.bench.errand import Order
from hgpbench.bench.job import Job
from hgpbench.bench.record import Record
from hgpbench.bench.supervise import Interrupted, Supervisor
from hgpbench.errors import HgpbenchError

DATA = "HGPBENCH_DATA"
AGAIN = 0.5  # seconds; a signal that comes before a run has begun is lost on it


def main(channel: int) -> None:
    """Do what the worker orders until it is gone."""
    connection = Connection(channel)
    for kind in (signal.SIGINT, signal.SIGTERM):  # for a run; where there is none, nothing has to end
        signal.signal(kind, lambda number, frame: None)
    threading.Thread(target=_end_with_worker, args=(channel,), daemon=True).start()
    server = forks.warm()
    while True:
        try:
            order: Order = connection.recv()
        except (EOFError, OSError):
            return
        try:
            ending: Record | str | None = _supervise(order, server, connection)
        except (
            OSError,
            HgpbenchError,
        ) as error:  # of this machine, not of the run, which has a record of its own
            ending = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]:.500}"
        try:
            connection.send(ending)
        except OSError:
            shutil.rmtree(order.results.parent, ignore_errors=True)
            return


def _supervise(order: Order, server: ForkServerContext, connection: Connection) -> Record | None:
    """The record of the run, however it ended."""
    os.environ[DATA] = str(order.data)
    os.chdir(order.here)
    watcher = _Watcher(connection)
    supervisor = Supervisor(order.results, order.limits, order.origin, watcher, server)
    with suppress(Interrupted):  # asked by the worker, which sends the record on
        supervisor.run([order.job])
    return watcher.ended


class _Watcher:
    """Passes progress on to the worker."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.ended: Record | None = None

    def started(self, job: Job) -> None:
        pass

    def progressed(self, job: Job, told: Told) -> None:
        self._connection.send(told)

    def finished(self, job: Job, record: Record | None) -> None:
        self.ended = record

    def noted(self, line: str) -> None:
        pass


def _end_with_worker(channel: int) -> None:
    """Have a run end as by an interrupt once the worker has hung up; one that waits hears it by itself."""
    poll = select.poll()
    poll.register(channel, select.POLLHUP)
    poll.poll()
    while True:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(AGAIN)
