"""One's own tables pass the same door."""

import gzip
import re
from pathlib import Path

import h5py
import numpy as np
import pytest

from hgpbench.data.fetch import check
from hgpbench.data.frames.choices import Choices
from hgpbench.data.own import bring, import_table
from hgpbench.data.source import open_source
from hgpbench.data.split import Split
from hgpbench.errors import DataError
from tests.data.conftest import CSV, left_in


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_csv_file_becomes_a_dataset(folder: Path, tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(CSV.replace(",", delimiter))
    result = import_table(path, "mine", "y")
    assert (result.name, result.status, result.rows, result.inputs) == ("mine", "written", 4, 2)
    assert result.notes == ()
    source = open_source("mine")
    assert (source.columns, source.target, source.default_split) == (("a", "b"), "y", Split(0.8, "rest"))
    fold = source.fold(source.default_split, seed=0)
    assert (len(fold.y_train), len(fold.y_test)) == (3, 1)
    assert check("mine").rows == 4
    assert left_in(folder) == ["mine.h5"]


def test_wrapped_files_chosen_inputs_and_dropped_rows(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv.gz"
    path.write_bytes(gzip.compress((CSV + "NA,1,2\n").encode()))
    result = import_table(path, "mine", "b", choices=Choices(inputs=("y",), missing="drop"))
    assert (result.rows, open_source("mine").columns) == (5, ("y",))
    result = import_table(path, "mine", "b", choices=Choices(missing="drop"), force=True)
    assert (result.rows, result.notes) == (4, ("1 rows with missing values dropped",))


def test_an_hdf5_file_becomes_a_dataset(folder: Path, tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).standard_normal((6, 2)), np.arange(6.0)
    with h5py.File(tmp_path / "any.name", "w") as file:
        file["X"], file["y"] = X, y
    assert import_table(tmp_path / "any.name", "mine").rows == 6
    fold = open_source("mine").fold(Split("all", "train"), seed=0)
    np.testing.assert_array_equal(fold.X_train, X)
    np.testing.assert_array_equal(fold.y_train, y)


def test_a_taken_name_needs_force(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(CSV)
    import_table(path, "mine", "y")
    with pytest.raises(DataError, match="a dataset of that name exists"):
        import_table(path, "mine", "a")
    assert import_table(path, "mine", "a", force=True).target == "a"


@pytest.mark.parametrize(
    ("name", "target", "body", "complaint"),
    [
        ("protein", "y", CSV, "is the name of a dataset that comes with hgpbench"),
        ("a:b", "y", CSV, "only letters, digits"),
        ("../x", "y", CSV, "only letters, digits"),
        ("mine", None, CSV, "name the column to predict with --target"),
        ("mine", "z", CSV, "has no column 'z'"),
        ("mine", "y", CSV + "1,2,x\n", "row 5, column 'y': 'x' is not a number"),
        ("mine", "y", CSV + "1,,3\n", "row 5, column 'b': the value is missing"),
        ("mine", "y", "", "is empty"),
        ("mine", "y", "<!DOCTYPE html>", "HTML page"),
    ],
)
def test_bad_tables_leave_nothing(
    folder: Path, tmp_path: Path, name: str, target: str | None, body: str, complaint: str
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(body)
    with pytest.raises(DataError, match=re.escape(complaint)):
        import_table(path, name, target)
    assert left_in(folder) == []


def test_inputs_are_checked(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(CSV)
    for inputs, complaint in [
        (["a", "y"], "is the target"),
        (["c"], "has no column 'c'"),
        ([], "at least one column"),
        (["a", "a"], "each once"),
    ]:
        with pytest.raises(DataError, match=complaint):
            import_table(path, "mine", "y", choices=Choices(inputs=tuple(inputs)))
    with pytest.raises(DataError, match="no such file"):
        import_table(tmp_path / "none.csv", "mine", "y")


def test_a_table_is_brought_once_for_its_content_and_reading(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "my sales.csv"
    path.write_text(CSV + "NA,1,2\n")
    first = bring(path, "y", choices=Choices(missing="mean"))
    again = bring(path, "y", choices=Choices(missing="mean"))
    assert (first.name, first.status, again.status) == ("my-sales", "written", "present")
    assert first.notes == again.notes == ("missing cells of a are filled with the mean",)
    packed = tmp_path / "my sales.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert bring(packed, "y", choices=Choices(missing="mean")).status == "present"
    other = bring(path, "y", choices=Choices(missing="drop"))
    assert (other.name[:9], other.status, other.rows) == ("my-sales-", "written", 4)
    with pytest.raises(DataError, match=r"has other content than .*; choose another --name"):
        bring(path, "b", name="my-sales", choices=Choices(missing="drop"))
    path.with_name("toy.csv").write_text(CSV)
    assert bring(path.with_name("toy.csv"), "y").name == "my-toy"
