"""How fast is one SVSHGP step? Bound, full gradient and natural step of both q's, as ratios within one run.

    python benchmarks/stochastic.py [--seconds 20] [--threads] [--no-others] [--shapes 0 1 2 3]

JAX and torch stand beside it where they are installed, with the same arithmetic in double precision and one
thread. Times are CPU time of this process, pinned to one core: the least of interleaved rounds. Flops are
counted as 5 b m^2 + 5.3 m^3 a process, though ours takes fewer. ``--threads`` compares instead the wall-clock
time of one thread, of two BLAS threads, and of two workers with one BLAS thread each; that wants an idle
machine.
"""

import argparse
import importlib.util
import os
import time
from collections.abc import Callable

import _jax_step
import _torch_step
import numpy as np
from _ways import HEADER, ROUNDS, WAYS, compare, running
from threadpoolctl import threadpool_limits

from hgpbench.gp import factorised
from hgpbench.gp.factorised import Workspace
from hgpbench.gp.tasks import Run, serially
from hgpbench.gp.whitened import Natural
from hgpbench.la import JITTER

SHAPES = [(1000, 300, 2), (2000, 400, 9), (4000, 500, 3), (5000, 2500, 11)]
PEAK_SIZE = 1500
N, GAMMA = 100_000, 0.1
OTHERS = {"jax": _jax_step.prepare, "torch": _torch_step.prepare}
Values = dict[str, np.ndarray]
Call = Callable[[], object]


def draw(b: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray, Values]:
    """A standardised batch, inducing points among its rows, parameters as at the start of a fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(b, d))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=b)
    ell = np.full(d, 0.5 * np.sqrt(d))
    values = {
        "s2_kf": np.asarray(1.0),
        "ell_f": ell,
        "Xm": X[rng.permutation(b)[:m]],
        "s2_kg": np.asarray(0.7),
        "ell_g": ell,
        "Xu": X[rng.permutation(b)[:m]],
        "mu0": np.asarray(-1.0),
    }
    return X, y, values


class Ours:
    """The step, from the q's that two earlier steps reached."""

    def __init__(self, shape: tuple[int, int, int], *, single: bool = False, run: Run = serially) -> None:
        b, m, _ = shape
        self.X, self.y, self.values = draw(*shape)
        self.workspace = Workspace(b, m, m, single=single, run=run)
        self.naturals = {letter: Natural.prior(m) for letter in "fg"}
        for _ in range(2):
            self.naturals = self()[2]

    def __call__(self) -> tuple[float, Values, dict[str, Natural]]:
        q = {letter: one.q for letter, one in self.naturals.items()}
        bound, _, pulls = factorised.evaluate(self.values, q, self.X, self.y, N, self.workspace)
        moved: dict[str, Natural] = {}

        def move(letter: str) -> None:
            moved[letter] = self.naturals[letter].step(pulls[letter], GAMMA)

        self.workspace.run([lambda letter=letter: move(letter) for letter in self.naturals])
        return bound.value, bound.grads, moved


def agreement(ours: Ours, other: Call) -> float:
    """Largest relative difference of value, gradients and natural parameters."""
    value, grads, moved = ours()
    their_value, their_grads, their_moved = other()
    pairs = [(their_value, value), *((their_grads[name], grad) for name, grad in grads.items())]
    for letter, one in moved.items():
        pairs += zip(their_moved[letter], (one.theta1, one.Lam), strict=True)
    found = [(np.asarray(theirs), np.asarray(mine)) for theirs, mine in pairs]
    return max(float(np.abs(theirs - mine).max() / np.abs(mine).max()) for theirs, mine in found)


def gemm(size: int) -> Call:
    """The square product that sets the scale."""
    A = np.random.default_rng(1).normal(size=(size, size))
    C = np.empty_like(A)
    return lambda: np.matmul(A, A, out=C)


def race(calls: dict[str, Call], seconds: float, clock: Callable[[], float]) -> dict[str, float]:
    """The least seconds of each call over interleaved rounds, at least two, for about this long."""
    best = dict.fromkeys(calls, np.inf)
    ends, rounds = clock() + seconds, 0
    while rounds < 2 or clock() < ends:
        rounds += 1
        for name, call in calls.items():
            start = clock()
            call()
            best[name] = min(best[name], clock() - start)
    return best


def measure(shape: tuple[int, int, int], seconds: float, others: list[str]) -> str:
    """One line of the table."""
    b, m, d = shape
    ours = Ours(shape)
    calls: dict[str, Call] = {"ours": ours, "mixed": Ours(shape, single=True), "peak": gemm(PEAK_SIZE)}
    q = {letter: (one.theta1, one.Lam) for letter, one in ours.naturals.items()}
    for name in others:
        calls[name] = OTHERS[name](ours.values, q, ours.X, ours.y, N, GAMMA, JITTER)
        difference = agreement(ours, calls[name])
        if difference > 1e-6:
            raise SystemExit(f"{name} differs by {difference:.1e} at {shape}: not the same step")
    best = race(calls, seconds, time.process_time)
    peak = 2 * PEAK_SIZE**3 / best["peak"] / 1e9
    rate = 2 * (5 * b * m**2 + 5.3 * m**3) / best["ours"] / 1e9
    row = f"{f'({b}, {m}, {d})':>16} {best['ours']:8.4f} {rate:8.1f} {rate / peak:8.0%} {best['mixed']:8.4f}"
    return row + "".join(f" {best[name]:9.4f} {best[name] / best['ours']:6.2f}x" for name in others)


def wall(way: str, shape: tuple[int, int, int], seconds: float) -> float:
    """The least wall-clock seconds of a step in one of the ways to use two cores."""
    with running(way) as run:
        return race({"ours": Ours(shape, run=run)}, seconds, time.perf_counter)["ours"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="per shape")
    parser.add_argument("--shapes", type=int, nargs="*", default=range(len(SHAPES)), help="numbers of shapes")
    parser.add_argument("--threads", action="store_true", help="compare ways to use two cores")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--no-others", action="store_true", help="leave JAX and torch out")
    options = parser.parse_args()
    if options.way:
        print(wall(options.way, SHAPES[options.shapes[0]], options.seconds))
        return
    if options.threads:
        print(f"{'(b, m = u, d)':>16} {HEADER}")
        seconds = options.seconds / ROUNDS / len(WAYS)
        for number in options.shapes:
            row = compare(__file__, "--shapes", str(number), "--seconds", str(seconds))
            print(f"{SHAPES[number]!s:>16} {row}", flush=True)
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    installed = [name for name in OTHERS if importlib.util.find_spec(name) and not options.no_others]
    with threadpool_limits(1):
        header = f"{'(b, m = u, d)':>16} {'s':>8} {'GFLOP/s':>8} {'of peak':>8} {'mixed s':>8}"
        print(header + "".join(f" {name + ' s':>9} {'':>7}" for name in installed))
        for number in options.shapes:
            print(measure(SHAPES[number], options.seconds, installed), flush=True)


if __name__ == "__main__":
    main()
