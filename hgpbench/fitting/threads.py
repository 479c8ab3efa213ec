"""Threads for work that runs without the interpreter's lock, one BLAS thread each; and threads of BLAS's own.

BLAS's own threads wait for each other in every call. On two cores they made a sparse bound two to seven times
slower, an exact GP twice as slow below 2,000 rows and 1.4 times as quick with 4,000.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from functools import cache

from threadpoolctl import ThreadpoolController

from hgpbench.gp.tasks import Run, Task, serially

LARGE = 3_000
"""Rows of a square matrix from which BLAS's own threads gain."""


def blas_threads(size: int | None) -> AbstractContextManager[object]:
    """One BLAS thread where the largest square matrix of some work has fewer than ``LARGE`` rows.

    None for work that sees to its threads itself.
    """
    if size is None or size >= LARGE:
        return nullcontext()
    return _one_blas_thread()


@contextmanager
def runner(n_jobs: int | None) -> Iterator[Run]:
    """A way to run tasks on ``n_jobs`` threads; None for as many as this process and its BLAS may use."""
    threads = allowed_cores() if n_jobs is None else n_jobs
    with _one_blas_thread():
        if threads == 1:
            yield serially
            return
        with ThreadPoolExecutor(threads) as pool:

            def together(tasks: Sequence[Task]) -> None:
                if len(tasks) == 1:
                    tasks[0]()
                else:
                    # In the caller's context, in which numpy keeps what to do on overflow.
                    for future in [pool.submit(copy_context().run, task) for task in tasks]:
                        future.result()

            yield together


def allowed_cores() -> int:
    """The cores that this process may use, and no more than its BLAS has been told to use threads."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pools = [pool["num_threads"] for pool in libraries().info() if pool["user_api"] == "blas"]
    return min([cores, *pools])


def _one_blas_thread() -> AbstractContextManager[object]:
    return libraries().limit(limits=1, user_api="blas")


@cache
def libraries() -> ThreadpoolController:
    """The numerical libraries of this process; to look for them takes longer than a small prediction."""
    return ThreadpoolController()
