"""Raw files to numbers: delimited text, MATLAB, HDF5."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hgpbench import hdf5
from hgpbench.data import matlab, text
from hgpbench.data.cards import Recipe
from hgpbench.errors import DataError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Columns:
    """Named columns of numbers, the target last."""

    names: tuple[str, ...]
    values: Array  # (n, inputs + 1)
    dropped: int = 0  # rows with missing values


def read(path: Path, recipe: Recipe, label: str) -> Columns:
    """The inputs and the target of one raw file, finite; ``label`` is its name in messages."""
    if recipe.format.kind == "csv":
        columns = Columns(*text.read(path, recipe, recipe.format, label))
    elif recipe.format.kind == "mat":
        columns = _read_matlab(path, recipe, label)
    else:
        columns = _read_hdf5(path, recipe, label)
    if len(columns.values) == 0:
        raise DataError(f"{label}: has no rows")
    _check_finite(columns, label)
    return columns


def _read_matlab(path: Path, recipe: Recipe, label: str) -> Columns:
    matrix, columns = matlab.read_matrix(path, label), list(recipe.columns or [])
    if matrix.shape[1] != len(columns):
        raise DataError(f"{label}: has {matrix.shape[1]} columns; it should have {len(columns)}")
    wanted = (*(recipe.input_names or ()), recipe.target)
    return Columns(wanted, matrix[:, [columns.index(name) for name in wanted]])


def _read_hdf5(path: Path, recipe: Recipe, label: str) -> Columns:
    try:
        with hdf5.opened(path) as file:
            X, y = (hdf5.values(file, name) for name in ("X", "y"))
    except hdf5.DAMAGE as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{label}: should be an HDF5 file with X and y ({reason})") from error
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if not (_is_numeric(X) and _is_numeric(y) and X.ndim == 2 and X.shape[1] > 0 and y.shape == (len(X),)):
        raise DataError(
            f"{label}: X is {X.shape} and y is {y.shape}; they should be (n, d) and (n,), of numbers"
        )
    names = tuple(recipe.inputs or (f"x{place + 1}" for place in range(X.shape[1])))
    if len(names) != X.shape[1]:
        raise DataError(f"{label}: X has {X.shape[1]} columns, the card names {len(names)} inputs")
    return Columns((*names, recipe.target), np.column_stack([X, y]).astype(float))


def _is_numeric(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "fiub"


def _check_finite(columns: Columns, label: str) -> None:
    fine = np.isfinite(columns.values)
    if not fine.all():
        row, column = np.unravel_index(int(np.argmin(fine)), fine.shape)
        name, value = columns.names[int(column)], columns.values[row, column]
        raise DataError(f"{label}: row {int(row) + 1:,}, column {name!r}: {value} is not finite")
