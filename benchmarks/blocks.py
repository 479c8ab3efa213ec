"""What one evaluation of PIC costs as the rows grow: value, all derivatives, time and memory.

    python benchmarks/blocks.py [--rows 50000 100000 200000] [--inducing 500] [--block 487] [--threads 2]

Blocks are k-means clusters of two standardised inputs, as for 3droad (390,000 rows, 800 blocks, m = 500), to
which the last line extrapolates. Elapsed time counts whatever else the machine does; CPU time does not.
"""

import argparse
import resource
import time

import numpy as np

from hgpbench.experts.rows import partition
from hgpbench.fitting.threads import runner
from hgpbench.gp.pic import Blocks

ROAD_ROWS = 390_000


def draw(n: int, m: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Rows, targets, and parameters as at the start of a fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1]) + 0.3 * rng.normal(size=n)
    values = {
        "s2_k": np.asarray(1.0),
        "ell": np.full(2, 0.7),
        "Xm": X[rng.permutation(n)[:m]],
        "sigma2": np.asarray(0.25),
    }
    return X, y, values


def measure(n: int, m: int, block: int, threads: int) -> tuple[float, float]:
    """CPU and elapsed seconds of one evaluation, the lesser of two."""
    X, y, values = draw(n, m)
    shares = partition("kmeans", X, -(-n // block), np.random.default_rng(1), 4 * block)
    best = (np.inf, np.inf)
    with runner(threads) as run:
        blocks = Blocks(X[shares.order], y[shares.order], shares.starts.tolist(), run)
        for _ in range(2):
            cpu, elapsed = time.process_time(), time.perf_counter()
            blocks.evidence(values)
            cpu, elapsed = time.process_time() - cpu, time.perf_counter() - elapsed
            best = min(best, (cpu, elapsed))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 100_000, 200_000])
    parser.add_argument("--inducing", type=int, default=500)
    parser.add_argument("--block", type=int, default=487)
    parser.add_argument("--threads", type=int, default=2)
    wanted = parser.parse_args()
    print(f"m = {wanted.inducing}, blocks of {wanted.block} rows on average, {wanted.threads} threads")
    print(f"{'rows':>9}{'CPU [s]':>10}{'elapsed [s]':>13}{'CPU us/row':>12}{'peak memory [MB]':>18}")
    for n in wanted.rows:
        cpu, elapsed = measure(n, wanted.inducing, wanted.block, wanted.threads)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{n:9,}{cpu:10.1f}{elapsed:13.1f}{1e6 * cpu / n:12.1f}{peak:18,.0f}", flush=True)
    cpu *= ROAD_ROWS / n
    print(f"{ROAD_ROWS:,} rows, extrapolated: {cpu:.0f} s of CPU time an evaluation")


if __name__ == "__main__":
    main()
