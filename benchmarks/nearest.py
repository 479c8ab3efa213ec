"""What NNGP and NNHGP cost, and how their neighbours are best found.

    python benchmarks/nearest.py growth [ROWS ROWS ...]    fit and prediction with more and more rows
    python benchmarks/nearest.py workers [ROWS]            the same with one thread and with two, in turn
    python benchmarks/nearest.py predict                   rows a second of a core, and what one row takes
    python benchmarks/nearest.py search [ROWS ROWS ...]    the K nearest of some queries, in several ways

``growth`` and ``workers`` take rows of the dataset ``electric`` where it has been fetched (see
HGPBENCH_DATA), otherwise drawn ones, in a process for each; ``predict`` draws 10 inputs, K = 50, and learns
for a few iterations only. ``search`` compares in CPU time of one thread, with ``--widths`` numbers of inputs
and ``--ways`` named; libraries that no extra of ours brings (faiss, hnswlib, pynndescent) are told with the
share of the neighbours that they find.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from scipy.spatial import KDTree
from sklearn.neighbors import BallTree
from threadpoolctl import threadpool_limits

from hgpbench.cores import thread_variables
from hgpbench.data.source import open_source
from hgpbench.data.split import Split
from hgpbench.errors import DataError
from hgpbench.gp.search import Search
from hgpbench.metrics import score
from hgpbench.models import NNGP, NNHGP

TEST, INPUTS = 49_280, 10
ROWS = (10_000, 100_000, 2_000_000)
K, DRAWN, ASKED, ROUNDS = 50, 100_000, 20_000, 3
QUERIES, WIDTHS = 100, (1, 3, 6, 10, 20, 30)
KINDS = {"alike": 1.0, "falling": 0.7}  # by how much each input varies less than the one before
Array = np.ndarray
Find = Callable[[Array], Array]


def electric(n: int) -> tuple[Array, Array, Array, Array]:
    """Training and test rows."""
    try:
        fold = open_source("electric").fold(Split(n, TEST), 0)
    except DataError as error:
        print(f"drawing rows instead of electric's: {error}", file=sys.stderr)
        X, y = drawn(n + TEST)
        return X[TEST:], y[TEST:], X[:TEST], y[:TEST]
    return fold.X_train, fold.y_train, fold.X_test, fold.y_test


def drawn(n: int, d: int = INPUTS, ratio: float = 0.7) -> tuple[Array, Array]:
    """Inputs each of which varies, and matters, less than the one before, and noise that varies."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * ratio ** np.arange(d)
    return X, np.sin(X).sum(axis=1) + 0.3 * np.exp(0.5 * X[:, 0]) * rng.normal(size=n)


def measured(n: int, jobs: int) -> dict[str, float]:
    """Seconds, memory and scores of one fit and its prediction, in this process."""
    X, y, Xs, ys = electric(n)
    before, start, wall = _peak(), time.process_time(), time.perf_counter()
    model = NNHGP(mean="linear", random_state=0, n_jobs=jobs).fit(X, y)
    fitted, fitted_wall = time.process_time(), time.perf_counter()
    found = model.predict_dist(Xs)
    ended, ended_wall = time.process_time(), time.perf_counter()
    scores = score(ys, found, float(y.mean()), float(y.var()))
    return {
        "rows": n,
        "K": model.n_neighbors_,
        "fit, CPU s": fitted - start,
        "fit, s": fitted_wall - wall,
        "predict, CPU s": ended - fitted,
        "predict, s": ended_wall - fitted_wall,
        "data, MB": before,
        "peak, MB": _peak(),
        **{name: scores[name] for name in ("smse", "msll", "msll_gaussian")},
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(n: int, jobs: int) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "one", str(n), str(jobs)]
    environment = os.environ | thread_variables(1)
    found = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def growth(rows: list[int]) -> None:
    """One thread."""
    for n in rows or ROWS:
        print(_line(apart(n, 1)), flush=True)


def workers(n: int) -> None:
    """Least wall-clock seconds of rounds in turn."""
    best = {jobs: {"fit, s": np.inf, "predict, s": np.inf} for jobs in (1, 2)}
    for _ in range(ROUNDS):
        for jobs, least in best.items():
            found = apart(n, jobs)
            for name in least:
                least[name] = min(least[name], found[name])
        ratios = {name: best[1][name] / best[2][name] for name in best[1]}
        print(f"{n:,} rows: {best}, two against one: {ratios}, load {os.getloadavg()[0]:.1f}", flush=True)


def predict() -> None:
    """Rows a second in CPU time of one thread, and the least and the median seconds of a row by itself."""
    X, y = drawn(DRAWN + ASKED)
    Xs = X[DRAWN:]
    for kind in (NNGP, NNHGP):
        quick = {"n_neighbors": K, "kernel": "matern32", "max_iter": 5, "n_jobs": 1, "random_state": 0}
        if kind is NNHGP:
            quick |= {"noise_kernel": "matern32", "weights": 0.0, "noise_rows": 20_000}
        model = kind(**quick).fit(X[:DRAWN], y[:DRAWN])
        many = min(_seconds(lambda model=model: model.predict_dist(Xs)) for _ in range(ROUNDS))
        each = [
            _seconds(lambda i=i, model=model: model.predict_dist(Xs[i : i + 1]), time.perf_counter)
            for i in range(1_000)
        ]
        print(
            f"{kind.__name__}: {len(Xs) / many:,.0f} rows a second, "
            f"one row {1e3 * min(each):.2f} ms, median {1e3 * float(np.median(each)):.2f} ms",
            flush=True,
        )


def _seconds(call: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    start = clock()
    call()
    return clock() - start


def search(rows: list[int], widths: list[int], ways: list[str]) -> None:
    """Microseconds of a query, after seconds to build, for each way."""
    for n in rows or ROWS[:2]:
        for d in widths:
            for kind, ratio in KINDS.items():
                if d == 1 and ratio < 1.0:
                    continue
                X, _ = drawn(n + QUERIES, d, ratio)
                _compare(f"{n:,} rows, {d} inputs, {kind}", ways, X[QUERIES:].copy(), X[:QUERIES])


def _compare(title: str, ways: list[str], X: Array, points: Array) -> None:
    exact, line = Search(X).nearest(points, K), [title]
    for name in ways:
        start = time.process_time()
        find = WAYS[name](X)
        built = time.process_time()
        near = find(points)
        spent = (time.process_time() - built) / len(points)
        shared = np.mean([len(np.intersect1d(*both)) / K for both in zip(near, exact, strict=True)])
        found = f" {shared:.0%}" if name in FOREIGN else ""
        line.append(f"{name} {built - start:.2f} s + {1e6 * spent:.0f} us{found}")
    print("; ".join(line), flush=True)


def ours(X: Array) -> Find:
    """The k-d tree that the models use."""
    tree = Search(X)
    tree.nearest(X[:1], 1)
    return lambda points: tree.nearest(points, K)


def balanced(X: Array) -> Find:
    """scipy's by default: cut at medians, boxes drawn in."""
    tree = KDTree(X)
    return lambda points: tree.query(points, K)[1]


def ball(X: Array) -> Find:
    """scikit-learn's tree of balls."""
    tree = BallTree(X)
    return lambda points: tree.query(points, K, return_distance=False)


def brute(X: Array) -> Find:
    """All distances, by products of blocks."""
    squares = np.einsum("nd,nd->n", X, X)

    def find(points: Array) -> Array:
        distances = points @ X.T
        distances *= -2.0
        distances += squares
        return np.argpartition(distances, K, axis=1)[:, :K]

    return find


def flat(X: Array) -> Find:
    """faiss's brute force, in single precision."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X.astype(np.float32))
    return lambda points: index.search(points.astype(np.float32), K)[1]


def graph(X: Array) -> Find:
    """hnswlib's graph."""
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), ef_construction=200, M=16)
    index.add_items(X, num_threads=1)
    index.set_ef(2 * K)
    return lambda points: index.knn_query(points, K, num_threads=1)[0].astype(np.int64)


def descent(X: Array) -> Find:
    """pynndescent's graph."""
    from pynndescent import NNDescent

    index = NNDescent(X, n_neighbors=30, random_state=0, n_jobs=1)
    index.prepare()
    index.query(X[:1], K)
    return lambda points: index.query(points, K)[0].astype(np.int64)


WAYS: dict[str, Callable[[Array], Find]] = {
    "ours": ours,
    "balanced": balanced,
    "ball": ball,
    "brute": brute,
    "faiss": flat,
    "hnswlib": graph,
    "pynndescent": descent,
}
FOREIGN = ("faiss", "hnswlib", "pynndescent")


def _line(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in found.items())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["growth", "workers", "predict", "search", "one"])
    parser.add_argument("rows", type=int, nargs="*")
    parser.add_argument("--widths", type=int, nargs="*", default=WIDTHS)
    installed = [name for name in WAYS if name not in FOREIGN or find_spec(name)]
    parser.add_argument("--ways", nargs="*", choices=installed, default=installed)
    options = parser.parse_args()
    with threadpool_limits(1, user_api="blas"):
        if options.what == "growth":
            growth(options.rows)
        elif options.what == "workers":
            workers(*options.rows or [20_000])
        elif options.what == "predict":
            predict()
        elif options.what == "search":
            search(options.rows, options.widths, options.ways)
        else:
            n, jobs = options.rows
            print(json.dumps(measured(n, jobs)))


if __name__ == "__main__":
    main()
