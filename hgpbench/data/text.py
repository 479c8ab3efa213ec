"""Delimited text to numbers, a piece of the file at a time. Every complaint names the row and the column.

Rows are counted from 1 and without the header, blank lines and comments.
"""

import csv
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hgpbench.data.cards import Csv, Cut, Recipe
from hgpbench.errors import DataError
from hgpbench.words import listed, nearest

Array = NDArray[np.float64]
CHUNK = 250_000  # rows of text held at once
CHUNK_CELLS = 20_000_000  # likewise: rows may be wide
LONGEST_LINE = 32 << 20  # characters; a hundred thousand columns have a tenth of it
SURPLUS = "\0surplus"  # one column more than there should be: pandas drops surplus cells silently
# The content hash needs the nearest double. Since pandas 3.1 there is no other way, and the option warns.
OLD_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)


def read(path: Path, recipe: Recipe, layout: Csv, label: str) -> tuple[tuple[str, ...], Array, int]:
    """Names and values of the inputs and, last, the target; and how many rows were dropped as missing."""
    names = _column_names(path, recipe, layout, label)
    inputs = recipe.inputs or [name for name in names if name != recipe.target]
    if not inputs:
        raise DataError(f"{label}: has no column beside the target {recipe.target!r} to predict it from")
    wanted = (*inputs, recipe.target)
    plain = [name for name in wanted if name not in recipe.derived]
    cut = {recipe.derived[name].column for name in wanted if name in recipe.derived}
    _check_present([*plain, *cut], names, label)
    text = _Text(path, layout, tuple(names), recipe.missing.values, label)
    types = {**dict.fromkeys(plain, "float64"), **dict.fromkeys(cut, "category")}
    blocks, dropped = [], 0
    try:
        for row, chunk in text.chunks(types):
            block = _numbers(chunk, wanted, recipe, row, label)
            missing = np.isnan(block).any(axis=1)
            dropped += int(missing.sum())
            blocks.append(block[~missing])
    except UnicodeDecodeError as error:
        raise DataError(f"{label}: not a text file in UTF-8 ({error.reason})") from error
    except pd.errors.EmptyDataError:
        blocks = []
    except LineTooLong as error:
        raise DataError(f"{label}: {error}") from None
    except pd.errors.ParserError as error:
        raise DataError(f"{label}: {explain_surplus(error, layout.header, len(names))}") from error
    except ValueError as error:
        raise DataError(f"{label}: {_first_bad_cell(text, plain) or error}") from error
    values = np.concatenate(blocks) if blocks else np.empty((0, len(wanted)))
    return wanted, values, dropped


def header_of(path: Path, layout: Csv, label: str) -> list[str]:
    """The column names in the first line that is neither blank nor a comment."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            line = _pass_header(file, layout)
            names = [name.strip() for name in _cells(line, layout.delimiter)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{label}: not a text file in UTF-8 ({error})") from error
    except LineTooLong as error:
        raise DataError(f"{label}: {error}") from None
    if "\0" in line:
        raise DataError(f"{label}: not a text file: its header has a NUL character")
    if not names:
        raise DataError(f"{label}: has no header line")
    return names


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter not in line and '"' not in line:  # one cell, which csv would refuse to be long
        return [line] if line.strip() else []
    return next(csv.reader([line], delimiter=delimiter), [])


def _pass_header(file: TextIO, layout: Csv) -> str:
    """The header line, the file being left right behind it."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise LineTooLong
        if line.strip() and not (layout.comment and line.startswith(layout.comment)):
            return line
    return ""


class LineTooLong(Exception):
    """A line without end: reading it whole would take all memory."""

    def __str__(self) -> str:
        return f"a line is longer than {LONGEST_LINE:,} characters; this is not a table with one row a line"


class Lines:
    """A file for pandas to read from, which ends where a line does not."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._length = file, 0

    def read(self, size: int = -1) -> str:
        """The next characters."""
        text = self._file.read(size)
        first, last = text.find("\n"), text.rfind("\n")
        # A piece is much shorter than a line may be, so only a line that began before it can be too long.
        if self._length + (first if first >= 0 else len(text)) > LONGEST_LINE:
            raise LineTooLong
        self._length = len(text) - last - 1 if last >= 0 else self._length + len(text)
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._file)


@dataclass(frozen=True)
class _Text:
    """A delimited file whose columns are known."""

    path: Path
    layout: Csv
    names: tuple[str, ...]
    missing: list[str]
    label: str

    def chunks(self, types: dict[str, str]) -> Iterator[tuple[int, pd.DataFrame]]:
        """Pieces of the file and the number of rows before each."""
        row = 0
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            if self.layout.header:
                _pass_header(file, self.layout)
            reader = self._open(file, types)
            while (chunk := next_chunk(reader)) is not None:
                surplus = (chunk[SURPLUS].notna() & (chunk[SURPLUS] != "")).to_numpy()
                if surplus.any():
                    at = row + int(surplus.argmax()) + 1
                    raise DataError(
                        f"{self.label}: row {at:,}: has more cells than the {len(self.names)} columns"
                    )
                yield row, chunk
                row += len(chunk)

    def _open(self, file: TextIO, types: dict[str, str]) -> Iterator[pd.DataFrame]:
        guarded: Any = Lines(file)
        return pd.read_csv(
            guarded,
            sep=self.layout.delimiter,
            header=None,
            names=[*self.names, SURPLUS],
            index_col=False,
            # Unused columns are read too, cheaply: choosing among columns turns off the check of their count.
            dtype={**dict.fromkeys([*self.names, SURPLUS], "category"), **types},
            na_values=self.missing,
            keep_default_na=False,  # only the card says which cells are missing
            comment=self.layout.comment,
            skipinitialspace=True,
            engine="c",
            float_precision="round_trip" if OLD_PANDAS else None,
            chunksize=max(1, min(CHUNK, CHUNK_CELLS // len(self.names))),
        )


def next_chunk(reader: Iterator[pd.DataFrame]) -> pd.DataFrame | None:
    """The next piece of a file, or None."""
    with warnings.catch_warnings():
        # Of surplus cells in the first row pandas only warns; they are refused wherever they are.
        warnings.simplefilter("ignore", pd.errors.ParserWarning)
        return next(reader, None)


def _column_names(path: Path, recipe: Recipe, layout: Csv, label: str) -> list[str]:
    if not layout.header:
        return list(recipe.columns or [])
    names = header_of(path, layout, label)
    if len(set(names)) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(
            f"{label}: the header has {repeated!r} more than once; columns need names of their own"
        )
    if recipe.columns is not None and names != recipe.columns:
        expected = listed(recipe.columns)
        raise DataError(f"{label}: the header is {listed(names)}; the card expects {expected}")
    return names


def _check_present(wanted: list[str], names: list[str], label: str) -> None:
    there = set(names)
    for name in wanted:
        if name not in there:
            raise DataError(f"{label}: has no column {name!r}{nearest(name, names)}; it has {listed(names)}")


def _numbers(chunk: pd.DataFrame, wanted: tuple[str, ...], recipe: Recipe, row: int, label: str) -> Array:
    """The wanted columns as one block; NaN stands for missing and for nothing else."""
    block = np.empty((len(chunk), len(wanted)))
    for place, name in enumerate(wanted):
        piece = recipe.derived.get(name)
        block[:, place] = chunk[name] if piece is None else _cut(chunk[piece.column], piece, row, label)
    if recipe.missing.rule == "error":
        _refuse(np.isnan(block), block, wanted, row, label)
    _refuse(np.isinf(block), block, wanted, row, label)
    return block


def _refuse(bad: NDArray[np.bool_], block: Array, names: tuple[str, ...], row: int, label: str) -> None:
    if bad.any():
        at, place = divmod(int(bad.argmax()), bad.shape[1])
        what = "the value is missing" if np.isnan(block[at, place]) else f"{block[at, place]} is not finite"
        raise DataError(f"{label}: row {row + at + 1:,}, column {names[place]!r}: {what}")


def _cut(column: pd.Series, piece: Cut, row: int, label: str) -> Array:
    """Numbers cut out of text; only the distinct texts are parsed, so a million dates cost a thousand."""
    texts = [str(text) for text in column.cat.categories]
    codes = column.cat.codes.to_numpy()
    numbers = np.full(len(texts) + 1, np.nan)  # the last one serves code -1, a missing text
    for place, text in enumerate(texts):
        pieces = text.split(piece.separator)
        try:
            numbers[place] = float(pieces[piece.field])
        except (IndexError, ValueError):
            at = row + int((codes == place).argmax()) + 1
            raise DataError(
                f"{label}: row {at:,}, column {piece.column!r}: {text!r} has no number "
                f"as piece {piece.field} between {piece.separator!r}"
            ) from None
    return numbers[codes]


def _first_bad_cell(text: _Text, columns: list[str]) -> str | None:
    """Read again, as words, for the first cell that is no number: pandas does not say where it was."""
    for row, chunk in text.chunks(dict.fromkeys(columns, "str")):
        found = [_first_word(chunk[name], name) for name in columns]
        first = min((cell for cell in found if cell is not None), default=None)
        if first is not None:
            at, name, word = first
            return f"row {row + at + 1:,}, column {name!r}: {word!r} is not a number"
    return None


def _first_word(column: pd.Series, name: str) -> tuple[int, str, str] | None:
    bad = (pd.to_numeric(column, errors="coerce").isna() & column.notna()).to_numpy()
    at = int(bad.argmax())
    return (at, name, str(column.iloc[at])) if bad.any() else None


def explain_surplus(error: Exception, header: bool, columns: int) -> str:
    """Of a line with two or more surplus cells pandas gives the number."""
    place = re.search(r"line (\d+), saw (\d+)", str(error))
    if place is None:
        return " ".join(str(error).split())
    where = "line {} after the header" if header else "line {}"
    return f"{where.format(place[1])}: has {place[2]} cells for {columns} columns"
