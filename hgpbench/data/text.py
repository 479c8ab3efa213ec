"""Delimited text to numbers, a piece of the file at a time. Every complaint names the row and the column.

Rows are counted from 1 and without the header, blank lines and comments.
"""

import csv
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hgpbench.data.cards import Csv, Cut, Recipe, nearest
from hgpbench.errors import DataError

Array = NDArray[np.float64]
CHUNK = 250_000  # rows of text held at once


def header_of(path: Path, layout: Csv, label: str) -> list[str]:
    """The column names in the first line that is neither blank nor a comment."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for line in file:
                if line.strip() and not (layout.comment and line.startswith(layout.comment)):
                    return [name.strip() for name in next(csv.reader([line], delimiter=layout.delimiter))]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{label}: not a text file in UTF-8 ({error})") from error
    raise DataError(f"{label}: has no header line")


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
    blocks, dropped, row = [], 0, 0
    types = {**dict.fromkeys(plain, "float64"), **dict.fromkeys(cut, "category")}
    try:
        for chunk in _chunks(path, recipe, layout, names, types):
            block = np.empty((len(chunk), len(wanted)))
            for place, name in enumerate(wanted):
                piece = recipe.derived.get(name)
                block[:, place] = (
                    chunk[name] if piece is None else _cut(chunk[piece.column], piece, row, label)
                )
            missing = np.isnan(block).any(axis=1)
            if recipe.missing.rule == "error":
                _refuse(np.isnan(block), block, wanted, row, label)
            _refuse(np.isinf(block), block, wanted, row, label)
            row += len(chunk)
            dropped += int(missing.sum())
            blocks.append(block[~missing])
    except (ValueError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise DataError(f"{label}: {_diagnose(error, path, recipe, layout, names, plain)}") from error
    values = np.concatenate(blocks) if blocks else np.empty((0, len(wanted)))
    return wanted, values, dropped


def _refuse(bad: NDArray[np.bool_], block: Array, names: tuple[str, ...], row: int, label: str) -> None:
    if bad.any():
        at, place = divmod(int(bad.argmax()), bad.shape[1])
        what = "the value is missing" if np.isnan(block[at, place]) else f"{block[at, place]} is not finite"
        raise DataError(f"{label}: row {row + at + 1:,}, column {names[place]!r}: {what}")


def _column_names(path: Path, recipe: Recipe, layout: Csv, label: str) -> list[str]:
    if not layout.header:
        return list(recipe.columns or [])
    names = header_of(path, layout, label)
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise DataError(
            f"{label}: the header has {repeated!r} more than once; columns need names of their own"
        )
    if recipe.columns is not None and names != recipe.columns:
        raise DataError(f"{label}: the header is {names}, the card expects {recipe.columns}")
    return names


def _check_present(wanted: list[str], names: list[str], label: str) -> None:
    for name in wanted:
        if name not in names:
            raise DataError(
                f"{label}: has no column {name!r}{nearest(name, names)}; it has {', '.join(names)}"
            )


def _chunks(
    path: Path, recipe: Recipe, layout: Csv, names: list[str], types: dict[str, str]
) -> Iterator[pd.DataFrame]:
    """The file in pieces. Only the card says what counts as missing; a ragged line is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        reader = pd.read_csv(
            path,
            sep=layout.delimiter,
            header=0 if layout.header else None,
            names=names,
            index_col=False,
            usecols=list(types),
            dtype=types,
            na_values=recipe.missing.values,
            keep_default_na=False,
            comment=layout.comment,
            skipinitialspace=True,
            encoding="utf-8-sig",
            engine="c",
            float_precision="round_trip",  # the nearest double: the content hash depends on the last bit
            chunksize=CHUNK,
        )
        with reader:
            yield from reader


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


def _diagnose(
    error: Exception, path: Path, recipe: Recipe, layout: Csv, names: list[str], plain: list[str]
) -> str:
    """Read again as text to name the first cell that is no number; pandas does not say."""
    if isinstance(error, UnicodeDecodeError):
        return f"not a text file in UTF-8 ({error.reason} at byte {error.start:,})"
    row = 0
    try:
        for chunk in _chunks(path, recipe, layout, names, dict.fromkeys(plain, "str")):
            found = [_first_text(chunk[name], name) for name in plain]
            worst = min((cell for cell in found if cell is not None), default=None)
            if worst is not None:
                at, name, text = worst
                return f"row {row + at + 1:,}, column {name!r}: {text!r} is not a number"
            row += len(chunk)
    except (ValueError, pd.errors.ParserError, pd.errors.ParserWarning) as ragged:
        error = ragged
    return f"the lines do not fit the columns {', '.join(names)} ({' '.join(str(error).split())})"


def _first_text(column: pd.Series, name: str) -> tuple[int, str, str] | None:
    bad = (pd.to_numeric(column, errors="coerce").isna() & column.notna()).to_numpy()
    at = int(bad.argmax())
    return (at, name, str(column.iloc[at])) if bad.any() else None
