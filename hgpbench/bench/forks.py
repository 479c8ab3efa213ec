"""Where the processes of runs come from: a server that has loaded numpy, scipy and scikit-learn once.

A run then starts in milliseconds instead of seconds. The server has one BLAS thread, so that no thread exists
which a fork would lose; each run sets its own number.
"""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

context = multiprocessing.get_context("forkserver")


def warm() -> None:
    """Start the server, if it is not running, so that it loads while the caller still plans."""
    context.set_forkserver_preload(["hgpbench.bench.child"])
    with _environment(thread_variables(1)):
        forkserver.ensure_running()


def thread_variables(threads: int) -> dict[str, str]:
    """What tells numerical libraries how many threads to use when they load."""
    return dict.fromkeys(THREAD_VARIABLES, str(threads))


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
