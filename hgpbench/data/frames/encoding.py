"""One column of a user's table, and the numbers that it becomes. NaN stands for a missing cell alone."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from hgpbench.data.frames import cells
from hgpbench.data.frames.cells import DAY, Array
from hgpbench.errors import DataError

POOLED = "(other)"
_YEAR = 365.2425  # days
_CALLED = {"weekday": "day_of_week"}  # by pandas


@dataclass(frozen=True)
class Number:
    """A column of numbers, as it is; a missing one may be filled with the mean."""

    name: str
    mean: float
    kind: ClassVar[str] = "number"

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers are called."""
        return (self.name,)

    @property
    def fill(self) -> tuple[float, ...]:
        """What stands for a missing cell."""
        return (self.mean,)

    def encode(self, column: "pd.Series[Any]", markers: frozenset[str], unseen: str) -> Array:
        """The column's numbers, (n, 1)."""
        if cells.is_numeric(column):
            values = cells.masked(column, markers)
        elif cells.is_date(column):
            raise Refused(0, "a date where training had numbers")
        else:
            texts = cells.texts_of(column, markers)
            distinct = cells.numbers(texts)
            if (bad := np.flatnonzero(np.isnan(distinct))).size:
                row, text = texts.first(bad.tolist())
                raise Refused(row, f"{text!r:.60} is not a number")
            values = texts.spread(distinct)
        return values[:, None]


@dataclass(frozen=True)
class Category:
    """A column of names: 0 or 1 for each, or one number where there are two names."""

    name: str
    levels: tuple[str, ...]
    shares: tuple[float, ...]  # of the rows that have each level
    pooled: bool = False  # whether the last level stands for all names that are not listed
    kind: ClassVar[str] = "category"

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers are called."""
        return tuple(f"{self.name}={level}" for level in self._shown)

    @property
    def fill(self) -> tuple[float, ...]:
        """The mean of each number."""
        return self.shares[-len(self._shown) :]

    @property
    def _shown(self) -> tuple[str, ...]:
        return self.levels[1:] if len(self.levels) == 2 else self.levels

    def encode(self, column: "pd.Series[Any]", markers: frozenset[str], unseen: str) -> Array:
        """0 or 1 for each level, (n, k); a name that training had not is pooled, refused, or none of them."""
        texts = cells.texts_of(column, markers)
        places = {level: place for place, level in enumerate(self.levels[: len(self.levels) - self.pooled])}
        rest = len(self.levels) - 1 if self.pooled else -1
        found = np.array([places.get(text, rest) for text in texts.distinct] + [-2], dtype=int)
        if unseen == "error" and (new := np.flatnonzero(found[:-1] == -1)).size:
            row, text = texts.first(new.tolist())
            raise Refused(row, f"{text!r:.60} is none of its categories in training; --unseen other goes on")
        codes = found[texts.codes]
        numbers = (codes[:, None] == np.arange(len(self.levels))[-len(self._shown) :]).astype(np.float64)
        numbers[codes == -2] = np.nan
        return numbers


@dataclass(frozen=True)
class Date:
    """A column of dates: days since the first one of training, and parts of the calendar on request."""

    name: str
    form: str  # of the texts; "" where the cells are points of time
    origin: float  # seconds since 1970
    mean: float  # likewise
    parts: tuple[str, ...] = field(default=())
    kind: ClassVar[str] = "date"

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers are called."""
        ends = [
            end for part in self.parts for end in ([f"{part} sin", f"{part} cos"] if "-" in part else [part])
        ]
        return (self.name, *(f"{self.name} {end}" for end in ends))

    @property
    def fill(self) -> tuple[float, ...]:
        """The numbers of the mean date."""
        return tuple(self._numbers(np.array([self.mean]))[0].tolist())

    def encode(self, column: "pd.Series[Any]", markers: frozenset[str], unseen: str) -> Array:
        """Days and parts, (n, k)."""
        if cells.is_date(column):
            return self._numbers(cells.seconds_of(column))
        texts = cells.texts_of(column, markers)
        if not self.form and texts.distinct:
            row, text = texts.first([0])
            raise Refused(row, f"{text!r:.60} is a text where training had points of time")
        distinct = cells.seconds(texts.distinct, self.form)
        if (bad := np.flatnonzero(np.isnan(distinct))).size:
            row, text = texts.first(bad.tolist())
            raise Refused(row, f"{text!r:.60} is not a date of the form {self.form}")
        return self._numbers(texts.spread(distinct))

    def _numbers(self, seconds: Array) -> Array:
        days = seconds / DAY
        columns = [(seconds - self.origin) / DAY]
        for part in self.parts:
            columns += _part(part, days)
        return np.column_stack(columns)


def _part(part: str, days: Array) -> list[Array]:
    """One number, or sine and cosine of a cycle."""
    if part == "day-cycle":
        return _cycle(days)
    if part == "week-cycle":
        return _cycle((days + 3.0) / 7.0)  # 1970 began on a Thursday
    if part == "year-cycle":
        return _cycle(days / _YEAR)
    missing = np.isnan(days)
    stamps = np.round(np.where(missing, 0.0, days) * DAY).astype("datetime64[s]")
    calendar = pd.Series(stamps).dt
    value = getattr(calendar, _CALLED.get(part, part)).to_numpy(dtype=np.float64)
    return [np.where(missing, np.nan, value)]


def _cycle(turns: Array) -> list[Array]:
    angle = 2.0 * np.pi * (turns % 1.0)
    return [np.sin(angle), np.cos(angle)]


class Refused(DataError):
    """A cell that cannot be used, by its place in the block; whoever knows more makes a sentence of it."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row, self.why = row, why


Column = Number | Category | Date
