"""What lies behind a row of a table, thinned for the eye: parameters, log, convergence, curves."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hgpbench.bench import record
from hgpbench.report import noises, summary
from hgpbench.report.collect import Experiment, Run
from hgpbench.report.summary import Row
from hgpbench.words import printable

_TRACE_POINTS = 60
_NOISE_QUANTILES = 101
_DIGITS = 5  # of curves, which are for the eye
_LOG_LINES, _LOG_LETTERS = 12, 300
_LONGEST = 300  # letters of one thing that a fit tells


def of_run(run: Run) -> dict[str, Any]:
    """How a run went; a run that left no record tells nothing."""
    if run.record is None:
        return {"params": {}, "fit": {}, "trace": None, "log": []}
    return {
        "params": run.record.params,
        "fit": {name: told for name, told in run.record.fit.items() if _is_short(told)},
        "trace": _trace(run),
        "log": _log(run),
    }


def of_model(experiment: Experiment, rows: list[Row]) -> list[dict[str, Any]]:
    """Of each row, in which quantities it is marked as the best, and its curves over all seeds."""
    best = {name: summary.best(rows, name) for name in summary.QUANTITIES}
    return [
        {"best": [name for name, labels in best.items() if row.label in labels], **_curves(experiment, row)}
        for row in rows
    ]


def noise_truth(experiment: Experiment) -> list[float]:
    """Even quantiles of the true log noise variance over all runs; empty where it is not known."""
    every = (run.digest.log_noise_truth for run in experiment.runs if run.digest is not None)
    return _quantiles([told for told in every if told])


def _curves(experiment: Experiment, row: Row) -> dict[str, Any]:
    done = list(experiment.done(row.label).values())
    constant = noises.constants(done)
    varying = [digest.log_noise for digest in done if digest.log_noise]
    return {
        # Counts of the probability integral transform in equal bins: calibration at every level.
        "pit": np.sum([digest.pit for digest in done], axis=0).tolist() if done else [],
        "constant_noise": constant is not None,
        # Even quantiles of the log noise variance; of noise that is constant, or nearly, one value a seed.
        "log_noise": _quantiles(varying) if constant is None else [_rounded(each) for each in constant],
    }


def _quantiles(parts: Sequence[Sequence[float]]) -> list[float]:
    if not parts:
        return []
    pooled: NDArray[np.float64] = np.concatenate([np.asarray(part, dtype=float) for part in parts])
    return [_rounded(value) for value in np.quantile(pooled, np.linspace(0, 1, _NOISE_QUANTILES))]


def _trace(run: Run) -> dict[str, list[float]] | None:
    """Iteration, seconds and bound at a few places, the first and the last among them."""
    rows = run.digest.trace if run.digest is not None else ()
    if len(rows) < 2:
        return None
    places = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _TRACE_POINTS)).round().astype(int))
    columns = zip(*(rows[place] for place in places.tolist()), strict=True)
    names = ("iteration", "seconds", "bound")
    return {name: [_rounded(v) for v in values] for name, values in zip(names, columns, strict=True)}


def _log(run: Run) -> list[str]:
    """The last lines that a model printed; a run that failed keeps them in its record."""
    kept = run.record.log_tail if run.record is not None else []
    try:
        lines = kept or record.log_tail(run.folder)
    except OSError:
        return []
    return [printable(str(line))[:_LOG_LETTERS] for line in lines[-_LOG_LINES:]]


def _is_short(told: Any) -> bool:
    return len(json.dumps(told)) <= _LONGEST


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
