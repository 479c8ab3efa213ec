"""What workers gain, what a cluster costs beside processes, and how DVSHGP's cost grows with the rows.

    python benchmarks/workers.py workers [ROWS]           fit and predict with one worker and with two
    python benchmarks/workers.py cluster [ROWS]           the same fit on processes and on Dask, in turn
    python benchmarks/workers.py growth [ROWS ROWS ...]   the same passes over more and more rows

Experts of 1,000 rows with 300 inducing points for f and for g, as for two million rows. The rows are those of
the dataset ``electric`` where it has been fetched (see HGPBENCH_DATA), otherwise drawn. ``workers`` makes as
many passes as ``--passes`` says, the default number without it, ``growth`` one. Busy is the share of the
workers' time that their processors spent on them; where that is near one and the gain is not near two,
compare with what two processes gain that do nothing but multiply matrices: cores of one machine share their
memory, and often their clock. ``cluster`` tells the processor seconds of this process, with Dask's scheduler
and with processes that it starts for the fit, and those of Dask's workers, which are started before; and a
hash of all that was learned.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hgpbench.cluster.library import own_manners
from hgpbench.cluster.wanted import LOOPBACK
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
CREWS = {  # of processes, or of workers of Dask
    "1 process": (1, 0),
    "2 processes": (2, 0),
    "Dask, 1 worker": (1, 1),
    "Dask, 2 workers": (1, 2),
    "Dask, 4 workers": (1, 4),
}
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


def by_crew(n: int, crew: str, points: int, n_passes: int | None) -> None:
    """A fit by one of the ``CREWS``, in this process and others; a line of JSON."""
    X, y, _ = draw(n)
    n_jobs, workers = CREWS[crew]
    model = DVSHGP(
        n // EXPERT,
        n_inducing_f=points,
        n_inducing_g=points,
        optimizer=Passes(n_passes, guard=False),
        n_jobs=n_jobs,
        random_state=0,
    )
    with started(workers) as client:
        model.set_params(cluster=client)
        first = DVSHGP(40, n_inducing_f=4, n_inducing_g=4, n_jobs=n_jobs, cluster=client, random_state=0)
        first.fit(X[:400], y[:400])
        start, there = Cost.now(), seconds_at(client)
        model.fit(X, y)
        cost, there = Cost.since(start), seconds_at(client) - there
    learned = hashlib.sha256()
    for part in (model._experts.flat, *model._experts.states, model._experts.noise):
        learned.update(part.tobytes())
    told = {"wall": cost.wall, "here": cost.cpu, "there": there, "bits": learned.hexdigest()}
    sys.stdout.write(json.dumps(told) + "\n")


@contextmanager
def started(workers: int) -> Iterator[Any]:
    """A client of so many workers here, each with one thread; none of no workers."""
    if not workers:
        yield None
        return
    import distributed

    with (
        own_manners(),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, host=LOOPBACK, dashboard_address=f"{LOOPBACK}:0"
        ) as local,
        distributed.Client(local, direct_to_workers=True, set_as_default=False) as client,
    ):
        client.run(import_module, "hgpbench.models")
        yield client


def seconds_at(client: Any) -> float:
    """Processor seconds of all workers so far."""
    return 0.0 if client is None else float(sum(client.run(time.process_time).values()))


def clusters(n: int, crews: list[str], rounds: int, *options: str) -> None:
    """Every crew in turn, again and again, each in processes of its own."""
    bits = set()
    print(f"{'crew':<16}{'here s':>9}{'workers s':>11}{'cpu s':>8}{'wall s':>9}  bits")
    for _ in range(rounds):
        for crew in crews:
            command = [sys.executable, __file__, "crew", str(n), "--crew", crew, *options]
            done = subprocess.run(command, env=os.environ | thread_variables(1), stdout=-1, check=True)
            one = json.loads(done.stdout)
            bits.add(one["bits"])
            cpu = one["here"] + one["there"]
            line = f"{crew:<16}{one['here']:>9.1f}{one['there']:>11.1f}{cpu:>8.1f}{one['wall']:>9.1f}"
            print(f"{line}  {one['bits'][:12]}", flush=True)
    print(f"{len(bits)} different results")


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
    parser.add_argument("what", choices=("workers", "cluster", "crew", "growth"))
    parser.add_argument("rows", nargs="*", type=int)
    parser.add_argument("--crew", choices=list(CREWS), action="append", help="of `cluster`: these alone")
    parser.add_argument(
        "--points", type=int, default=POINTS, help="of `cluster`: inducing points of f and of g"
    )
    parser.add_argument("--rounds", type=int, default=1, help="of `cluster`")
    parser.add_argument("--passes", type=int, help="of workers over the experts")
    asked = parser.parse_args()
    with threadpool_limits(1):
        if asked.what == "workers":
            workers((asked.rows or [200_000])[0], asked.passes)
        elif asked.what == "cluster":
            options = ["--points", str(asked.points)]
            options += [] if asked.passes is None else ["--passes", str(asked.passes)]
            clusters((asked.rows or [200_000])[0], asked.crew or list(CREWS), asked.rounds, *options)
        elif asked.what == "crew":
            by_crew((asked.rows or [200_000])[0], asked.crew[0], asked.points, asked.passes)
        else:
            growth(asked.rows or [50_000, 100_000, 200_000])


if __name__ == "__main__":
    main()
