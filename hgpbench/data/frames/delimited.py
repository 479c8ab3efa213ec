"""CSV and its relatives: how the text is written is told from its first lines, then it is read by blocks."""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd

from hgpbench.data import text
from hgpbench.data.frames import cells
from hgpbench.data.frames.choices import Choices
from hgpbench.data.frames.table import NotNumbers, Table, block_rows, named
from hgpbench.errors import DataError
from hgpbench.words import printable

SPACES = " "  # any number of spaces or tabs between cells
_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 100  # lines to tell the rest by
_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
_POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
_THOUSANDS = {
    ",": re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"),
    ".": re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?"),
}


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    delimiter: str
    decimal: str
    thousands: str  # "" where digits are not grouped
    encoding: str
    columns: tuple[str, ...]
    skip: int  # lines before the first row
    header: bool


def table(path: Path, label: str, choices: Choices, expected: Collection[str]) -> Table:
    """Open a text file; ``expected`` are names that its header should have."""
    dialect, sample, notes = _with_line_errors(
        partial(_told, path, label, choices, expected), label, choices.encoding
    )
    columns = dialect.columns
    numbers = _numbers_in(sample, dialect, choices)
    source = _Text(path, label, dialect, choices)
    return Table(
        label=label,
        columns=columns,
        read=source.blocks,
        unnamed=frozenset(name for name in columns if dialect.header and re.fullmatch(r"column \d+", name)),
        likely_numbers=numbers,
        notes=notes,
    )


def _told(
    path: Path, label: str, choices: Choices, expected: Collection[str]
) -> tuple[Dialect, list[list[str]], tuple[str, ...]]:
    """The dialect of a file, its first rows, and what a user should know of how it is read."""
    encoding = _encoding(path, choices.encoding)
    with path.open(encoding=encoding, newline="") as file:
        lines = _first_lines(file)
    if not any(line.strip() for line in lines):
        raise DataError(f"{label}: has no header line")
    if "\0" in lines[0]:
        raise DataError(f"{label}: not a text file: its header has a NUL character")
    delimiter = choices.delimiter or _delimiter(lines, expected)
    rows, first_ends = _rows(lines, delimiter)
    decimal, thousands = _decimal(rows, choices, label)
    plain = replace_marks(decimal, thousands)
    header = choices.header
    if header is None:
        header = _has_header(rows[0], expected, plain)
    names = (
        named(_names(rows, label), label) if header else [f"c{place + 1}" for place in range(len(rows[0]))]
    )
    dialect = Dialect(
        delimiter, decimal, thousands, encoding, tuple(names), first_ends if header else 0, header
    )
    notes = []
    if decimal == ",":
        notes.append("numbers are read with a decimal comma; --decimal . says otherwise")
    if not header:
        notes.append(
            f"the first line is taken for a row, the columns for c1 to c{len(names)}; --header says otherwise"
        )
    return dialect, rows[1:] if header else rows, tuple(notes)


@dataclass(frozen=True)
class _Text:
    """A text file whose dialect is known."""

    path: Path
    label: str
    dialect: Dialect
    choices: Choices
    kept: dict[frozenset[str], pd.DataFrame] = field(default_factory=dict)  # of a file of one piece

    def blocks(self, as_numbers: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Pieces of the file; one that is a single piece is read once."""
        asked = frozenset(as_numbers)
        if asked in self.kept:
            yield self.kept[asked]
            return
        count, block = 0, None
        for block in _with_line_errors_in(self._blocks(asked), self.label, self.dialect):
            count += 1
            yield block
        if count == 1 and block is not None:
            self.kept[asked] = block

    def _blocks(self, as_numbers: Collection[str]) -> Iterator[pd.DataFrame]:
        columns, row = self.dialect.columns, 0
        with self.path.open(encoding=self.dialect.encoding, newline="") as file:
            for _ in range(self.dialect.skip):
                file.readline(text.LONGEST_LINE + 1)
            try:
                reader = self._open(file, as_numbers)
            except pd.errors.EmptyDataError:
                return
            with reader:
                while (chunk := text.next_chunk(reader)) is not None:
                    last = chunk.pop(text.SURPLUS)
                    surplus = (last.notna() & (last != "")).to_numpy()
                    if surplus.any():
                        at = row + int(surplus.argmax()) + 1
                        raise DataError(
                            f"{self.label}: row {at:,}: has more cells than the {len(columns)} columns"
                        )
                    row += len(chunk)
                    chunk.columns, chunk.index = (
                        pd.Index(columns),
                        pd.RangeIndex(len(chunk)),
                    )  # no copy: it may be wide
                    yield self._ungrouped(chunk, as_numbers)

    def _open(self, file: TextIO, as_numbers: Collection[str]) -> Any:
        dialect = self.dialect
        guarded: Any = text.Lines(file)
        places = [str(place) for place in range(len(dialect.columns))]
        double, words = np.dtype(np.float64), pd.StringDtype(na_value=np.nan)
        kinds = {
            place: double if name in as_numbers else words
            for place, name in zip(places, dialect.columns, strict=True)
        }
        return pd.read_csv(
            guarded,
            sep=r"\s+" if dialect.delimiter == SPACES else dialect.delimiter,
            header=None,
            names=[*places, text.SURPLUS],
            index_col=False,
            dtype={**kinds, text.SURPLUS: words},
            na_values=sorted(self.choices.markers),
            keep_default_na=False,
            decimal=dialect.decimal,
            skipinitialspace=True,
            engine="c",
            float_precision="round_trip" if text.OLD_PANDAS else None,
            chunksize=block_rows(len(places)),
        )

    def _ungrouped(self, chunk: pd.DataFrame, as_numbers: Collection[str]) -> pd.DataFrame:
        """Texts that are numbers as this dialect writes them, written with a decimal point alone."""
        if self.dialect.decimal == "." and not self.dialect.thousands:
            return chunk
        change = replace_marks(self.dialect.decimal, self.dialect.thousands)
        texts = [name for name in chunk.columns if name not in as_numbers]
        return chunk.assign(**{name: chunk[name].map(change, na_action="ignore") for name in texts})


def replace_marks(decimal: str, thousands: str) -> Any:
    """How to write a number of this dialect with a decimal point; other texts stay as they are."""
    grouped = _THOUSANDS.get(thousands)

    def change(cell: str) -> str:
        stripped = cell.strip()
        if grouped is not None and grouped.fullmatch(stripped):
            stripped = stripped.replace(thousands, "")
            return stripped.replace(decimal, ".")
        if decimal == "," and _COMMA.fullmatch(stripped):
            return stripped.replace(",", ".")
        return cell

    return change


def _encoding(path: Path, asked: str) -> str:
    try:
        info = codecs.lookup(asked)
        "".encode(asked)
    except LookupError:
        raise DataError(
            f"--encoding {asked!r:.60}: there is no such encoding of text; try latin-1 or utf-16"
        ) from None
    if info.name != "utf-8":
        return asked
    with path.open("rb") as file:
        start = file.read(2)
    return "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def _first_lines(file: TextIO) -> list[str]:
    """The first lines, not counting blank ones before them, in bounded memory."""
    lines: list[str] = []
    length = 0
    while (
        len(lines) < _SAMPLE and length < text.LONGEST_LINE and (line := file.readline(text.LONGEST_LINE + 1))
    ):
        if len(line) > text.LONGEST_LINE:
            raise text.LineTooLong
        length += len(line)
        lines.append(line)
    return lines


def _rows(lines: list[str], delimiter: str) -> tuple[list[list[str]], int]:
    """The cells of the first lines, and where the first row ends; blank lines are none."""
    if delimiter == SPACES:
        filled = [(place, line.split()) for place, line in enumerate(lines) if line.strip()]
        return [cells for _, cells in filled], filled[0][0] + 1
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    rows, first_ends = [], 0
    with suppress(csv.Error):  # a cell without end, or a quote that the sample cuts: what was read will do
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                first_ends = first_ends or reader.line_num
                rows.append([cell.strip() for cell in row])
    if not rows:  # of one cell that csv refuses to be so long
        first = next(line for line in lines if line.strip())
        return [[cell.strip() for cell in first.split(delimiter)]], lines.index(first) + 1
    return rows, first_ends


def _delimiter(lines: list[str], expected: Collection[str]) -> str:
    """What makes the expected names a header, and rows of one length of the first lines."""

    def fitness(delimiter: str) -> tuple[bool, bool, float, int]:
        rows, _ = _rows(lines, delimiter)
        width, common = Counter(len(row) for row in rows).most_common(1)[0]
        known = bool(set(rows[0]) & set(expected))
        return known and width > 1, width > 1, common / len(rows), width

    best = max(_DELIMITERS, key=fitness)
    if not fitness(best)[1] and fitness(SPACES)[1:3] == (True, 1.0):
        return SPACES
    return best if fitness(best)[1] or not fitness(best)[0] else _DELIMITERS[0]


def _decimal(rows: list[list[str]], choices: Choices, label: str) -> tuple[str, str]:
    """The decimal mark, and the one that groups digits."""
    if choices.decimal is not None:
        if choices.decimal not in ".,":
            raise DataError(f"--decimal {choices.decimal!r}: should be . or ,")
        return choices.decimal, "," if choices.decimal == "." else "."
    sample = [cell for row in rows for cell in row]
    commas = [cell for cell in sample if _COMMA.fullmatch(cell)]
    if not commas or any(_POINT.fullmatch(cell) for cell in sample):
        return ".", ""
    if all(_THOUSANDS[","].fullmatch(cell) for cell in commas):
        raise DataError(
            f"{label}: {commas[0]!r} may be {commas[0].replace(',', '.')} or {commas[0].replace(',', '')}; "
            "say --decimal , or --decimal ."
        )
    return ",", "."


def _has_header(first: list[str], expected: Collection[str], plain: Any) -> bool:
    """Names are not numbers, unless they are just those that are asked for."""
    if set(first) & set(expected):
        return True
    return not any(cells.is_number(plain(cell)) for cell in first)


def _names(rows: list[list[str]], label: str) -> list[str]:
    """The names of the header; R writes none above the names of the rows."""
    names = [printable(cell) for cell in rows[0]]
    widths = {len(row) for row in rows[1:]}
    return ["", *names] if widths == {len(names) + 1} and len(rows) > 1 else names


def _numbers_in(sample: list[list[str]], dialect: Dialect, choices: Choices) -> tuple[str, ...]:
    """Columns of whose first cells all are numbers or missing."""
    plain = replace_marks(dialect.decimal, dialect.thousands)
    names = dialect.columns
    fine = [name not in choices.categories for name in names]
    for row in sample:
        for place, cell in enumerate(row[: len(names)]):
            if fine[place] and cell not in choices.markers and not cells.is_number(plain(cell)):
                fine[place] = False
    return tuple(name for name, number in zip(names, fine, strict=True) if number)


def _with_line_errors(step: Any, label: str, encoding: str) -> Any:
    try:
        return step()
    except UnicodeError as error:
        raise DataError(_not_text(label, encoding, error)) from None
    except (text.LineTooLong, csv.Error) as error:
        raise DataError(f"{label}: {error}") from None


def _with_line_errors_in(
    blocks: Iterator[pd.DataFrame], label: str, dialect: Dialect
) -> Iterator[pd.DataFrame]:
    """The blocks; what the parser raises becomes a line."""
    try:
        yield from blocks
    except UnicodeError as error:
        raise DataError(_not_text(label, dialect.encoding, error)) from None
    except text.LineTooLong as error:
        raise DataError(f"{label}: {error}") from None
    except pd.errors.ParserError as error:
        raise DataError(
            printable(f"{label}: {text.explain_surplus(error, dialect.header, len(dialect.columns))}")
        ) from None
    except (ValueError, OverflowError) as error:
        raise NotNumbers(printable(f"{label}: {error}")) from None


def _not_text(label: str, encoding: str, error: UnicodeError) -> str:
    known = "UTF-8" if encoding in ("utf-8", "utf-8-sig") else encoding
    return printable(
        f"{label}: not a text file in {known} ({getattr(error, 'reason', error)}); --encoding says what it is"
    )
