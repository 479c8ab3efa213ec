"""What a fit should cost before anything ran: its arithmetic over the speed of this machine.

Counts are of the leading terms and of a usual number of iterations, and each has a constant that was measured
on protein with 1,500 and 35,000 rows: right within a factor of three or so. Earlier runs correct them.
"""

import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

Count = Callable[[float, float, Mapping[str, Any]], float]  # rows, inputs, parameters -> operations

_PRODUCT = 400  # rows of the square matrices by which the speed is measured
# Where the constants were measured: seconds of an operation that is counted, and operations a second of a
# product of matrices.
_SECONDS, _SPEED = 1e-11, 6e10


def _given(params: Mapping[str, Any], name: str, default: float, n: float) -> float:
    value = params.get(name)
    return min(float(value), n) if isinstance(value, int | float) and value else min(default, n)


def _sparse(n: float, d: float, p: Mapping[str, Any]) -> float:
    m = _given(p, "n_inducing", 200, n)
    return 400 * (4 * n * m * m + 10 * m**3 + 20 * n * m * d)


def _vshgp(n: float, d: float, p: Mapping[str, Any]) -> float:
    m, u = _given(p, "n_inducing_f", 100, n), _given(p, "n_inducing_g", 100, n)
    evaluations = 200 + 5 * float(p.get("max_iter") or 400)  # 18 CPU s with 100 iterations are 48 with 400
    return evaluations * (4 * n * m * m + 7 * n * u * u + 30 * n * (m + u) * (1 + d / 4))


def _minibatch(n: float, d: float, p: Mapping[str, Any]) -> float:
    m = _given(p, "n_inducing_f", _given(p, "n_inducing", 200, n), n)
    b, steps = _given(p, "batch_size", 500, n), float(p.get("max_iter") or 1_000)
    return steps * (8 * b * m * m + 24 * m**3 + 30 * b * m * d)


def _experts(n: float, d: float, p: Mapping[str, Any]) -> float:
    share = n / max(1.0, float(p.get("n_experts") or max(2, n / 350)))
    m = _given(p, "n_inducing_f", 100, share)
    rows = 2_600 * min(n, 2_000) + 200 * n  # most steps are taken by few rows
    return rows * (11 * m * m + 60 * m * (1 + d / 4))


def _exact_experts(n: float, d: float, p: Mapping[str, Any]) -> float:
    share = n / max(1.0, float(p.get("n_experts") or 10))
    return 80 * n * share * (share + 10 * d)


def _subset(n: float, d: float, p: Mapping[str, Any]) -> float:
    m = _given(p, "subset_size", _given(p, "max_rows", 2_000, n), n)
    return 60 * (1.5 * m**3 + 30 * m * m * (1 + d / 2))


def _nearest(n: float, d: float, p: Mapping[str, Any]) -> float:
    K = _given(p, "n_neighbors", 50, n)
    rows = 540 * min(n, 1_000) + 100 * min(n, 4_000) + 25 * min(n, 8_000) + 10 * min(n, 20_000)
    rows += 32 * min(n, 60_000)
    return rows * 340 * K * K * (1 + K / 50)


def _trees(trees: float) -> Count:
    return lambda n, d, p: trees * (2_000 + n * d) * 40


EFFORT: Mapping[str, Count] = {
    "mean": lambda n, d, p: 1e6 + n * d,
    "linear": lambda n, d, p: 5e7 + 60 * n * d * d,
    "hetlinear": lambda n, d, p: 1e8 + 150 * n * d * d,
    "gp": lambda n, d, p: 60 * (1.5 * n**3 + 30 * n * n * (1 + d / 2)),
    "vsgp": _sparse,
    "fitc": _sparse,
    "dpic": _sparse,
    "gpvc": lambda n, d, p: 300 * 6 * n * _given(p, "n_basis", 100, n) ** 2,
    "svgp": _minibatch,
    "svshgp": lambda n, d, p: 5 * _minibatch(n, d, p),
    "vshgp": _vshgp,
    "vhgp": lambda n, d, p: 300 * 11 * n**3,
    "dvshgp": _experts,
    "rbcm": _exact_experts,
    "ehsod": lambda n, d, p: 2 * _subset(n, d, p),
    "nngp": _nearest,
    "nnhgp": lambda n, d, p: 2.2 * _nearest(n, d, p) + 1.6e8 * min(n, 100_000),
    "forest": lambda n, d, p: 300 * n * d * max(1.0, float(np.log2(max(n, 2)))) * 1_800,
    "lightgbm": _trees(150_000),
    "catboost": _trees(150_000),
    "ngboost": lambda n, d, p: 50_000 * (20_000 + n * d * 30) * 20,
    "sklearn-gpr": lambda n, d, p: 20 * _subset(n, d, p),
    "gpboost": lambda n, d, p: 3_000 * n * (20**3 + 20 * 20 * d) * 20,
    "gpytorch": lambda n, d, p: 2 * _minibatch(n, d, {"n_inducing": 300, "max_iter": 4_000, **p}),
    "gpytorch-het": lambda n, d, p: 5 * _minibatch(n, d, {"n_inducing": 300, "max_iter": 4_000, **p}),
}
"""Operations of a fit, by model."""


def seconds(model: str, params: Mapping[str, Any], n: int, d: int) -> float | None:
    """What a fit should take on one thread of this machine; None for a model that nothing is known of."""
    count = EFFORT.get(model)
    return None if count is None else count(float(n), float(d), params) * _SECONDS * _SPEED / speed()


def _large(m: str, default: float, matrices: float) -> Count:
    """So many square matrices, of as many rows as a parameter says."""
    return lambda n, d, p: 8 * matrices * _given(p, m, default, n) ** 2


def _tall(matrices: float) -> Count:
    """So many matrices of all rows by inducing points."""
    return lambda n, d, p: 8 * matrices * n * _given(p, "n_inducing", 200, n)


def _batch(matrices: float) -> Count:
    """Matrices of a batch by inducing points."""

    def count(n: float, d: float, p: Mapping[str, Any]) -> float:
        m = _given(p, "n_inducing_f", _given(p, "n_inducing", 200, n), n)
        return 8 * matrices * m * (20 * _given(p, "batch_size", 500, n) + 6 * m)

    return count


def _points(p: Mapping[str, Any], n: float) -> float:
    return _given(p, "n_inducing_f", 100, n) + _given(p, "n_inducing_g", 100, n)


PROCESS = 200e6  # bytes of a run that does nearly nothing
MEMORY: Mapping[str, Count] = {
    "gp": lambda n, d, p: 32 * n * n,
    "vhgp": lambda n, d, p: 64 * n * n,
    "ehsod": _large("subset_size", 2_000, 3.0),
    "sklearn-gpr": lambda n, d, p: (4 + 4 * d) * _large("max_rows", 2_000, 1.0)(n, d, p),
    "vsgp": _tall(3),
    "fitc": _tall(4),
    "dpic": _tall(6),
    "vshgp": lambda n, d, p: 48 * n * _points(p, n),
    "svgp": _batch(1),
    "svshgp": _batch(2),
    "gpvc": lambda n, d, p: 48 * n * _given(p, "n_basis", 100, n),
    "dvshgp": lambda n, d, p: 5e7 + 4 * n * _points(p, n),
    "rbcm": lambda n, d, p: 16 * n * n / max(1.0, float(p.get("n_experts") or 10)),
    "nngp": lambda n, d, p: 40 * n * _given(p, "n_neighbors", 50, n),
    "nnhgp": lambda n, d, p: 60 * n * _given(p, "n_neighbors", 50, n),
    "forest": lambda n, d, p: 2_000 * n,
    "lightgbm": lambda n, d, p: 1e7 + 1_000 * n,
    "catboost": lambda n, d, p: 4e7 + 1_000 * n,
    "ngboost": lambda n, d, p: 5e7 + 1_000 * n,
    "gpboost": lambda n, d, p: 9_000 * n,
    "gpytorch": lambda n, d, p: 4.3e8 + 200 * n,
    "gpytorch-het": lambda n, d, p: 5e8 + 200 * n,
}
"""Bytes of a run besides its process and its rows, by model; nothing for those that keep nearly nothing."""


def memory(model: str, params: Mapping[str, Any], n: int, test: int, d: int) -> float | None:
    """The most memory that a run should take, within a factor of two or so; None where nothing is known."""
    if model not in EFFORT:
        return None
    count = MEMORY.get(model)
    rows = 32.0 * (n + test) * (d + 2)  # as they were read, split, scaled
    return PROCESS + rows + (count(float(n), float(d), params) if count else 0.0)


def ratio(
    model: str, then: tuple[Mapping[str, Any], int], now: tuple[Mapping[str, Any], int], d: int
) -> float:
    """How many times as long a fit takes with other parameters and rows; linear in the rows where unknown."""
    count = EFFORT.get(model)
    if count is None:
        return max(1.0, now[1] / then[1])
    return max(1.0, count(float(now[1]), float(d), now[0]) / count(float(then[1]), float(d), then[0]))


@cache
def speed() -> float:
    """Operations a second of one thread of this machine: a product of matrices, the best of ten.

    Processor time is taken, so that a busy machine is not a slow one.
    """
    left = np.random.default_rng(0).standard_normal((_PRODUCT, _PRODUCT))
    best = np.inf
    with threadpool_limits(1):
        for _ in range(10):
            start = time.process_time()
            left @ left
            best = min(best, max(time.process_time() - start, 1e-4))
    return 2.0 * _PRODUCT**3 / best
