"""What workers gain and how a pass grows with the rows: ``python benchmarks/distributed.py [ROWS]``.

Experts of 1,000 rows, 11 inputs and 300 inducing points for f and for g, as for two million rows. One pass
each, by one worker and by two, and by one with a quarter of the rows; a step's time is that of the fit less
that of the placement, which the callback's first call marks. On a busy machine look at the processor times.
"""

import resource
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from hgpbench.models.checkpoint import Checkpoint
from hgpbench.models.distributed import Recipe, fit_experts
from hgpbench.models.shard import Rows

EXPERT, INPUTS, POINTS, LANES = 1_000, 11, 300, 16


def draw(n: int) -> Rows:
    """Rows on a drifting path, so that consecutive ones make local experts."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(scale=0.05, size=(n, INPUTS)), axis=0) % 6.0 + 0.3 * rng.normal(size=(n, INPUTS))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 9.0 + np.exp(X[:, 3] / 3.0 - 2.0) * rng.normal(size=n)
    return Rows(X, y - y.mean(), np.arange(0, n + 1, EXPERT))


def cpu() -> float:
    """Processor time of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measure(rows: Rows, n_workers: int) -> tuple[float, float]:
    """Seconds of a pass after its first step, and processor seconds of the whole fit."""
    marks: list[float] = []
    recipe = Recipe("natural", (POINTS, POINTS), LANES, n_passes=1, max_iter=1, guard=False, seed=0)
    before = cpu()
    fit_experts(rows, recipe, n_workers, Checkpoint(None, ""), lambda *_: marks.append(time.perf_counter()))
    return (marks[-2] - marks[0]) / (len(marks) - 2), cpu() - before


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with threadpool_limits(1):
        quarter, _ = measure(draw(n // 4 // EXPERT * EXPERT), 1)
        one, cpu_one = measure(draw(n), 1)
        two, cpu_two = measure(draw(n), 2)
    print(f"{'rows':>10}{'workers':>9}{'s a step':>10}{'ms an expert':>14}{'cpu s':>9}")
    for rows, workers, seconds, used in (
        (n // 4, 1, quarter, np.nan),
        (n, 1, one, cpu_one),
        (n, 2, two, cpu_two),
    ):
        print(f"{rows:>10,}{workers:>9}{seconds:>10.3f}{1e3 * seconds / LANES:>14.1f}{used:>9.1f}")
    print(f"two workers are {one / two:.2f} times as fast as one")
    print(f"an expert takes {one / quarter:.2f} times as long among four times as many")


if __name__ == "__main__":
    main()
