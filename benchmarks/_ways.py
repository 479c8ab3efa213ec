"""Ways to use two cores: one thread, two BLAS threads, two workers with one BLAS thread each."""

import os
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from hgpbench.cores import thread_variables
from hgpbench.fitting.threads import runner
from hgpbench.gp.tasks import Run, serially

WAYS = {"one": 1, "blas": 2, "workers": 1}
"""With the BLAS threads of each."""
ROUNDS = 3
HEADER = f"{'one s':>9} {'2 BLAS s':>9} {'':>7} {'2 work. s':>9}"


def running(way: str) -> AbstractContextManager[Run]:
    """What runs independent tasks in one of the ``WAYS``."""
    return runner(2) if way == "workers" else nullcontext(serially)


def compare(script: str, *arguments: str) -> str:
    """Least wall-clock seconds of each way, as ``script --way WAY`` with these arguments prints them.

    Each in processes of its own: OpenBLAS's idle threads spin for a while and would slow down the next.
    """
    best = dict.fromkeys(WAYS, np.inf)
    for _ in range(ROUNDS):
        for way, threads in WAYS.items():
            command = [sys.executable, script, "--way", way, *arguments]
            environment = os.environ | thread_variables(threads)
            found = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            best[way] = min(best[way], float(found.stdout))
    row = f"{best['one']:9.4f}"
    return row + "".join(
        f" {best[name]:9.4f} {best['one'] / best[name]:6.2f}x" for name in ("blas", "workers")
    )
