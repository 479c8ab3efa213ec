"""What a model says, believed only where it makes sense: predictions are checked, remarks on the fit sorted.

A prediction that is wrong is a failure, not a score. A remark that is odd (a number of iterations that is an
array, say) is left out: it does not cost a good fit.
"""

import math
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hgpbench.errors import FitError
from hgpbench.prediction import Array, Prediction

_LONGEST = 200  # characters of a remark
_MOST = 100  # entries of a table
_POSITIVE, _NOT_NEGATIVE = ("var",), ("std", "noise_var", "f_var", "g_var")


def predict(model: Any, X: Array) -> Prediction:
    """The predictive distribution; of a foreign regressor the normal one with its standard deviation."""
    if hasattr(model, "predict_dist"):
        found = model.predict_dist(X)
        if not isinstance(found, Prediction):
            raise FitError(f"the model's predict_dist gave a {type(found).__name__}, not a Prediction")
        return Prediction(**{name: checked(name, values, len(X)) for name, values in found.arrays().items()})
    found = model.predict(X, return_std=True)
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise FitError("the model's predict(X, return_std=True) did not give a mean and a standard deviation")
    mean, std = (checked(name, part, len(X)) for name, part in zip(("mean", "std"), found, strict=True))
    return Prediction(mean, std**2, std**2)


def check(prediction: Prediction, rows: int) -> None:
    """Once more in the user's units, where numbers may have left their range."""
    for name, values in prediction.arrays().items():
        checked(name, values, rows)


def checked(name: str, values: Any, rows: int) -> Array:
    """One moment at all test points, as real numbers; FitError where it cannot be that."""
    if np.ma.is_masked(values):
        raise FitError(f"the model's {name} is masked at {int(np.ma.count_masked(values)):,} test points")
    found: NDArray[Any] = np.asarray(values)
    if found.dtype.kind not in "fiu":
        kind = "complex" if found.dtype.kind == "c" else f"of type {found.dtype}"
        raise FitError(f"the model's {name} is {kind}, not real numbers")
    if found.shape != (rows,):
        raise FitError(f"the model's {name} has shape {found.shape}, not ({rows},)")
    real = found.astype(np.float64)
    bad = int(np.count_nonzero(~np.isfinite(real)))
    if bad:
        raise FitError(f"the model's {name} is not finite at {bad:,} of {rows:,} test points")
    if name in _POSITIVE and np.any(real <= 0):
        raise FitError("the model's predictive variance is not positive everywhere")
    if name in _NOT_NEGATIVE and np.any(real < 0):
        raise FitError(f"the model's {name} is negative at {np.count_nonzero(real < 0):,} test points")
    return real


def remark(model: Any, name: str) -> Any:
    """A plain value that the model learned: text, a truth value or a finite number; None for all else."""
    value = attribute(model, name)
    if isinstance(value, np.ndarray | np.generic) and value.size == 1:
        value = value.item()
    if isinstance(value, str):
        return str(value[:_LONGEST]).encode("utf-8", "backslashreplace").decode()
    if isinstance(value, bool | int):
        return value if abs(value) < 2**63 else None
    return number(value)


def number(value: Any) -> float | None:
    """A finite number, or None."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def seconds(value: Any) -> float:
    """A time that was spent; none where the value is no time."""
    return max(0.0, number(value) or 0.0)


def attribute(model: Any, name: str) -> Any:
    """What the model has of this name; None where it has none, or fails at telling."""
    with suppress(Exception):  # a property of a foreign model may raise anything
        return getattr(model, name, None)
    return None


def numbers(model: Any, name: str, dimensions: int) -> NDArray[Any] | None:
    """An array of real numbers that the model learned, or None."""
    value = attribute(model, name)
    if not isinstance(value, np.ndarray) or value.ndim != dimensions or value.dtype.kind not in "biuf":
        return None
    return np.asarray(value)


def starts(model: Any) -> list[dict[str, float | None]] | None:
    """First values that the model tried, the best first, as far as they are named numbers."""
    rows = attribute(model, "starts_")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    return [_named_numbers(row) for row in rows[:_MOST]]


def kernels(model: Any) -> dict[str, dict[str, float | None]] | None:
    """How well each kernel predicted, by parameter, for a model that chose among them."""
    tables = attribute(model, "kernel_densities_")
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        return None
    return {_name(name): _named_numbers(table) for name, table in list(tables.items())[:_MOST]}


def _named_numbers(row: dict[Any, Any]) -> dict[str, float | None]:
    return {_name(name): number(value) for name, value in list(row.items())[:_MOST]}


def _name(name: Any) -> str:
    return str(name)[:_LONGEST].encode("utf-8", "backslashreplace").decode()
