"""What is seen of one column while a table passes by."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from hgpbench.data.frames import cells
from hgpbench.data.frames.cells import DATE_FORMATS, Array
from hgpbench.data.frames.choices import Choices

MOST_TEXTS = 100_000  # distinct texts of a column that are counted


@dataclass
class Mean:
    """A mean that grows by blocks, and never by a sum that overflows."""

    count: int = 0
    value: float = 0.0
    least: float = np.inf

    def add(self, values: Array, counts: Any = 1) -> None:
        """More values, each so many times."""
        weights = np.broadcast_to(np.asarray(counts, dtype=np.float64), values.shape)
        more = int(weights.sum())
        if more:
            total = self.count + more
            self.value = self.value * (self.count / total) + float((values * (weights / total)).sum())
            self.count, self.least = total, min(self.least, float(values.min()))


@dataclass
class Seen:
    """What was seen of one column."""

    name: str
    rows: int = 0
    first_missing: int | None = None
    numbers: Mean = field(default_factory=Mean)
    stamps: Mean = field(default_factory=Mean)
    dates: dict[str, Mean] | None = None  # forms that every text so far has had; None: no text so far
    odd: int = 0  # cells that are no number
    first_odd: tuple[int, str] | None = None
    first_infinite: tuple[int, float] | None = None
    texts: "Counter[str] | None" = field(default_factory=Counter)  # None: too many
    counts_from: int | None = None  # where every cell is its row's number, from 0 or 1
    missing: int = 0

    @property
    def known(self) -> int:
        """Cells that are not missing."""
        return self.rows - self.missing

    def add(self, column: "pd.Series[Any]", choices: Choices) -> None:
        """One more block of points of time or texts."""
        if cells.is_date(column):
            stamps = cells.seconds_of(column)
            self._absent(np.isnan(stamps))
            self.stamps.add(stamps[~np.isnan(stamps)])
        else:
            self._texts(cells.texts_of(column, choices.markers))
        self.rows += len(column)

    def _absent(self, missing: Any) -> None:
        if missing.any():
            self.missing += int(missing.sum())
            if self.first_missing is None:
                self.first_missing = self.rows + int(missing.argmax())

    def add_numbers(self, values: Array) -> None:
        """One more block of numbers."""
        missing, infinite = np.isnan(values), np.isinf(values)
        self._absent(missing)
        if infinite.any() and self.first_infinite is None:
            at = int(infinite.argmax())
            self.first_infinite = self.rows + at, float(values[at])
        self.numbers.add(values[~(missing | infinite)])
        self._running(values)
        self.rows += len(values)

    def _running(self, values: Array) -> None:
        if self.rows == 0 and len(values) and values[0] in (0.0, 1.0):
            self.counts_from = int(values[0])
        if self.counts_from is not None:
            start = self.rows + self.counts_from
            if not np.array_equal(values, np.arange(start, start + len(values), dtype=np.float64)):
                self.counts_from = None

    def _texts(self, texts: cells.Texts) -> None:
        self._absent(texts.codes < 0)
        counts, values = texts.counts, cells.numbers(texts)
        infinite, odd = np.isinf(values), np.isnan(values)
        if infinite.any() and self.first_infinite is None:
            row, text = texts.first(np.flatnonzero(infinite).tolist())
            self.first_infinite = self.rows + row, cells.number(text)
        fine = ~(infinite | odd)
        self.numbers.add(values[fine], counts[fine])
        self._running(texts.spread(values))
        if odd.any():
            self.odd += int(counts[odd].sum())
            if self.first_odd is None:
                row, text = texts.first(np.flatnonzero(odd).tolist())
                self.first_odd = self.rows + row, text
        self._dates(texts, counts)
        if self.texts is not None:
            self.texts.update(dict(zip(texts.distinct, counts.tolist(), strict=True)))
            if len(self.texts) > MOST_TEXTS:
                self.texts = None

    def _dates(self, texts: cells.Texts, counts: Any) -> None:
        """Keep the forms that every text so far has had."""
        if not texts.distinct:
            return
        if self.dates is None:
            probable = cells.may_be_date(texts.distinct[0])
            self.dates = {form: Mean() for form in DATE_FORMATS} if probable else {}
        for form in list(self.dates):
            if np.isnan(cells.seconds(texts.distinct[:20], form)).any():
                del self.dates[form]
                continue
            found = cells.seconds(texts.distinct, form)
            if np.isnan(found).any():
                del self.dates[form]
            else:
                self.dates[form].add(found, counts)
