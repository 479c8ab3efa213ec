"""Criteria on the curves of runs of the toy example: convergence histories and variational parameters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hgpbench.paper.criteria import Criterion, Stated
from hgpbench.paper.evidence import Evidence, called, listed
from hgpbench.paper.statements import Absent, AtMost, joined
from hgpbench.report.collect import Run
from hgpbench.report.numbers import plain

Array = NDArray[np.float64]
_LAST = 0.1  # share of a stochastic trace that is averaged for its level at the end
_WINDOW = 0.05  # share of a stochastic trace over which it is smoothed
Pair = tuple[Run, Run]


def sooner(name: str, than: str) -> Criterion:
    """The bound of ``name`` reaches the lower of both final levels in fewer iterations."""
    words = (
        f"{called(name)} reaches the lower of both final bounds (means of the last {100 * _LAST:g} % of the "
        f"iterations) in fewer iterations than {called(than)}, bounds smoothed over {100 * _WINDOW:g} %"
    )

    def gap(pair: Pair) -> float | None:
        traces = [_trace(run) for run in pair]
        if any(len(trace) < 2 for trace in traces):
            return None
        level = min(_final(trace) for trace in traces)
        first, second = (_reached(trace, level) for trace in traces)
        return first - second

    return _of_pairs(words, name, than, gap, "iterations", 0.0, is_strict=True)


def agree_on_lambda(name: str, other: str, correlation: float) -> Criterion:
    """The log variational parameters of both correlate over the training rows."""
    words = f"log Λ of {listed((name, other))} correlates with at least {correlation:g} over training rows"

    def value(pair: Pair) -> float | None:
        found = _lambdas(pair)
        if found is None:
            return None
        varies = min(np.std(found.first), np.std(found.second)) > 0
        return float(np.corrcoef(found.first, found.second)[0, 1]) if varies else 0.0

    return _of_pairs(words, name, other, value, "correlation", correlation, at_least=True)


def local_lambda(name: str, other: str, share: float) -> Criterion:
    """Experts explain a part of how the log variational parameters of both differ."""
    words = (
        f"the expert of a row explains at least {100 * share:g} % of the variance of log Λ of {called(name)} "
        f"minus log Λ of {called(other)} (about 1 % by chance)"
    )

    def value(pair: Pair) -> float | None:
        found = _lambdas(pair)
        if found is None or found.experts is None:
            return None
        return _explained(found.first - found.second, found.experts)

    return _of_pairs(words, name, other, value, "share explained", share, at_least=True)


def least_lambda(names: Sequence[str]) -> Criterion:
    """No variational parameter is negative."""
    words = f"the least Λ over training rows of each of {listed(names)} at least 0"

    def state(evidence: Evidence) -> Stated:
        least = {name: _least(evidence, name) for name in names}
        if not all(least.values()):
            return Stated(Absent(), (f"missing: {', '.join(n for n, found in least.items() if not found)}",))
        said = ", ".join(f"{name} {plain(min(found), 2)}" for name, found in least.items())
        count = min(len(found) for found in least.values())
        parts = [AtMost(f"minus the least Λ of {n}", tuple(-v for v in v_s)) for n, v_s in least.items()]
        return Stated(joined(parts), (f"least: {said} (n = {count})",))

    return Criterion(words, state, tuple(names))


def _least(evidence: Evidence, name: str) -> list[float]:
    """The least variational parameter of each finished run that kept them."""
    kept = [run.arrays() for run, _ in evidence.pairs(name, name).values()]
    told = [arrays.extras["variational"] for arrays in kept if arrays and "variational" in arrays.extras]
    return [float(values.min()) for values in told if values.size]


def _of_pairs(
    words: str,
    name: str,
    other: str,
    value: Callable[[Pair], float | None],
    quantity: str,
    bound: float,
    at_least: bool = False,
    is_strict: bool = False,
) -> Criterion:
    """The mean of what two runs of one seed say together is at most, or at least, a bound."""

    def state(evidence: Evidence) -> Stated:
        told = {seed: value(pair) for seed, pair in evidence.pairs(name, other).items()}
        values = [each for each in told.values() if each is not None]
        labels = evidence.labels((name, other))
        if not values:
            return Stated(Absent(), (f"no run of both {' and '.join(labels.values())} with what it takes",))
        sign = -1.0 if at_least else 1.0
        said = f"{quantity}: {plain(float(np.mean(values)), 3)} (n = {len(values)})"
        shifted = tuple(sign * each for each in values)
        what = f"{labels[name]} − {labels[other]}" if not at_least else quantity
        statement = AtMost(what, shifted, sign * bound, evidence.extra, is_strict, is_turned=at_least)
        return Stated(statement, (said,))

    return Criterion(words, state, (name, other), (name,))


def _trace(run: Run) -> Array:
    """Rows of iteration, seconds and bound; those that are not finite left out."""
    rows = np.asarray(run.digest.trace if run.digest else (), dtype=float).reshape(-1, 3)
    return rows[np.all(np.isfinite(rows), axis=1)]


def _final(trace: Array) -> float:
    return float(np.mean(trace[-max(1, round(_LAST * len(trace))) :, 2]))


def _reached(trace: Array, level: float) -> float:
    """The first iteration at which the smoothed bound is at ``level``; the last where it never is."""
    width = max(1, round(_WINDOW * len(trace)))
    smooth = np.convolve(trace[:, 2], np.full(width, 1 / width), mode="valid")
    hits = np.flatnonzero(smooth >= level)
    return float(trace[hits[0] + width - 1, 0] if hits.size else trace[-1, 0])


@dataclass(frozen=True, eq=False)
class _Lambdas:
    """Log variational parameters of two models over the same rows, and the experts of the first."""

    first: Array
    second: Array
    experts: Array | None


def _lambdas(pair: Pair) -> _Lambdas | None:
    """The parameters of two runs; None where they cannot be compared."""
    kept = [run.arrays() for run in pair]
    first, second = ({} if arrays is None else arrays.extras for arrays in kept)
    if "variational" not in first.keys() & second.keys() or not _same_rows(first, second):
        return None
    a, b = first["variational"].ravel(), second["variational"].ravel()
    used = (a > 0) & (b > 0)
    experts = first.get("expert")
    return _Lambdas(np.log(a[used]), np.log(b[used]), None if experts is None else experts[used])


def _same_rows(first: Mapping[str, Array], second: Mapping[str, Array]) -> bool:
    """Whether two runs of one seed trained on the same rows, as far as both tell."""
    if "X_train" in first.keys() & second.keys():
        return np.array_equal(first["X_train"], second["X_train"])
    return first["variational"].shape == second["variational"].shape


def _explained(values: Array, groups: Array) -> float:
    """Share of the variance that lies between groups."""
    means = {group: values[groups == group].mean() for group in np.unique(groups)}
    between = np.array([means[group] for group in groups])
    return float(np.var(between) / np.var(values)) if np.var(values) > 0 else 0.0
