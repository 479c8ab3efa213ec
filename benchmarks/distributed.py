"""What workers gain, and how DVSHGP's cost grows with the rows.

    python benchmarks/distributed.py workers [ROWS]           fit and predict with one worker and with two
    python benchmarks/distributed.py growth [ROWS ROWS ...]   the same passes over more and more rows

Experts of 1,000 rows with 300 inducing points for f and for g, as for two million rows. The rows are those of
the dataset ``electric`` where it has been fetched (see HGPBENCH_DATA), otherwise drawn. ``workers`` makes as
many passes as ``--passes`` says, the default number without it, ``growth`` one. Busy is the share of the
workers' time that their processors spent on them; where that is near one and the gain is not near two,
compare with what two processes gain that do nothing but multiply matrices: cores of one machine share their
memory, and often their clock.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hgpbench.cores import thread_variables
from hgpbench.data.source import open_source
from hgpbench.data.split import Split
from hgpbench.errors import DataError
from hgpbench.models import DVSHGP, Passes

EXPERT, POINTS, INPUTS, TEST = 1_000, 300, 11, 10_000
GEMM = (
    "import numpy as np, time; A = np.ones((600, 600)); A @ A; start = time.perf_counter();"
    "[A @ A for _ in range(400)]; print(time.perf_counter() - start)"
)
Array = NDArray[np.float64]


class Cost(NamedTuple):
    """Wall and processor seconds of a fit or a prediction."""

    wall: float
    cpu: float

    @classmethod
    def since(cls, start: "Cost") -> "Cost":
        now = cls.now()
        return cls(now.wall - start.wall, now.cpu - start.cpu)

    @classmethod
    def now(cls) -> "Cost":
        """Processor time is that of this process and of its ended children."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(time.perf_counter(), time.process_time() + children.ru_utime + children.ru_stime)


def draw(n: int) -> tuple[Array, Array, Array]:
    """Standardised training inputs and targets, and test inputs."""
    try:
        fold = open_source("electric").fold(Split(n, TEST), 0)
    except DataError as error:
        print(f"drawing rows instead of electric's: {error}", file=sys.stderr)
        rng = np.random.default_rng(0)
        X = np.cumsum(rng.normal(scale=0.05, size=(n + TEST, INPUTS)), axis=0) % 6.0
        y = (
            np.sin(X[:, 0])
            + X[:, 1] * X[:, 2] / 9.0
            + np.exp(X[:, 3] / 3.0 - 2.0) * rng.normal(size=n + TEST)
        )
        return X[TEST:], y[TEST:], X[:TEST]
    return fold.X_train, fold.y_train, fold.X_test


def measure(n: int, n_jobs: int, n_passes: int | None) -> tuple[Cost, Cost, int]:
    """What a fit and a prediction cost, and the evaluations of experts in the fit."""
    X, y, Xs = draw(n)
    model = DVSHGP(
        n // EXPERT,
        n_inducing_f=POINTS,
        n_inducing_g=POINTS,
        optimizer=Passes(n_passes, guard=False),
        n_jobs=n_jobs,
        random_state=0,
    )
    start = Cost.now()
    model.fit(X, y)
    fit, start = Cost.since(start), Cost.now()
    model.predict_dist(Xs)
    return fit, Cost.since(start), model.n_evaluations_


def ceiling() -> float:
    """How many times as much two processes do as one, when both multiply matrices that fit their caches."""

    def seconds(processes: int) -> float:
        command = [sys.executable, "-c", GEMM]
        options = {"stdout": subprocess.PIPE, "text": True, "env": os.environ | thread_variables(1)}
        started = [subprocess.Popen(command, **options) for _ in range(processes)]
        return max(float(process.communicate()[0]) for process in started)

    return 2.0 * min(seconds(1) for _ in range(3)) / min(seconds(2) for _ in range(3))


def workers(n: int, n_passes: int | None) -> None:
    print(f"{'rows':>10}{'workers':>9}{'':>9}{'wall s':>10}{'cpu s':>10}{'busy':>7}")
    walls: dict[str, list[float]] = {"fit": [], "predict": []}
    for n_jobs in (1, 2):
        costs = measure(n, n_jobs, n_passes)[:2]
        for phase, cost in zip(walls, costs, strict=True):
            walls[phase].append(cost.wall)
            busy = cost.cpu / cost.wall / n_jobs
            print(f"{n:>10,}{n_jobs:>9}{phase:>9}{cost.wall:>10.1f}{cost.cpu:>10.1f}{busy:>7.0%}", flush=True)
    for phase, (one, two) in walls.items():
        print(f"{phase}: two workers are {one / two:.2f} times as fast as one")
    print(f"two processes that only multiply matrices are {ceiling():.2f} times as fast as one")


def growth(sizes: list[int]) -> None:
    print(f"{'rows':>10}{'fit cpu s':>11}{'ms a row':>10}{'ms an evaluation':>18}{'predict cpu s':>15}")
    for n in sizes:
        fit, predict, evaluations = measure(n, 1, 1)
        each, per_row = 1e3 * fit.cpu / evaluations, 1e3 * fit.cpu / n
        print(f"{n:>10,}{fit.cpu:>11.1f}{per_row:>10.3f}{each:>18.1f}{predict.cpu:>15.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("workers", "growth"))
    parser.add_argument("rows", nargs="*", type=int)
    parser.add_argument("--passes", type=int, help="of workers over the experts")
    asked = parser.parse_args()
    with threadpool_limits(1):
        if asked.what == "workers":
            workers((asked.rows or [200_000])[0], asked.passes)
        else:
            growth(asked.rows or [50_000, 100_000, 200_000])


if __name__ == "__main__":
    main()
