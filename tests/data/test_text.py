"""Delimited text: exact doubles, and for every bad cell its row and column."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hgpbench.data import text
from hgpbench.data.cards import Csv, Recipe
from hgpbench.errors import DataError


def recipe(**changes: Any) -> Recipe:
    return Recipe.model_validate(
        {"files": [{"file": "f"}], "format": {"kind": "csv"}, "target": "y", **changes}
    )


def read(folder: Path, body: str | bytes, made: Recipe) -> tuple[tuple[str, ...], Any, int]:
    path = folder / "f.csv"
    path.write_bytes(body.encode() if isinstance(body, str) else body)
    assert isinstance(made.format, Csv)
    return text.read(path, made, made.format, "f.csv")


def test_columns_are_found_by_name_and_the_target_is_last(tmp_path: Path) -> None:
    names, values, dropped = read(tmp_path, "y,a,b\n1,2,3\n4,5,6\n", recipe())
    assert names == ("a", "b", "y")
    assert values.tolist() == [[2, 3, 1], [5, 6, 4]]
    assert dropped == 0
    names, values, _ = read(tmp_path, "y,a,b\n1,2,3\n", recipe(inputs=["b", "a"]))
    assert (names, values.tolist()) == (("b", "a", "y"), [[3, 2, 1]])


def test_values_are_the_nearest_doubles(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    numbers = rng.standard_normal(2000) * 10.0 ** rng.integers(-30, 30, 2000)
    body = "a,y\n" + "".join(f"{number!r},0\n" for number in numbers.tolist())
    np.testing.assert_array_equal(read(tmp_path, body, recipe())[1][:, 0], numbers)


def test_comments_blank_lines_quotes_crlf_and_a_byte_order_mark(tmp_path: Path) -> None:
    body = '\ufeff# by hand\r\n"a" , "y"\r\n\r\n# more\r\n 1, 2\r\n3,4 # half\r\n'.replace(" , ", ",")
    made = recipe(format={"kind": "csv", "comment": "#"})
    assert read(tmp_path, body, made)[1].tolist() == [[1, 2], [3, 4]]


def test_a_file_without_header_takes_the_card_s_columns(tmp_path: Path) -> None:
    made = recipe(
        format={"kind": "csv", "header": False, "delimiter": ";"}, columns=["y", "a", "b"], inputs=["b"]
    )
    names, values, _ = read(tmp_path, "1;2;3\n4;5;6\n", made)
    assert (names, values.tolist()) == (("b", "y"), [[3, 1], [6, 4]])


def test_missing_rows_are_dropped_or_refused_as_the_card_says(tmp_path: Path) -> None:
    body = "a,y\n1,2\n?,3\n4,\n5,6\n"
    drop = {"values": ["?", ""], "rule": "drop"}
    _, values, dropped = read(tmp_path, body, recipe(missing=drop))
    assert (values.tolist(), dropped) == ([[1, 2], [5, 6]], 2)
    with pytest.raises(DataError, match=re.escape("f.csv: row 2, column 'a': the value is missing")):
        read(tmp_path, body, recipe(missing={**drop, "rule": "error"}))


def test_a_missing_value_in_an_unused_column_drops_nothing(tmp_path: Path) -> None:
    made = recipe(inputs=["a"], missing={"values": ["?"], "rule": "drop"})
    assert read(tmp_path, "a,note,y\n1,?,2\n3,words,4\n", made)[1].tolist() == [[1, 2], [3, 4]]


def test_numbers_are_cut_out_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "CHUNK", 2)
    derived = {
        "day": {"column": "date", "separator": "/", "field": 0},
        "year": {"column": "date", "separator": "/", "field": 2},
    }
    made = recipe(derived=derived, inputs=["year", "day", "a"], missing={"values": ["?"], "rule": "drop"})
    body = "date,a,y\n16/12/2006,1,2\n1/2/2007,3,4\n?,5,6\n1/2/2007,7,?\n16/12/2006,8,9\n"
    names, values, dropped = read(tmp_path, body, made)
    assert names == ("year", "day", "a", "y")
    assert values.tolist() == [[2006, 16, 1, 2], [2007, 1, 3, 4], [2006, 16, 8, 9]]
    assert dropped == 2
    with pytest.raises(
        DataError, match=re.escape("row 4, column 'date': '1-2-2007' has no number as piece 2")
    ):
        read(tmp_path, "date,a,y\n" + "1/2/2007,1,1\n" * 3 + "1-2-2007,1,1\n", made)


@pytest.mark.parametrize("chunk", [2, 1000])
@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("a,y\n1,2\n3,4\n5,6\nseven,8\n", "row 4, column 'a': 'seven' is not a number"),
        ("a,y\n1,2\n3,1e5x\nx,6\n", "row 2, column 'y': '1e5x' is not a number"),
        ("a,y\n1,2\n3,\n", "row 2, column 'y': the value is missing"),
        ("a,y\n1,2\n3\n", "row 2, column 'y': the value is missing"),
        ("a,y\n1,2\n3,4\n5,inf\n", "row 3, column 'y': inf is not finite"),
        ("a,y\n-inf,2\n", "row 1, column 'a': -inf is not finite"),
        ("a,y\n1e999,2\n", "row 1, column 'a': inf is not finite"),
        ("a,y\n1,nan\n", "row 1, column 'y': "),
        ("a,y\n1,2\n3,4,5\n", "row 2: has more cells than the 2 columns"),
        ("a,y\n1,2,3\n4,5,6\n", "row 1: has more cells than the 2 columns"),
        ("a,y\n1,2\n3,4,5,6,7\n", "line 2 after the header: has 5 cells for 2 columns"),
        ("a,y\n1,2,3,4,5\n", "row 1: has more cells"),
        ("a,b\n1,2\n", "has no column 'y'; it has a, b"),
        ("a,yy\n1,2\n", "has no column 'y'; did you mean 'yy'?"),
        ("a,a,y\n1,2,3\n", "the header has 'a' more than once"),
        ("y\n1\n", "has no column beside the target 'y'"),
        ("", "has no header line"),
    ],
)
def test_a_bad_file_is_told_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, body: str, complaint: str
) -> None:
    monkeypatch.setattr(text, "CHUNK", chunk)
    with pytest.raises(DataError, match=re.escape(complaint)) as caught:
        read(tmp_path, body, recipe())
    assert str(caught.value).startswith("f.csv: ")
    assert "\n" not in str(caught.value)


def test_the_row_of_an_infinite_value_counts_dropped_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=re.escape("row 3, column 'y': inf is not finite")):
        read(tmp_path, "a,y\n1,?\n2,3\n4,inf\n", recipe(missing={"values": ["?"], "rule": "drop"}))


@pytest.mark.parametrize("at", [0, 6, 300])
def test_bytes_that_are_no_text_are_told(tmp_path: Path, at: int) -> None:
    body = bytearray(b"a,y\n" + b"1,2\n" * 100)
    body[at : at + 1] = b"\xff"
    with pytest.raises(DataError, match=r"not a text file in UTF-8|is not a number"):
        read(tmp_path, bytes(body), recipe())


def test_a_header_that_is_not_the_card_s_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the card expects"):
        read(tmp_path, "a,c,y\n1,2,3\n", recipe(columns=["a", "b", "y"]))
