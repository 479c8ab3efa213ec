"""What a user may ask of a table: the same words for import, fit, predict and compare."""

from dataclasses import dataclass
from typing import Literal, get_args

from hgpbench.errors import DataError
from hgpbench.words import nearest

Missing = Literal["error", "drop", "mean", "flag"]
Rare = Literal["refuse", "pool"]
Order = Literal["day", "month"]
Part = Literal["year", "month", "day", "weekday", "hour", "day-cycle", "week-cycle", "year-cycle"]

PARTS: tuple[str, ...] = get_args(Part)
MISSING: tuple[str, ...] = get_args(Missing)
MARKERS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL")
"""Cells that stand for nothing, whatever the table."""
MOST_CATEGORIES = 20


@dataclass(frozen=True)
class Choices:
    """Everything that can be asked; the defaults ask for nothing."""

    inputs: tuple[str, ...] | None = None  # None: every column but the target
    drop: tuple[str, ...] = ()
    keep_index: bool = False  # also a column that has no name or only counts the rows
    missing: Missing = "error"
    na: tuple[str, ...] = ()  # further cells that count as missing
    categories: tuple[str, ...] = ()  # columns of numbers that are names
    max_categories: int = MOST_CATEGORIES
    rare: Rare = "refuse"
    date_parts: tuple[str, ...] = ()
    date_order: Order | None = None  # of 03/04/2021: which comes first
    header: bool | None = None  # None: told by its cells
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        for part in self.date_parts:
            if part not in PARTS:
                raise DataError(
                    f"--date-parts {part!r:.60}: no such part{nearest(part, PARTS)}; "
                    f"parts: {', '.join(PARTS)}"
                )
        if self.max_categories < 2:
            raise DataError("--max-categories: a column of categories has two at least")
        for name, text in (("delimiter", self.delimiter), ("decimal", self.decimal)):
            if text is not None and len(text) != 1:
                raise DataError(f"--{name} {text!r:.60}: should be one character")
        if self.inputs is not None and not self.inputs:
            raise DataError("--inputs: list at least one column, and each once")
        if self.inputs is not None and len(set(self.inputs)) < len(self.inputs):
            raise DataError("--inputs: list at least one column, and each once")

    @property
    def markers(self) -> frozenset[str]:
        """The texts that stand for a missing cell."""
        return frozenset((*MARKERS, *self.na))
