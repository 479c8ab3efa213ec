"""What was learnt of a table, once: which columns become which numbers. It travels with a model as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hgpbench.data.frames import cells
from hgpbench.data.frames.cells import DATE_FORMATS, ISO, Array
from hgpbench.data.frames.choices import MISSING, PARTS, Missing
from hgpbench.data.frames.encoding import Category, Column, Date, Number, Refused
from hgpbench.errors import DataError
from hgpbench.words import listed, nearest, printable

FORMAT = 1
Unseen = Literal["error", "other"]
_KINDS: dict[str, type[Number] | type[Category] | type[Date]] = {
    "number": Number,
    "category": Category,
    "date": Date,
}
LARGEST = float(np.finfo(float).max)
_MOST_TEXT = 64 << 20  # characters of JSON


@dataclass(frozen=True, eq=False)
class Rows:
    """What becomes of a block: numbers of the rows that can be used, and which rows of the block they are."""

    X: Array
    kept: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TrainingRows(Rows):
    """With their targets."""

    y: Array


@dataclass(frozen=True)
class Preprocessing:
    """Columns in order, the target, and what becomes of missing cells; see the package for its use."""

    columns: tuple[Column, ...]
    target: str
    missing: Missing
    markers: tuple[str, ...]  # texts that stand for a missing cell
    flagged: tuple[str, ...] = ()  # columns with a further number: 1 where the cell is missing
    unseen: Unseen = "error"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the numbers, in the order of a model's inputs."""
        names: list[str] = []
        for column in self.columns:
            names += column.names
            if column.name in self.flagged:
                names.append(f"{column.name} missing")
        return tuple(names)

    @property
    def as_numbers(self) -> tuple[str, ...]:
        """Columns that a reader of text may parse at once."""
        return (*(column.name for column in self.columns if isinstance(column, Number)), self.target)

    def encode(self, frame: pd.DataFrame, first_row: int = 0, label: str = "the table") -> Rows:
        """The numbers of new rows; columns are found by name, whatever their order."""
        self._check_columns(frame, [column.name for column in self.columns], label)
        numbers = np.empty((len(frame), len(self.inputs)))
        complete = np.ones(len(frame), dtype=bool)
        plain = self._plain(frame, numbers)
        place = 0
        for column in self.columns:
            end = place + len(column.names)
            try:
                values = numbers[:, place:end]
                if column.name not in plain:
                    values[:] = column.encode(frame[column.name], frozenset(self.markers), self.unseen)
                    plain[column.name] = not np.isfinite(values).all()
                absent = (
                    self._seen_to(column, values, complete) if plain[column.name] else np.zeros(len(frame))
                )
            except Refused as error:
                where = f"{label}: row {first_row + error.row + 1:,}, column {column.name!r}"
                raise DataError(printable(f"{where}: {error.why}")) from None
            if column.name in self.flagged:
                numbers[:, end] = absent
                end += 1
            place = end
        kept = np.flatnonzero(complete)
        return Rows(numbers if complete.all() else numbers[kept], kept)

    def _plain(self, frame: pd.DataFrame, numbers: Array) -> dict[str, bool]:
        """Write the columns that are numbers already, all at once; which of them have odd cells."""
        own = [column.name for column in self.columns if isinstance(column, Number)]
        names, values = cells.numeric_columns(frame, own, frozenset(self.markers))
        places = {name: place for place, name in enumerate(self.inputs)}
        numbers[:, [places[name] for name in names]] = values
        odd = np.atleast_1d((~np.isfinite(values)).any(axis=0))
        return dict(zip(names, odd.tolist(), strict=True))

    def training(self, frame: pd.DataFrame, first_row: int = 0, label: str = "the table") -> TrainingRows:
        """The numbers and the targets of rows to learn from; rows without a target are left out."""
        self._check_columns(frame, [self.target], label)
        plain = Number(self.target, 0.0)
        try:
            y = plain.encode(frame[self.target], frozenset(self.markers), "error")[:, 0]
            if np.isinf(y).any():
                raise Refused(
                    int(np.isinf(y).argmax()),
                    "the target is not finite; --na inf --missing drop leaves such rows out",
                )
            if self.missing == "error" and np.isnan(y).any():
                raise Refused(
                    int(np.isnan(y).argmax()), "the value is missing; --missing drop leaves such rows out"
                )
        except Refused as error:
            where = f"{label}: row {first_row + error.row + 1:,}, column {self.target!r}"
            raise DataError(printable(f"{where}: {error.why}")) from None
        rows = self.encode(frame, first_row, label)
        there = ~np.isnan(y[rows.kept])
        kept = rows.kept[there]
        return TrainingRows(rows.X if there.all() else rows.X[there], kept, y[kept])

    def ruled(self, missing: Missing | None = None, unseen: Unseen | None = None) -> "Preprocessing":
        """The same with other rules for new data: ``flag`` cannot be added, its numbers were not learnt."""
        if missing == "flag" and self.missing != "flag":
            raise DataError("--missing flag: the model was not fitted with it; use mean or drop")
        return replace(
            self,
            missing=self.missing if missing is None else missing,
            unseen=self.unseen if unseen is None else unseen,
        )

    def to_json(self) -> str:
        """Everything, as text."""
        body = {"format": FORMAT, **asdict(self)}
        body["columns"] = [{"kind": column.kind, **asdict(column)} for column in self.columns]
        return json.dumps(body, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Preprocessing":
        """What ``to_json`` wrote, checked field by field; ValueError for anything else."""
        return _from_plain(_parsed(text))

    def _seen_to(self, column: Column, values: Array, complete: NDArray[np.bool_]) -> Array:
        """Fill missing cells, and mark rows to leave out, both in place; 1 where a cell was missing."""
        infinite = np.atleast_1d(np.isinf(values).any(axis=1))
        if infinite.any():
            at = int(infinite.argmax())
            found = values[at][np.isinf(values[at])][0]
            raise Refused(at, f"{found} is not finite; where it stands for a missing value say --na {found}")
        absent = np.atleast_1d(np.isnan(values).any(axis=1))
        if self.missing == "error" and absent.any():
            raise Refused(int(absent.argmax()), "the value is missing; say --missing drop or mean")
        if self.missing == "drop":
            complete &= ~absent
        values[absent] = column.fill
        return absent.astype(np.float64)

    def _check_columns(self, frame: pd.DataFrame, names: Sequence[str], label: str) -> None:
        there = [str(name) for name in frame.columns]
        counted = set(there)
        for name in names:
            if name not in counted:
                raise DataError(
                    printable(
                        f"{label}: has no column {name!r}{nearest(name, there)}; it has {listed(there, 20)}"
                    )
                )
        if len(counted) < len(there):
            twice = next((name for name in names if there.count(name) > 1), None)
            if twice is not None:
                raise DataError(
                    printable(f"{label}: has more than one column {twice!r}; name each differently")
                )


def _parsed(text: str) -> dict[str, Any]:
    if len(text) > _MOST_TEXT:
        raise ValueError("longer than a preprocessing can be")
    try:
        body = json.loads(text)
    except RecursionError:
        raise ValueError("nested beyond reason") from None
    if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
        raise ValueError(f"not a preprocessing of format {FORMAT}")
    return body


def _from_plain(body: dict[str, Any]) -> Preprocessing:
    if set(body) != {item.name for item in fields(Preprocessing)}:
        raise ValueError("the fields of a preprocessing are others")
    columns = body["columns"]
    if not isinstance(columns, list):
        raise ValueError("columns should be a list")
    _texts(body["markers"]), _texts(body["flagged"])
    plan = Preprocessing(
        columns=tuple(_column(each) for each in columns),
        target=_text(body["target"]),
        missing=_one_of(body["missing"], MISSING),
        markers=tuple(body["markers"]),
        flagged=tuple(body["flagged"]),
        unseen=_one_of(body["unseen"], get_args(Unseen)),
    )
    names = [column.name for column in plan.columns]
    if len(set(names)) < len(names) or plan.target in names or not set(plan.flagged) <= set(names):
        raise ValueError("the columns of a preprocessing do not hang together")
    return plan


def _column(body: Any) -> Column:
    kind = _KINDS.get(str(body.pop("kind", None))) if isinstance(body, dict) else None
    if kind is None or set(body) != {item.name for item in fields(kind)}:
        raise ValueError("a column of no known kind")
    _text(body["name"])
    if kind is Number:
        return Number(body["name"], _finite(body["mean"]))
    if kind is Category:
        levels, shares = _texts(body["levels"]), body["shares"]
        if not isinstance(shares, list) or len(shares) != len(levels) or len(levels) < 2:
            raise ValueError("a category without its levels")
        if len(set(levels)) < len(levels) or not isinstance(body["pooled"], bool):
            raise ValueError("a category whose levels are not levels")
        return Category(body["name"], levels, tuple(_finite(each) for each in shares), body["pooled"])
    parts = tuple(_one_of(part, PARTS) for part in _texts(body["parts"]))
    form = _one_of(body["form"], ("", ISO, *DATE_FORMATS))
    return Date(body["name"], form, _finite(body["origin"]), _finite(body["mean"]), parts)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} should be a text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r:.40} should be a list of texts")
    return tuple(_text(each) for each in value)


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ValueError(f"{value!r:.40} should be a finite number")
    return float(value)


def _one_of(value: Any, allowed: Sequence[str]) -> Any:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{value!r:.40} should be one of {', '.join(allowed)}")
    return value
