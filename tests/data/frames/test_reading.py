"""Tables as they are found: every kind and spelling gives the same numbers, or one line."""

import bz2
import gzip
import lzma
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest

from hgpbench.data.frames import delimited, table
from hgpbench.data.frames.choices import Choices
from hgpbench.data.frames.reading import Given, opened
from hgpbench.data.frames.survey import Learnt, learn
from hgpbench.errors import DataError

FRAME = pd.DataFrame({"a": [1.5, 2.25, -3.0, 4.0], "b": [4.0, 5, 6, 9], "y": [7.5, 8.25, 9, 10]})
COMMA = FRAME.to_csv(index=False, sep=";", decimal=",")


def read(given: Given, target: str = "y", **asked: Any) -> tuple[Learnt, np.ndarray, np.ndarray]:
    """What was learnt, and the numbers of all blocks."""
    choices = Choices(**asked)
    with opened(given, choices, (target,)) as found:
        learnt = learn(found, target, choices)
        rows = [learnt.plan.training(block) for block in found.blocks(learnt.plan.as_numbers)]
    return learnt, np.concatenate([each.X for each in rows]), np.concatenate([each.y for each in rows])


def text(content: str, tmp_path: Path, encoding: str = "utf-8") -> Path:
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode(encoding))
    return path


PLAIN = FRAME.to_csv(index=False)
SPELLINGS: dict[str, bytes] = {
    "plain": PLAIN.encode(),
    "byte order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "utf-16": PLAIN.encode("utf-16"),
    "crlf": PLAIN.replace("\n", "\r\n").encode(),
    "blank lines first": b"\n\n" + PLAIN.encode(),
    "semicolons": PLAIN.replace(",", ";").encode(),
    "tabs": PLAIN.replace(",", "\t").encode(),
    "bars": PLAIN.replace(",", "|").encode(),
    "spaces": re.sub(",", "   ", PLAIN).encode(),
    "spaces before": re.sub("^", "  ", PLAIN.replace(",", " "), flags=re.MULTILINE).encode(),
    "quoted": re.sub(r"[^,\n]+", lambda cell: f'"{cell[0]}"', PLAIN).encode(),
    "decimal comma": COMMA.encode(),
    "quoted decimal comma": PLAIN.replace(",", ";").replace(".", ",").replace(";", '","').encode(),
    "gz": gzip.compress(PLAIN.encode()),
    "xz": lzma.compress(PLAIN.encode()),
    "bz2": bz2.compress(PLAIN.encode()),
    "no line end": PLAIN.rstrip().encode(),
}  # fmt: skip
SPELLINGS["quoted decimal comma"] = "\n".join(
    f'"{line}"' for line in SPELLINGS["quoted decimal comma"].decode().splitlines()
).encode()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_of_a_table_is_the_same_table(spelling: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(SPELLINGS[spelling])
    learnt, X, y = read(path)
    assert learnt.plan.inputs == ("a", "b")
    np.testing.assert_array_equal(X, FRAME[["a", "b"]])
    np.testing.assert_array_equal(y, FRAME["y"])
    assert [column.mean for column in learnt.plan.columns] == [1.1875, 6.0]


def write_columns(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for name in FRAME:
            file[name] = FRAME[name]


def write_matrix(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["X"], file["y"] = FRAME[["a", "b"]], FRAME["y"]


KINDS: dict[str, Callable[[Path], None]] = {
    "parquet": FRAME.to_parquet,
    "feather": FRAME.to_feather,
    "h5": write_columns,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 100])
def test_every_kind_of_file_is_the_same_table(
    kind: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "BLOCK", size)
    KINDS[kind](tmp_path / "t")
    learnt, X, y = read(tmp_path / "t")
    assert learnt.plan == read(FRAME)[0].plan
    np.testing.assert_array_equal(X, FRAME[["a", "b"]])
    np.testing.assert_array_equal(y, FRAME["y"])


def test_types_of_arrow_become_numbers_dates_and_categories(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "true": [True, False, True],
            "when": pd.to_datetime(["2021-01-01", None, "2021-01-03"]).tz_localize("Europe/Rome"),
            "day": pd.Series(pd.to_datetime(["2021-01-01", "2021-01-02", "2021-01-05"])).dt.date,
            "name": pd.Categorical(["u", "v", "u"]),
            "y": [1.0, 2.0, 3.0],
        }
    )
    for write, path in ((frame.to_parquet, tmp_path / "p"), (frame.to_feather, tmp_path / "f")):
        write(path)
        learnt, X, _ = read(path, missing="flag")
        assert learnt.plan.inputs == (
            "whole", "whole missing", "true", "when", "when missing", "day", "name=v",
        )  # fmt: skip
        expected = [[1, 0, 1, 0, 0, 0, 0], [2, 1, 0, 1, 1, 1, 1], [3, 0, 1, 2, 0, 4, 0]]
        np.testing.assert_array_equal(X, expected)


def test_a_stored_dataset_of_ours_is_a_table_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_matrix(tmp_path / "m.h5")
    learnt, X, _ = read(tmp_path / "m.h5")
    assert learnt.plan.inputs == ("x1", "x2")
    np.testing.assert_array_equal(X, FRAME[["a", "b"]])


def test_a_table_without_a_header_has_numbered_columns(tmp_path: Path) -> None:
    path = text("1,2,3\n4,5,6\n", tmp_path)
    learnt, X, y = read(path, "c3")
    assert (learnt.plan.inputs, X.tolist(), y.tolist()) == (("c1", "c2"), [[1, 2], [4, 5]], [3, 6])
    assert "c1 to c3" in learnt.notes[0]
    assert read(path, "3", header=True)[1].tolist() == [[4, 5]]
    with pytest.raises(
        DataError, match=r"no column 'y'; it has c1, c2, c3; the first line is taken for a row"
    ):
        read(path)
    assert read(text("5.1,Rome,3\n2,Oslo,4\n", tmp_path), "c3")[0].plan.inputs == ("c1", "c2=Rome")


def test_names_of_rows_and_their_numbers_are_left_out_and_told(tmp_path: Path) -> None:
    for content in (",a,y\n1,5,2\n2,6,3\n3,5,4\n", '"a","y"\n"1",5,2\n"2",6,3\n"3",5,4\n'):  # pandas, R
        learnt, _, _ = read(text(content, tmp_path))
        assert learnt.plan.inputs == ("a",)
        assert learnt.notes == ("column 1 is left out, as it has no name; --keep-index keeps it",)
        assert read(text(content, tmp_path), keep_index=True)[0].plan.inputs == ("column 1", "a")
    counted = text("id,a,y\n0,5,2\n1,6,3\n2,5,4\n", tmp_path)
    assert read(counted)[0].plan.inputs == ("a",)
    assert "'id' is left out, as it only counts the rows from 0" in read(counted)[0].notes[0]
    assert read(counted, inputs=("id",))[0].plan.inputs == ("id",)
    assert read(text("t,y\n1,5\n2,6\n3,5\n", tmp_path))[0].plan.inputs == ("t",)  # there is nothing else


def test_a_running_number_runs_through_all_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "BLOCK", 2)
    rows = "".join(f"{n},{n % 3},{n}\n" for n in range(1, 6))
    assert read(text(f"id,a,y\n{rows}", tmp_path))[0].plan.inputs == ("a",)
    assert read(text(f"id,a,y\n{rows}7,1,1\n", tmp_path))[0].plan.inputs == ("id", "a")


def test_a_column_that_stops_being_numbers_late_is_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "BLOCK", 50)
    rows = "".join(f"{n % 2},{n}\n" for n in range(200))
    learnt, X, y = read(text(f"a,y\n{rows}" + "x,1\n" * 300, tmp_path))
    assert learnt.plan.inputs == ("a=0", "a=1", "a=x")
    assert (X.shape, y[199], X[199:201].tolist()) == ((500, 3), 199, [[0, 1, 0], [0, 0, 1]])
    grouped = text(f'a,y\n{rows}"1,234",1\n', tmp_path)
    assert read(grouped, decimal=".")[1][-1, 0] == 1234
    assert len(read(grouped, decimal=".")[1]) == 201


@pytest.mark.parametrize(
    ("content", "asked", "complaint"),
    [
        ('a,y\n"1,500",2\n"4,250",3\n', {}, "'1,500' may be 1.500 or 1500; say --decimal , or --decimal ."),
        ("a,y\n1,2\n2,3,4\n", {}, "row 2: has more cells than the 2 columns"),
        ("a,y\n1,2\n2,3,4,5\n", {}, "line 2 after the header: has 4 cells for 2 columns"),
        ("a,a,y\n1,2,3\n", {}, "the header has 'a' more than once"),
        ("a,y\n", {}, "has no rows"),
        ("\n\n", {}, "has no header line"),
        ("y\n1\n2\n", {}, "has no column beside the target 'y'"),
        ("a;z\n1;2\n", {}, "has no column 'y'"),
        ('a,y\n1,2\n"3,4\n', {}, "EOF inside string"),
        ("a,y\n1,2\n", {"encoding": "rot13"}, "--encoding 'rot13'"),
        ("a,y\n1,2\n", {"encoding": "nonsense"}, "try latin-1 or utf-16"),
        ("a,y\n1,2\n", {"encoding": "utf-16"}, "not a text file in utf-16"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_table_is_told_in_one_line(
    content: str, asked: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        read(text(content, tmp_path), **asked)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_encodings_are_asked_for(tmp_path: Path) -> None:
    path = text("größe;y\n1;2\n2;4\n", tmp_path, "latin-1")
    with pytest.raises(DataError, match=r"not a text file in UTF-8 .*; --encoding says what it is"):
        read(path)
    assert read(path, encoding="latin-1")[0].plan.inputs == ("größe",)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("t.xlsx", b"PK\x03\x04", "is a workbook; save the sheet as CSV"),
        ("t.rds", b"RDX3\nX\n", "is a file of R"),
        ("t.npy", b"\x93NUMPY", "is a file of NumPy"),
        ("t.parquet", b"PAR1" + b"x" * 50, "not a readable Parquet file"),
        ("t.feather", b"ARROW1" + b"x" * 50, "not a readable Feather file"),
        ("t.h5", b"\x89HDF\r\n\x1a\n" + b"x" * 50, "should be an HDF5 file"),
        ("t.csv", b"<html>", "HTML page"),
    ],
)
def test_other_files_are_told_apart(name: str, content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        read(tmp_path / name)


def test_without_pyarrow_the_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FRAME.to_parquet(tmp_path / "t")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match=r"pip install 'hgpbench\[arrow\]'"):
        read(tmp_path / "t")


def test_a_dialect_is_one_of_few_lines(tmp_path: Path) -> None:
    path = text("a,y\n" + "1,2\n" * 5_000, tmp_path)
    found = delimited.table(path, "t.csv", Choices(), ("y",))
    assert found.likely_numbers == ("a", "y")
    assert len(found.frame()) == 5_000


def test_a_parquet_file_is_read_by_its_groups_of_rows(tmp_path: Path) -> None:
    """Of all of them at once Arrow would hold those that it has read."""
    parquet, lib = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    groups, rows = 30, 20_000
    part = lib.table({name: np.random.default_rng(0).normal(size=rows) for name in "abcde"})
    with parquet.ParquetWriter(tmp_path / "big.parquet", part.schema, use_dictionary=False) as writer:
        for _ in range(groups):
            writer.write_table(part)
    held, before, total = 0, lib.total_allocated_bytes(), 0
    with opened(tmp_path / "big.parquet") as table:
        for block in table.blocks():
            held, total = max(held, lib.total_allocated_bytes() - before), total + len(block)
    assert total == groups * rows
    assert held < 4 * part.nbytes < groups * part.nbytes / 7
