"""Raw files to numbers: delimited text, MATLAB, HDF5."""

import io
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from hgpbench.data import text
from hgpbench.data.cards import Recipe
from hgpbench.errors import DataError

Array = NDArray[np.float64]
_BROKEN_MATLAB = (
    ValueError, TypeError, NotImplementedError, LookupError, OSError, MatReadError, zlib.error, struct.error
)  # fmt: skip


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
    body = io.BytesIO(path.read_bytes())  # in memory, so that an OSError of the parser means a broken file
    try:
        content = loadmat(body)
    except _BROKEN_MATLAB as error:
        raise DataError(f"{label}: not a MATLAB file that can be read ({error})") from error
    matrices = {name: value for name, value in content.items() if not name.startswith("__")}
    columns = list(recipe.columns or [])
    if len(matrices) != 1:
        raise DataError(f"{label}: should hold one matrix; it holds {', '.join(matrices) or 'none'}")
    ((name, matrix),) = matrices.items()
    if not _is_numeric(matrix) or matrix.ndim != 2 or matrix.shape[1] != len(columns):
        shape = " x ".join(map(str, getattr(matrix, "shape", ())))
        raise DataError(f"{label}: {name} is {shape}; it should be a matrix of {len(columns)} columns")
    wanted = (*(recipe.input_names or ()), recipe.target)
    return Columns(wanted, np.asarray(matrix[:, [columns.index(name) for name in wanted]], dtype=float))


def _read_hdf5(path: Path, recipe: Recipe, label: str) -> Columns:
    try:
        with h5py.File(path, "r") as file:
            X, y = (file[name][...] for name in ("X", "y"))
    except (OSError, KeyError, TypeError) as error:
        raise DataError(f"{label}: should be an HDF5 file with X and y ({error})") from error
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
