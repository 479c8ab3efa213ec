"""How fast is F_V with its full gradient? One thread, double precision, everything as a ratio within one run.

    python benchmarks/bound.py [--rounds 30] [--kernels] [--scaling] [--threads] [--no-others]

``--kernels`` compares the kernels instead, f and g having the same, as multiples of the squared exponential's
time: of the bound with its gradient, and of predictions.

JAX and torch stand beside it where they are installed. Times are CPU time of this process, pinned to one
core: the least of interleaved rounds, each long enough that a busy machine disturbs all contenders alike.
Torch may bring a quicker BLAS than scipy's, so its own gemm is measured too, and the ratio given per gemm as
well. So does the extra `fast` (MKL): "of gemm" is always scipy's, "of own" that of the library in use.
An environment that sets OPENBLAS_CORETYPE holds scipy's BLAS to the kernels of that processor, but not the
products of JAX and torch: the first line tells. ``--threads`` compares instead the wall-clock time of one
thread, of two BLAS threads, and of two workers with one BLAS thread each, with many rows; that wants an idle
machine.
"""

import argparse
import importlib.util
import os
import time
import tracemalloc
from collections.abc import Callable

import _jax_bound
import _torch_bound
import numpy as np
from _ways import HEADER, WAYS, compare, running
from scipy.linalg import blas
from threadpoolctl import threadpool_info, threadpool_limits

from hgpbench.gp import vshgp
from hgpbench.gp.kernels import KERNELS, Families, Family
from hgpbench.la import JITTER, elementwise, times

SHAPES = [(200, 100, 2), (350, 175, 9), (487, 250, 3), (1000, 300, 11)]
TALL_SHAPES = [(10_000, 100, 5), (35_000, 175, 9), (35_000, 400, 9)]
PEAK_SIZE = 1500
OTHERS = {"jax": _jax_bound.prepare, "torch": _torch_bound.prepare}
Values = dict[str, np.ndarray]
Call = Callable[[], object]


def draw(n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray, Values]:
    """Standardised inputs and targets, inducing points among them, parameters as at the start of a fit."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    ell = np.full(d, 0.8 * np.sqrt(d))
    values = {
        "s2_kf": np.asarray(1.0),
        "ell_f": ell,
        "Xm": X[rng.permutation(n)[:m]],
        "s2_kg": np.asarray(0.7),
        "ell_g": ell,
        "Xu": X[rng.permutation(n)[:m]],
        "mu0": np.asarray(-1.0),
        "lam": 0.5 + rng.uniform(-0.1, 0.1, n),
    }
    return X, y, values


def gemm(n: int, m: int) -> Call:
    """The (m, m) by (m, n) product that sets the scale."""
    rng = np.random.default_rng(1)
    A, B = (np.asfortranarray(rng.normal(size=shape)) for shape in ((m, m), (m, n)))
    C = np.zeros((m, n), order="F")
    return lambda: blas.dgemm(1.0, A, B, c=C, overwrite_c=True)


def own_gemm(n: int, m: int) -> Call:
    """A product of the same size by the library in use."""
    rng = np.random.default_rng(1)
    V, M = rng.normal(size=(n, m)), np.asfortranarray(rng.normal(size=(m, m)))
    out = np.zeros((n, m))
    return lambda: times(V, M, out=out)


def seconds(call: Call, repeats: int) -> float:
    """CPU seconds of one call, from ``repeats`` in a row."""
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def race(calls: dict[str, Call], rounds: int, slot: float = 0.05) -> dict[str, float]:
    """The least CPU seconds of each call over interleaved rounds of about ``slot`` seconds apiece."""
    repeats = {name: max(1, round(slot / max(seconds(call, 3), 1e-6))) for name, call in calls.items()}
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], seconds(call, repeats[name]))
    return best


def agreement(found: tuple[float, dict], expected: tuple[float, Values]) -> float:
    """Largest relative difference of value and gradients."""
    errors = [abs(found[0] - expected[0]) / abs(expected[0])]
    for name, grad in found[1].items():
        errors.append(np.abs(np.asarray(grad) - expected[1][name]).max() / np.abs(expected[1][name]).max())
    return float(max(errors))


def peak_megabytes(call: Call) -> float:
    """Memory that ``call`` has allocated at its height."""
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def measure(shape: tuple[int, int, int], rounds: int, others: list[str]) -> str:
    """One line of the table."""
    n, m, d = shape
    X, y, values = draw(n, m, d)
    workspace = vshgp.Workspace(n, m, m)
    calls: dict[str, Call] = {
        "ours": lambda: vshgp.bound(values, X, y, workspace),
        "gemm": gemm(n, m),
        "own gemm": own_gemm(n, m),
        "peak": gemm(PEAK_SIZE, PEAK_SIZE),
    }
    ours = vshgp.bound(values, X, y, workspace)
    for name in others:
        calls[name] = call = OTHERS[name](values, X, y, JITTER)
        difference = agreement(call(), (ours.value, ours.grads))
        if difference > 1e-6:
            raise SystemExit(
                f"{name} differs by {difference:.1e} at {shape}: the two do not compute the same"
            )
    if "torch" in others:
        calls["torch gemm"] = _torch_bound.gemm(n, m)
    best = race(calls, rounds)
    rate = (13 * n * m**2 + 10.7 * m**3) / best["ours"] / 1e9
    gemm_rate, own_rate = (2 * n * m**2 / best[name] / 1e9 for name in ("gemm", "own gemm"))
    peak_rate = 2 * PEAK_SIZE**3 / best["peak"] / 1e9
    memory = peak_megabytes(lambda: vshgp.bound(values, X, y, vshgp.Workspace(n, m, m)))
    row = f"{f'({n}, {m}, {d})':>16} {best['ours'] * 1e3:8.2f} {rate:8.1f} {rate / gemm_rate:9.0%}"
    row += f" {rate / own_rate:9.0%} {rate / peak_rate:9.0%} {memory:8.1f}"
    row += "".join(f" {best[name] * 1e3:9.2f} {best[name] / best['ours']:6.2f}x" for name in others)
    if "torch" in others:
        row += f" {best['torch'] / best['ours'] * best['own gemm'] / best['torch gemm']:9.2f}x"
    return row


def predict(shape: tuple[int, int, int], rounds: int) -> str:
    """Throughput of the latent moments of f and g at new points."""
    n, m, d = shape
    X, y, values = draw(n, m, d)
    q_f, q_g = vshgp.posteriors(values, X, y, vshgp.Workspace(n, m, m))
    Xs = np.random.default_rng(2).normal(size=(10_000, d))
    best = race({"predict": lambda: (q_f.moments(Xs), q_g.moments(Xs)), "gemm": gemm(n, m)}, rounds)
    rate = len(Xs) * 4 * m**2 / best["predict"] / 1e9
    share = rate / (2 * n * m**2 / best["gemm"] / 1e9)
    return f"{f'({n}, {m}, {d})':>16} {len(Xs) / best['predict']:14,.0f} {rate:8.1f} {share:9.0%}"


def kernels(shape: tuple[int, int, int], rounds: int) -> str:
    """Time of the bound and of predictions with each kernel, that of the squared exponential being one."""
    n, m, d = shape
    X, y, values = draw(n, m, d)
    Xs = np.random.default_rng(2).normal(size=(2_000, d))

    def calls(family: Family) -> tuple[Call, Call]:
        workspace = vshgp.Workspace(n, m, m, families=Families(family, family))
        q_f, q_g = vshgp.posteriors(values, X, y, workspace)
        return lambda: vshgp.bound(values, X, y, workspace), lambda: (q_f.moments(Xs), q_g.moments(Xs))

    both = {name: calls(family) for name, family in KERNELS.items()}
    bound, predict = (race({name: both[name][i] for name in both}, rounds) for i in range(2))
    row = f"{f'({n}, {m}, {d})':>16} {bound['se'] * 1e3:8.2f}"
    for best in (bound, predict):
        row += " ".join(["", *(f"{best[name] / best['se']:9.2f}" for name in both if name != "se")])
    return row


def cost(n: int, m: int, d: int) -> tuple[float, float]:
    """CPU seconds and peak megabytes of one evaluation."""
    X, y, values = draw(n, m, d)
    workspace = vshgp.Workspace(n, m, m)
    best = race({"ours": lambda: vshgp.bound(values, X, y, workspace)}, rounds=5)["ours"]
    return best, peak_megabytes(lambda: vshgp.bound(values, X, y, vshgp.Workspace(n, m, m)))


def scaling(m: int = 50, d: int = 5) -> None:
    """Cost and memory against n at fixed m: the exponents should be one or less."""
    sizes = [1_000, 3_000, 10_000, 30_000, 100_000]
    print(f"\nvalue + gradient at m = u = {m}, d = {d}\n{'n':>9} {'ms':>9} {'MB':>8} {'bytes / (8 n m)':>16}")
    costs = []
    for n in sizes:
        costs.append(cost(n, m, d))
        time_ms, memory = costs[-1][0] * 1e3, costs[-1][1]
        print(f"{n:>9,} {time_ms:9.2f} {memory:8.1f} {memory * 1e6 / (8 * n * m):16.2f}", flush=True)
    slopes = np.polyfit(np.log(sizes), np.log(costs), 1)[0]
    print(f"exponent in n: time {slopes[0]:.2f}, memory {slopes[1]:.2f}")


def wall(way: str, shape: tuple[int, int, int]) -> float:
    """The least wall-clock seconds of ten evaluations in one of the ways to use two cores."""
    n, m, d = shape
    X, y, values = draw(n, m, d)
    times = []
    with running(way) as run:
        workspace = vshgp.Workspace(n, m, m, run)
        for _ in range(10):
            start = time.perf_counter()
            vshgp.bound(values, X, y, workspace)
            times.append(time.perf_counter() - start)
    return min(times)


def conditions() -> str:
    """The kernels that scipy's BLAS runs, and whether the elementwise passes are compiled."""
    kernels = {pool.get("architecture", "?") for pool in threadpool_info() if pool["user_api"] == "blas"}
    held = " (held there by OPENBLAS_CORETYPE)" if "OPENBLAS_CORETYPE" in os.environ else ""
    numba = "no" if elementwise.compiled is None else "yes"
    return f"BLAS kernels {', '.join(sorted(kernels))}{held}; numba {numba}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30, help="interleaved rounds; the least time counts")
    parser.add_argument("--kernels", action="store_true", help="compare kernels")
    parser.add_argument("--scaling", action="store_true", help="also cost and memory from n = 1e3 to 1e5")
    parser.add_argument("--no-others", action="store_true", help="leave JAX and torch out")
    parser.add_argument("--threads", action="store_true", help="compare ways to use two cores")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--shape", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(wall(options.way, TALL_SHAPES[options.shape]))
        return
    if options.threads:
        print(f"{conditions()}\n{'(n, m = u, d)':>16} {HEADER}")
        for number, shape in enumerate(TALL_SHAPES):
            print(f"{shape!s:>16} {compare(__file__, '--shape', str(number))}", flush=True)
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    installed = [name for name in OTHERS if importlib.util.find_spec(name) and not options.no_others]
    with threadpool_limits(1):
        print(conditions())
        if options.kernels:
            rough = [name for name in KERNELS if name != "se"]
            print(f"{'':>25} {'bound':>29} {'predictions':>29}")
            print(f"{'(n, m = u, d)':>16} {'se: ms':>8}" + "".join(f" {name:>9}" for name in rough + rough))
            for shape in [*SHAPES, TALL_SHAPES[0]]:
                print(kernels(shape, options.rounds), flush=True)
            return
        header = f"{'(n, m = u, d)':>16} {'ms':>8} {'GFLOP/s':>8} {'of gemm':>9} {'of own':>9}"
        header += f" {'of peak':>9} {'MB':>8}"
        header += "".join(f" {name + ' ms':>9} {'':>7}" for name in installed)
        print(header + (f" {'per gemm':>10}" if "torch" in installed else ""))
        for shape in SHAPES:
            print(measure(shape, options.rounds, installed), flush=True)
        print(f"\n{'(n, m = u, d)':>16} {'predictions/s':>14} {'GFLOP/s':>8} {'of gemm':>9}")
        for shape in SHAPES:
            print(predict(shape, max(3, options.rounds // 5)), flush=True)
        if options.scaling:
            scaling()


if __name__ == "__main__":
    main()
