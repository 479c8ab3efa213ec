"""What every kind of table is once it was opened: named columns, and rows that come by blocks."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from hgpbench.data.frames.cells import is_date, is_numeric
from hgpbench.errors import DataError
from hgpbench.words import printable

BLOCK = 65_536  # rows held at once
BLOCK_CELLS = 8_000_000  # likewise: rows may be wide

Blocks = Callable[[Sequence[str]], Iterator[pd.DataFrame]]


class NotNumbers(DataError):
    """A column that was to be parsed as numbers has a cell that is none; read as text it can be found."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table of the user's; ``read`` begins anew whenever it is called."""

    label: str  # in messages
    columns: tuple[str, ...]
    read: Blocks
    unnamed: frozenset[str] = frozenset()  # columns whose names are ours
    likely_numbers: tuple[str, ...] = ()  # of text: columns whose first cells are numbers
    target: str | None = None  # where the table itself says so
    notes: tuple[str, ...] = ()  # how it was read, where that was not plain
    raw_sha256: str = field(default="", compare=False)  # of its file

    def blocks(self, as_numbers: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
        """Frames of at most ``BLOCK`` rows whose columns are doubles, points of time or texts.

        Of a text file the columns ``as_numbers`` are parsed at once, as long as that goes.
        """
        done = 0
        try:
            for block in self.read(as_numbers):
                yield block
                done += len(block)
        except NotNumbers:
            if not as_numbers:
                raise
            yield from _after(self.read(()), done)

    def frame(self) -> pd.DataFrame:
        """All rows; where there are many this takes much memory."""
        blocks = list(self.blocks(()))
        empty = pd.DataFrame(columns=list(self.columns), dtype=object)
        return pd.concat(blocks, ignore_index=True) if blocks else empty


def _after(blocks: Iterator[pd.DataFrame], done: int) -> Iterator[pd.DataFrame]:
    """What follows the first ``done`` rows."""
    for block in blocks:
        if len(block) > done:
            yield block.iloc[done:].reset_index(drop=True)
        done = max(0, done - len(block))


def block_rows(columns: int) -> int:
    """Rows of a block with so many columns."""
    return max(1, min(BLOCK, BLOCK_CELLS // max(1, columns)))


def of_frame(frame: pd.DataFrame, label: str = "the table") -> Table:
    """A pandas frame; its index is no column of it."""
    names = named([printable(str(name)) for name in frame.columns], label)
    unnamed = frozenset(new for new, old in zip(names, frame.columns, strict=True) if is_unnamed(str(old)))
    size = block_rows(len(names))

    def read(as_numbers: Sequence[str]) -> Iterator[pd.DataFrame]:
        for start in range(0, len(frame), size):
            block = frame.iloc[start : start + size]
            yield plain(block.set_axis(names, axis=1).reset_index(drop=True))

    return Table(label, tuple(names), read, unnamed)


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with every column a double, a point of time or texts, None where a cell is missing."""
    dtypes = frame.dtypes.to_numpy()
    if all(isinstance(kind, np.dtype) and kind == np.float64 for kind in dtypes):
        return frame
    return pd.DataFrame({name: _plain(frame[name]) for name in frame.columns}, index=frame.index)


def named(names: list[str], label: str) -> list[str]:
    """The columns' names; one without a name gets its place, and no two may be alike."""
    every = [f"column {place + 1}" if is_unnamed(name) else name for place, name in enumerate(names)]
    if len(set(every)) < len(every):
        twice = next(name for name, count in Counter(every).items() if count > 1)
        raise DataError(
            printable(f"{label}: the header has {twice!r} more than once; columns need names of their own")
        )
    return every


def is_unnamed(name: str) -> bool:
    """Whether a column has no name, or one that a program made up for its row numbers."""
    return not name.strip() or name.startswith(("Unnamed: ", "__index_level_"))


def _plain(column: "pd.Series[Any]") -> "pd.Series[Any]":
    if is_numeric(column):
        return column.astype(np.float64)
    if is_date(column):
        return column
    kind = column.dtype
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(
        kind
    ):  # with a mask of missing cells
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan), index=column.index)
    words = column.astype(object)
    known = column.notna()
    return words.where(known, None).map(lambda cell: cell if cell is None else str(cell))
