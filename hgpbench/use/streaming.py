"""Predictions for a table of any length: block by block in, block by block out."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hgpbench import files
from hgpbench.data.frames.choices import Choices
from hgpbench.data.frames.columnar import pyarrow
from hgpbench.data.frames.reading import opened
from hgpbench.data.frames.table import Table
from hgpbench.errors import ConfigError, DataError
from hgpbench.models.copies import Predict
from hgpbench.prediction import check_levels
from hgpbench.use.predictor import Predictor
from hgpbench.words import listed, nearest

PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".txt", ".tsv")
SUFFIXES = (*TEXT, *PARQUET)


@dataclass(frozen=True)
class Written:
    """How many rows went out, and how many of them have no prediction."""

    rows: int
    empty: int


def predict_table(
    predictor: Predictor,
    given: str,
    out: Path | None,
    quantiles: Sequence[float],
    choices: Choices,
    keep: Sequence[str] = (),
    predict: Predict | None = None,
) -> Written:
    """Predict every row of a table into a file, or onto standard output; a row left out has empty cells.

    ``predict`` is who predicts inputs, if not the model here.
    """
    predict = predict or predictor.model.predict_seen
    plan = predictor.preprocessing
    expected = [column.name for column in plan.columns]
    choices = replace(choices, na=(*choices.na, *plan.markers))
    rows = empty = 0
    with opened(given, choices, expected, need_target=False) as table:
        _check_kept(table, keep, quantiles)
        with _sink(out) as write:
            for block in table.blocks([name for name in plan.as_numbers if name in expected]):
                encoded = plan.encode(block, rows, table.label)
                write(_answers(predict, block, encoded.X, encoded.kept, quantiles, keep))
                rows += len(block)
                empty += len(block) - len(encoded.kept)
            if rows == 0:
                raise DataError(f"{table.label}: has no rows")
    return Written(rows, empty)


def levels_of(text: str) -> tuple[float, ...]:
    """Levels of quantiles with commas between them."""
    try:
        return check_levels([float(part) for part in text.split(",") if part.strip()])
    except ValueError as error:
        raise ConfigError(f"--quantiles {text!r:.60}: {error}; write 0.05,0.5,0.95") from None


def _answers(
    predict: Predict,
    block: pd.DataFrame,
    X: Any,
    kept: Any,
    quantiles: Sequence[float],
    keep: Sequence[str],
) -> pd.DataFrame:
    """What is written of a block: columns to keep, then the predictions."""
    if len(kept) == 0:  # the columns all the same
        X = np.zeros((1, X.shape[1]))
    answers = predict(X).to_frame(quantiles)
    answers = answers.iloc[: len(kept)].set_axis(kept, axis=0).reindex(range(len(block)))
    return pd.concat([block[list(keep)], answers], axis=1)


def _check_kept(table: Table, keep: Sequence[str], quantiles: Sequence[float]) -> None:
    ours = {"mean", "std", "noise_std", *(f"q{level:g}" for level in quantiles)}
    for name in keep:
        if name not in table.columns:
            near = nearest(name, table.columns)
            raise DataError(
                f"--keep {name}: {table.label} has no such column{near}; it has {listed(table.columns, 20)}"
            )
        if name in ours:
            raise ConfigError(f"--keep {name}: is the name of a prediction, too; rename the column")


@contextmanager
def _sink(out: Path | None) -> Iterator[Any]:
    """What writes one block after the other; the file appears whole or not at all."""
    if out is None:
        yield _Text(sys.stdout)
        return
    if out.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{out}: predictions are written as {listed(SUFFIXES)}; name the file so")
    with files.replacing(out) as part:
        if out.suffix.lower() in PARQUET:
            with _Parquet(part) as writer:
                yield writer
        else:
            with part.open("w", encoding="utf-8", newline="") as file:
                yield _Text(file, "\t" if out.suffix.lower() == ".tsv" else ",")


class _Text:
    def __init__(self, file: Any, delimiter: str = ",") -> None:
        self._file, self._delimiter, self._header = file, delimiter, True

    def __call__(self, block: pd.DataFrame) -> None:
        block.to_csv(self._file, index=False, header=self._header, sep=self._delimiter, lineterminator="\n")
        self._header = False


class _Parquet:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None
        self._lib, self._parquet = pyarrow("lib", str(path)), pyarrow("parquet", str(path))

    def __enter__(self) -> "_Parquet":
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def __call__(self, block: pd.DataFrame) -> None:
        schema = None if self._writer is None else self._writer.schema
        table = self._lib.Table.from_pandas(block, schema=schema, preserve_index=False)
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)
