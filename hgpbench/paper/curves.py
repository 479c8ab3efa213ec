"""Criteria on single runs of the toy example: convergence histories and variational parameters."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hgpbench.paper.criteria import Criterion, Finding
from hgpbench.paper.evidence import Evidence, called, listed
from hgpbench.report.collect import Run
from hgpbench.report.numbers import plain

Array = NDArray[np.float64]
_LAST = 0.1  # share of a stochastic trace that is averaged for its level at the end
_WINDOW = 0.05  # share of a stochastic trace over which it is smoothed


def sooner(name: str, than: str) -> Criterion:
    """The bound of ``name`` reaches the lower of both final levels in fewer iterations."""
    words = (
        f"{called(name)} reaches the lower of both final bounds (means of the last {100 * _LAST:g} % of the "
        f"iterations) in fewer iterations than {called(than)}, bounds smoothed over {100 * _WINDOW:g} %"
    )

    def check(evidence: Evidence) -> Finding:
        runs = evidence.first_runs((name, than))
        traces = {each: _trace(run) for each, run in runs.items()}
        if not runs or any(len(trace) < 2 for trace in traces.values()):
            return Finding(None, "no run of both with a trace")
        level = min(_final(trace) for trace in traces.values())
        steps = {each: _reached(trace, level) for each, trace in traces.items()}
        said = ", ".join(f"{runs[each].entry.label} {step:,.0f}" for each, step in steps.items())
        seed = runs[name].entry.seed
        return Finding(steps[name] < steps[than], f"iterations to {plain(level)}: {said} (seed {seed})")

    return Criterion(words, check, (name, than))


def approaches(names: tuple[str, ...], target: str, per_row: float) -> Criterion:
    """The final bounds of ``names`` come within so many nats a training row of the target's."""
    words = (
        f"final bounds of {listed(names)} (means of the last {100 * _LAST:g} %) below that of "
        f"{called(target)} by at most {per_row:g} nats a training row"
    )

    def check(evidence: Evidence) -> Finding:
        runs = evidence.first_runs((*names, target))
        goal = runs[target].record if runs else None
        aim, rows = (goal.fit.get("elbo"), goal.n_train) if goal else (None, None)
        if aim is None or rows is None or any(len(_trace(runs[name])) < 2 for name in names):
            return Finding(None, "no run of all of them with a trace and a bound")
        ends = {name: _final(_trace(runs[name])) for name in names}
        said = ", ".join(f"{runs[name].entry.label} {plain(end)}" for name, end in ends.items())
        outcome = all(aim - end <= per_row * rows for end in ends.values())
        return Finding(
            outcome, f"{said}, {runs[target].entry.label} {plain(aim)} (seed {runs[target].entry.seed})"
        )

    return Criterion(words, check, (*names, target))


def agree_on_lambda(name: str, other: str, correlation: float) -> Criterion:
    """The log variational parameters of both correlate over the training rows."""
    words = f"log Λ of {listed((name, other))} correlates with at least {correlation:g} over training rows"

    def check(evidence: Evidence) -> Finding:
        pair = _lambdas(evidence, name, other)
        if pair is None:
            return Finding(None, "no run of both with variational parameters")
        varies = min(np.std(pair.first), np.std(pair.second)) > 0
        value = float(np.corrcoef(pair.first, pair.second)[0, 1]) if varies else 0.0
        return Finding(value >= correlation, f"correlation {plain(value, 2)} ({pair.told})")

    return Criterion(words, check, (name, other))


def local_lambda(name: str, other: str, share: float) -> Criterion:
    """Experts explain a part of how the log variational parameters of both differ."""
    words = (
        f"the expert of a row explains at least {100 * share:g} % of the variance of log Λ of {called(name)} "
        f"minus log Λ of {called(other)} (about 1 % by chance)"
    )

    def check(evidence: Evidence) -> Finding:
        pair = _lambdas(evidence, name, other)
        if pair is None or pair.experts is None:
            return Finding(None, "no run of both with variational parameters and experts")
        value = _explained(pair.first - pair.second, pair.experts)
        return Finding(value >= share, f"{100 * value:.2g} % explained ({pair.told})")

    return Criterion(words, check, (name, other))


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
    seed: int

    @property
    def told(self) -> str:
        return f"{self.first.size} rows, seed {self.seed}"


def _lambdas(evidence: Evidence, name: str, other: str) -> _Lambdas | None:
    """The parameters of the lowest seed that both have finished; None where they cannot be compared."""
    runs = evidence.first_runs((name, other))
    if not runs:
        return None
    kept = [runs[each].arrays() for each in (name, other)]
    first, second = ({} if arrays is None else arrays.extras for arrays in kept)
    if "variational" not in first.keys() & second.keys() or not _same_rows(first, second):
        return None
    a, b = first["variational"].ravel(), second["variational"].ravel()
    used = (a > 0) & (b > 0)
    experts = first.get("expert")
    return _Lambdas(
        first=np.log(a[used]),
        second=np.log(b[used]),
        experts=None if experts is None else experts[used],
        seed=runs[name].entry.seed,
    )


def _same_rows(first: dict[str, Array], second: dict[str, Array]) -> bool:
    """Whether two runs of one seed trained on the same rows, as far as both tell."""
    if "X_train" in first.keys() & second.keys():
        return np.array_equal(first["X_train"], second["X_train"])
    return first["variational"].shape == second["variational"].shape


def _explained(values: Array, groups: Array) -> float:
    """Share of the variance that lies between groups."""
    means = {group: values[groups == group].mean() for group in np.unique(groups)}
    between = np.array([means[group] for group in groups])
    return float(np.var(between) / np.var(values)) if np.var(values) > 0 else 0.0
