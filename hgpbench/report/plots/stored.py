"""What pictures of small problems need of stored arrays: a run per label, its inputs and their names."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hgpbench.bench.record import GRID, Arrays
from hgpbench.prediction import Prediction
from hgpbench.report.collect import Experiment
from hgpbench.report.styles import Styles
from hgpbench.words import printable

Array = NDArray[Any]
_LINE_POINTS = 1000
_MOMENTS = {field.name for field in fields(Prediction)}


def first_runs(experiment: Experiment, n_inputs: int) -> dict[str, Arrays]:
    """Arrays of the lowest finished seed of each label, where they have so many inputs to draw against."""
    by_label = {}
    for label in experiment.labels:
        run = next((run for run in experiment.of(label) if run.digest is not None), None)
        if run is None or run.record is None or run.record.n_inputs != n_inputs:
            continue
        arrays = run.arrays()
        if arrays is not None and "X_test" in arrays.extras:
            by_label[label] = arrays
    return by_label


def without_baselines(by_label: dict[str, Arrays], styles: Styles) -> dict[str, Arrays]:
    """The labels that are Gaussian processes or compete with them; all, where there is no such label."""
    kept = {label: arrays for label, arrays in by_label.items() if styles[label].family != "baseline"}
    return kept or by_label


def curve(arrays: Arrays) -> tuple[Array, Prediction]:
    """What was predicted along the one input: on the grid, or at test rows where no grid was stored."""
    extras = arrays.extras
    prefix = f"{GRID}_"
    told = {name.removeprefix(prefix): extras[name] for name in extras if name.startswith(prefix)}
    if GRID in extras and {"mean", "var", "noise_var"} <= told.keys() <= _MOMENTS:
        return extras[GRID], Prediction(**told)
    order = along_input(arrays)
    moments = {name: values[order] for name, values in arrays.prediction.arrays().items()}
    return extras["X_test"][order, 0], Prediction(**moments)


def along_input(arrays: Arrays) -> Array:
    """Test rows in order of their input, evenly thinned to what a line can show."""
    x = arrays.extras["X_test"][:, 0]
    order = np.argsort(x, kind="stable")
    return order[np.unique(np.linspace(0, x.size - 1, min(x.size, _LINE_POINTS)).round().astype(int))]


def input_names(arrays: Arrays) -> list[str]:
    """Names of the inputs for axes; records of older versions do not tell them."""
    known = arrays.extras.get("input_names")
    if known is not None:
        return [printable(name.decode("utf-8", errors="replace")) for name in known.tolist()]
    count = arrays.extras["X_test"].shape[1]
    return ["input"] if count == 1 else [f"input {place + 1}" for place in range(count)]


def ranked_experts(arrays: Arrays) -> Array | None:
    """The expert of each training row, numbered along the first input; None where there is but one."""
    experts = arrays.extras.get("expert")
    if experts is None or np.ptp(experts) == 0:
        return None
    names, rows, counts = np.unique(experts, return_inverse=True, return_counts=True)
    centres = np.bincount(rows, weights=arrays.extras["X_train"][:, 0]) / counts
    ranks = np.empty(len(names), dtype=int)
    ranks[np.argsort(centres)] = np.arange(len(names))
    return ranks[rows]
