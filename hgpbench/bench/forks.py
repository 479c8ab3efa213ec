"""Where the processes of runs come from: a server that has loaded numpy, scipy and scikit-learn once.

A run then starts in milliseconds instead of seconds. The server has one BLAS thread, so that no thread exists
which a fork would lose; each run sets its own number.
"""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext

from hgpbench.cores import thread_variables


def warm() -> ForkServerContext:
    """Start the server, so that it loads while the caller still plans; gives what runs are started with."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hgpbench.bench.child"])
    with _environment(thread_variables(1)):
        forkserver.ensure_running()
    return context


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
