"""MATLAB and HDF5 files to numbers."""

import contextlib
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from hgpbench.data import matlab, tables
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
        ({"a": MATRIX, "b": MATRIX}, "should hold one matrix; it holds 2"),
        ({"a": MATRIX[:, :2]}, "has 2 columns; it should have 3"),
        ({"a": np.array([["x", "y", "z"]], dtype=object)}, "not a real, dense, numeric matrix"),
        ({"a": MATRIX * 1j}, "not a real, dense, numeric matrix"),
        ({"a": "words"}, "not a real, dense, numeric matrix"),
        ({"a": np.ones((2, 2, 3))}, "not a MATLAB 5 file that can be read"),
        ({"a": np.where(MATRIX == 5, np.nan, MATRIX)}, "row 2, column 'b': nan is not finite"),
        ({"a": np.empty((0, 3))}, "has no rows"),
    ],
)
def test_a_bad_matlab_file_is_told(tmp_path: Path, content: dict[str, Any], complaint: str) -> None:
    savemat(tmp_path / "f.mat", content)
    with pytest.raises(DataError, match=re.escape(complaint)):
        tables.read(tmp_path / "f.mat", MAT, "f.mat")


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", ["f8", "f4", "i2", "u1", "i8"])
def test_matlab_matrices_of_any_type_are_read_as_scipy_writes_them(
    tmp_path: Path, compressed: bool, kind: str
) -> None:
    matrix = np.random.default_rng(5).integers(0, 200, (31, 3)).astype(kind)
    savemat(tmp_path / "f.mat", {"m": matrix}, do_compression=compressed)
    np.testing.assert_array_equal(matlab.read_matrix(tmp_path / "f.mat", "f.mat"), matrix)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_damaged_matlab_file_is_told_or_read_but_never_crashes(tmp_path: Path, compressed: bool) -> None:
    rng = np.random.default_rng(11)
    savemat(tmp_path / "f.mat", {"a": rng.standard_normal((20, 3))}, do_compression=compressed)
    whole = (tmp_path / "f.mat").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "f.mat").write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"not a MATLAB 5 file|should hold one matrix"):
            matlab.read_matrix(tmp_path / "f.mat", "f.mat")
    for _ in range(500):
        flipped = bytearray(whole)
        flipped[rng.integers(len(whole))] = rng.integers(256)
        (tmp_path / "f.mat").write_bytes(flipped)
        with contextlib.suppress(DataError):
            assert matlab.read_matrix(tmp_path / "f.mat", "f.mat").ndim == 2


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
