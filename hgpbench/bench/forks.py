"""Where the processes of runs come from: a server that has loaded numpy, scipy and scikit-learn once.

A run then starts in milliseconds instead of seconds. The server has one BLAS thread, so that no thread exists
which a fork would lose; each run sets its own number.
"""

import multiprocessing
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext

import psutil

from hgpbench.bench import leftovers, orphans
from hgpbench.cores import thread_variables


def warm() -> ForkServerContext:
    """Start the server, so that it loads while the caller still plans; gives what runs are started with."""
    orphans.adopt()  # before the server is there, so that it is so for all below it
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hgpbench.bench.server", "hgpbench.bench.child"])
    with leftovers.scratch_folder():  # for the server's address, which multiprocessing leaves if killed
        revive()
    return context


def revive() -> None:
    """Start the server where none is running: none yet, or one that was killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a tracker that was killed: it has nothing of ours to track
        resource_tracker.ensure_running()  # whose start would let go of the signal held back here
    # Interrupts of the terminal reach the server too; its imports would tell of them in tracebacks.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _environment(thread_variables(1)):
            forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def server_number() -> int | None:
    """The process id of the server; multiprocessing has it, but not in public."""
    number: int | None = getattr(forkserver._forkserver, "_forkserver_pid", None)
    return number


def own() -> set[int] | None:
    """Processes that serve all runs and belong to none of them; None where they cannot be told."""
    tracker = getattr(resource_tracker._resource_tracker, "_pid", None)
    server = server_number()
    return None if tracker is None or server is None else {tracker, server}


def is_running(number: int | None) -> bool:
    """Whether a process is there and not just waiting to be buried."""
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
