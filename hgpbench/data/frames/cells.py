"""Texts as numbers and dates. Only distinct texts are parsed, so that a million dates cost a thousand."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

ISO = "ISO8601"
_DAY_FIRST = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y")
_MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y")
_OTHER = (ISO, "%Y/%m/%d", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%Y%m%dT%H%M%S")
_TIMES = ("", " %H:%M", " %H:%M:%S")
ORDERS: Mapping[str, tuple[str, ...]] = {"day": _DAY_FIRST, "month": _MONTH_FIRST}
DATE_FORMATS: tuple[str, ...] = (
    *(f"{day}{time}" for day in (*_OTHER[1:-1], *_DAY_FIRST, *_MONTH_FIRST) for time in _TIMES),
    ISO,
    _OTHER[-1],
)
_YEAR = re.compile(r"\d{4}")
DAY = 86_400.0  # seconds
_NUMERIC = "biuf"
_EXACT = 1e15  # a whole number below it is written without an exponent


@dataclass(frozen=True, eq=False)
class Texts:
    """The distinct texts of a column, stripped, and which of them each row has; -1: the cell is missing."""

    distinct: list[str]
    codes: NDArray[np.intp]

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many rows have each text."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.distinct))

    def spread(self, values: Array) -> Array:
        """A value of each distinct text, for every row; NaN where the cell is missing."""
        return np.append(values, np.nan)[self.codes]

    def first(self, which: Iterable[int]) -> tuple[int, str]:
        """The first row that has one of these texts, and the text."""
        row = int(np.flatnonzero(np.isin(self.codes, list(which)))[0])
        return row, self.distinct[self.codes[row]]


def texts_of(column: "pd.Series[Any]", markers: frozenset[str]) -> Texts:
    """The texts of a column of any kind; a number's text is its shortest one."""
    raw, uniques = pd.factorize(column, use_na_sentinel=True)
    words = [_word(value) for value in uniques]
    place: dict[str, int] = {}
    codes = np.full(len(words) + 1, -1, dtype=np.intp)
    for number, word in enumerate(words):
        if word not in markers:
            codes[number] = place.setdefault(word, len(place))
    return Texts(list(place), codes[raw])


def numeric_columns(
    frame: pd.DataFrame, names: Iterable[str], markers: frozenset[str]
) -> tuple[list[str], Array]:
    """Those of the columns that hold numbers already, and their values: all at once, as rows may be wide."""
    kinds = dict(zip(frame.columns, frame.dtypes, strict=True))
    chosen = [name for name in names if isinstance(kinds[name], np.dtype) and kinds[name].kind in _NUMERIC]
    if len(chosen) > len(kinds) // 2 and all(isinstance(kind, np.dtype) for kind in kinds.values()):
        places = {name: place for place, name in enumerate(kinds)}
        return chosen, _masked(
            frame.to_numpy()[:, [places[name] for name in chosen]].astype(np.float64), markers
        )
    return chosen, _masked(frame[chosen].to_numpy(dtype=np.float64, copy=True), markers)


def masked(column: "pd.Series[Any]", markers: frozenset[str]) -> Array:
    """A column of numbers as doubles, NaN where one stands for a missing cell."""
    return _masked(column.to_numpy(dtype=np.float64, copy=True), markers)


def _masked(values: Array, markers: frozenset[str]) -> Array:
    if wanting := _numeric_markers(markers):
        values[np.isin(values, wanting)] = np.nan
    return values


@cache
def _numeric_markers(markers: frozenset[str]) -> list[float]:
    return [value for value in map(number, markers) if not np.isnan(value)]


def is_numeric(column: "pd.Series[Any]") -> bool:
    """Whether the cells are numbers already."""
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in _NUMERIC


def is_date(column: "pd.Series[Any]") -> bool:
    """Whether the cells are points of time already."""
    return pd.api.types.is_datetime64_any_dtype(column.dtype)


def number(text: str) -> float:
    """The nearest double; NaN for a text that is no number. ``1_000`` is none, whatever Python thinks."""
    if "_" in text:
        return np.nan
    try:
        return float(text)
    except ValueError:
        return np.nan


def is_number(text: str) -> bool:
    """Whether a text is a number, infinite or not."""
    return not np.isnan(number(text))


def numbers(texts: Texts) -> Array:
    """The number of each distinct text, NaN where it is none."""
    return np.array([number(text) for text in texts.distinct], dtype=np.float64)


def may_be_date(text: str) -> bool:
    """Whether it is worth while to try: every form has a year of four digits and more beside it."""
    return len(text) >= 8 and _YEAR.search(text) is not None and np.isnan(number(text))


def seconds(texts: Iterable[str], form: str) -> Array:
    """Seconds since 1970 of each text that is a date of this form, in UTC; NaN for the others."""
    listed = [text if form != ISO or _looks_iso(text) else "" for text in texts]
    try:
        parsed = pd.to_datetime(pd.Series(listed, dtype=object), format=form, errors="coerce", utc=True)
    except (ValueError, OverflowError):
        return np.full(len(listed), np.nan)
    return seconds_of(parsed)


def seconds_of(column: "pd.Series[Any]") -> Array:
    """Seconds since 1970 of a column of points of time; NaN where there is none."""
    plain = column.dt.tz_convert("UTC").dt.tz_localize(None) if column.dt.tz is not None else column
    stamps = plain.to_numpy(dtype="datetime64[us]")
    return np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64).astype(np.float64) / 1e6)


def _looks_iso(text: str) -> bool:
    """A bare number is no date, though ISO 8601 would let a year pass."""
    return len(text) >= 8 and text[4:5] == "-" and text[:4].isdigit()


def _word(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(float(value))
    return str(value).strip()
