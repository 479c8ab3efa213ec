"""MATLAB and HDF5 files to numbers."""

import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from hgpbench.data import tables
from hgpbench.data.cards import Recipe
from hgpbench.errors import DataError

MATRIX = np.arange(12.0).reshape(4, 3)


def recipe(kind: str, **changes: Any) -> Recipe:
    return Recipe.model_validate(
        {"files": [{"file": "f"}], "format": {"kind": kind}, "target": "y", **changes}
    )


MAT = recipe("mat", columns=["y", "a", "b"], inputs=["b"])


def test_a_matlab_matrix_is_read_by_column(tmp_path: Path) -> None:
    savemat(tmp_path / "f.mat", {"anything": MATRIX})
    columns = tables.read(tmp_path / "f.mat", MAT, "f.mat")
    assert columns.names == ("b", "y")
    np.testing.assert_array_equal(columns.values, MATRIX[:, [2, 0]])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"a": MATRIX, "b": MATRIX}, "should hold one matrix; it holds a, b"),
        ({"a": MATRIX[:, :2]}, "a is 4 x 2; it should be a matrix of 3 columns"),
        ({"a": np.array([["x", "y", "z"]], dtype=object)}, "a is 1 x 3; it should be a matrix"),
        ({"a": np.where(MATRIX == 5, np.nan, MATRIX)}, "row 2, column 'b': nan is not finite"),
        ({"a": np.empty((0, 3))}, "has no rows"),
    ],
)
def test_a_bad_matlab_file_is_told(tmp_path: Path, content: dict[str, Any], complaint: str) -> None:
    savemat(tmp_path / "f.mat", content)
    with pytest.raises(DataError, match=re.escape(complaint)):
        tables.read(tmp_path / "f.mat", MAT, "f.mat")


@pytest.mark.parametrize("length", [10, 128, 140, 180])
def test_a_truncated_matlab_file_is_told(tmp_path: Path, length: int) -> None:
    savemat(tmp_path / "f.mat", {"a": MATRIX})
    (tmp_path / "f.mat").write_bytes((tmp_path / "f.mat").read_bytes()[:length])
    with pytest.raises(DataError, match=r"not a MATLAB file|should hold one matrix"):
        tables.read(tmp_path / "f.mat", MAT, "f.mat")


def write_h5(path: Path, **content: Any) -> Path:
    with h5py.File(path, "w") as file:
        for name, value in content.items():
            file[name] = value
    return path


@pytest.mark.parametrize("y", [np.arange(4), np.arange(4.0)[:, None], np.arange(4, dtype="f4")])
def test_an_hdf5_file_has_x_and_y(tmp_path: Path, y: Any) -> None:
    path = write_h5(tmp_path / "f.h5", X=MATRIX.astype("f4"), y=y)
    columns = tables.read(path, recipe("hdf5"), "f.h5")
    assert columns.names == ("x1", "x2", "x3", "y")
    np.testing.assert_array_equal(columns.values[:, :3], MATRIX)
    np.testing.assert_array_equal(columns.values[:, 3], np.arange(4))
    assert columns.values.dtype == np.float64


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"X": MATRIX}, "should be an HDF5 file with X and y"),
        ({"X": MATRIX, "y": np.arange(3.0)}, "they should be (n, d) and (n,)"),
        ({"X": MATRIX[:, 0], "y": np.arange(4.0)}, "they should be (n, d) and (n,)"),
        ({"X": MATRIX, "y": np.array([b"a"] * 4)}, "of numbers"),
        ({"X": np.where(MATRIX == 5, np.inf, MATRIX), "y": np.arange(4.0)}, "row 2, column 'x3': inf"),
        ({"X/deep": MATRIX, "y": np.arange(4.0)}, "should be an HDF5 file with X and y"),
    ],
)
def test_a_bad_hdf5_file_is_told(tmp_path: Path, content: dict[str, Any], complaint: str) -> None:
    path = write_h5(tmp_path / "f.h5", **content)
    with pytest.raises(DataError, match=re.escape(complaint)):
        tables.read(path, recipe("hdf5"), "f.h5")


def test_the_card_may_name_the_inputs_of_an_hdf5_file(tmp_path: Path) -> None:
    path = write_h5(tmp_path / "f.h5", X=MATRIX, y=np.arange(4.0))
    assert tables.read(path, recipe("hdf5", inputs=["u", "v", "w"]), "f.h5").names == ("u", "v", "w", "y")
    with pytest.raises(DataError, match="X has 3 columns, the card names 1 inputs"):
        tables.read(path, recipe("hdf5", inputs=["u"]), "f.h5")
