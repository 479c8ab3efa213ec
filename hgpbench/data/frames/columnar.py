"""Parquet, Feather and HDF5: columns that know their types, read by blocks."""

import importlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hgpbench import hdf5
from hgpbench.data.frames.cells import Array
from hgpbench.data.frames.table import Table, block_rows, is_unnamed, named, plain
from hgpbench.errors import DataError
from hgpbench.words import listed, printable

PARQUET = b"PAR1"
SUFFIXES = (".parquet", ".pq")  # of the files of a folder
FEATHER = b"ARROW1"
OLD_FEATHER = b"FEA1"
HDF5 = b"\x89HDF\r\n\x1a\n"


def pyarrow(module: str, what: str) -> Any:
    """A module of pyarrow, or the line that says how to get it."""
    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError:
        raise DataError(
            f"{what}: Parquet and Feather need pyarrow: pip install 'hgpbench[arrow]', or write CSV"
        ) from None


def parquet(path: Path, label: str) -> Table:
    """A Parquet file."""
    module = pyarrow("parquet", label)
    with _Told(label, "Parquet"), module.ParquetFile(path) as file:
        schema = file.schema_arrow
        names = list(schema.names)

    def batches(size: int) -> Iterator[Any]:
        with module.ParquetFile(path) as file:
            for group in range(file.num_row_groups):  # of all at once, Arrow would hold each that it has read
                yield from file.iter_batches(batch_size=size, row_groups=[group])

    return _of_arrow(label, "Parquet", names, batches)


def folder(path: Path, label: str) -> Table:
    """A folder of Parquet files with the same columns: one table, file after file by name."""
    tables = [parquet(each, printable(f"{label}/{each.name}")) for each in files_of(path)]
    if not tables:
        raise DataError(f"{path}: is a folder without Parquet files, which would be one table")
    first = tables[0]
    for table in tables:
        if table.columns != first.columns:
            raise DataError(
                f"{table.label}: has the columns {listed(table.columns, 8)}, and {first.label} has "
                f"{listed(first.columns, 8)}; the files of a folder are one table"
            )

    def read(as_numbers: Sequence[str]) -> Iterator[pd.DataFrame]:
        for table in tables:
            yield from table.read(as_numbers)

    return replace(first, label=label, read=read)


def files_of(folder: Path) -> list[Path]:
    """The Parquet files of a folder, in the order in which they are read."""
    return sorted(each for each in folder.iterdir() if each.suffix.lower() in SUFFIXES and each.is_file())


def feather(path: Path, label: str) -> Table:
    """A Feather file, which is one of Arrow's."""
    ipc = pyarrow("ipc", label)
    lib = pyarrow("lib", label)
    with _Told(label, "Feather"), lib.memory_map(str(path)) as source:
        names = list(ipc.open_file(source).schema.names)

    def batches(size: int) -> Iterator[Any]:
        with lib.memory_map(str(path)) as source:
            file = ipc.open_file(source)
            for place in range(file.num_record_batches):
                batch = file.get_batch(place)
                for start in range(0, batch.num_rows, size):
                    yield batch.slice(start, size)

    return _of_arrow(label, "Feather", names, batches)


def hdf5_table(path: Path, label: str, need_target: bool) -> Table:
    """An HDF5 file with X (n, d) and y (n,), or with columns as arrays of one length."""
    try:
        with hdf5.opened(path) as file:
            places, rows, target = _arrays(file, label, need_target)
    except hdf5.DAMAGE as error:
        reason = " ".join(str(error).split())
        raise DataError(printable(f"{label}: should be an HDF5 file with X and y ({reason})")) from error
    columns = tuple(named([name for name, _, _ in places], label))
    size = block_rows(len(columns))

    def read(as_numbers: Sequence[str]) -> Iterator[pd.DataFrame]:
        with hdf5.opened(path) as file:
            for start in range(0, rows, size):
                block = np.column_stack(
                    [_slice(file, source, start, size) for source in dict.fromkeys(s for _, s, _ in places)]
                )
                yield pd.DataFrame(block, columns=list(columns))

    return Table(label, columns, _guarded(read, label, "HDF5"), target=target)


def _arrays(file: Any, label: str, need_target: bool) -> tuple[list[tuple[str, str, int]], int, str | None]:
    """Each column's name, the array that has it and its place there; the rows; the target."""
    if "X" not in file:
        return _plain_columns(file), _rows_of(file), None
    X = hdf5.dataset(file, "X")
    if X.ndim != 2 or X.shape[1] == 0 or X.dtype.kind not in "fiub":
        raise DataError(f"{label}: X is {X.shape}; it should be (n, d), of numbers")
    names = _names(file, X.shape[1])
    places = [(name, "X", place) for place, name in enumerate(names)]
    if "y" not in file and not need_target:
        return places, len(X), None
    y = hdf5.dataset(file, "y")
    if y.shape not in ((len(X),), (len(X), 1)) or y.dtype.kind not in "fiub":
        raise DataError(
            f"{label}: X is {X.shape} and y is {y.shape}; they should be (n, d) and (n,), of numbers"
        )
    target = printable(str(file.attrs.get("target", "y")))
    return [*places, (target, "y", 0)], len(X), target


def _names(file: Any, count: int) -> list[str]:
    """The names that a dataset of ours has, or x1, x2, ..."""
    with suppress(*hdf5.DAMAGE):
        names = json.loads(file.attrs["columns"])
        if isinstance(names, list) and len(names) == count and all(isinstance(name, str) for name in names):
            return [printable(name) for name in names]
    return [f"x{place + 1}" for place in range(count)]


def _plain_columns(file: Any) -> list[tuple[str, str, int]]:
    names = [name for name in file if hdf5.dataset(file, name).ndim == 1]
    if not names:
        raise KeyError("there is no X")
    return [(printable(name), name, 0) for name in names if hdf5.dataset(file, name).dtype.kind in "fiub"]


def _rows_of(file: Any) -> int:
    lengths = {len(hdf5.dataset(file, source)) for _, source, _ in _plain_columns(file)}
    if len(lengths) != 1:
        raise ValueError("there is no X, and the arrays have different lengths")
    return lengths.pop()


def _slice(file: Any, source: str, start: int, size: int) -> Array:
    values = np.asarray(hdf5.dataset(file, source)[start : start + size], dtype=np.float64)
    return values if values.ndim == 2 else values[:, None]


def _of_arrow(label: str, kind: str, names: list[str], batches: Any) -> Table:
    columns = named([printable(name) for name in names], label)
    unnamed = frozenset(new for new, old in zip(columns, names, strict=True) if is_unnamed(old))
    size = block_rows(len(columns))

    def read(as_numbers: Sequence[str]) -> Iterator[pd.DataFrame]:
        for batch in batches(size):
            arrays = {name: _plain(column) for name, column in zip(columns, batch.columns, strict=True)}
            yield plain(pd.DataFrame(arrays, columns=columns))

    return Table(label, tuple(columns), _guarded(read, label, kind), unnamed)


def _plain(column: Any) -> "pd.Series[Any]":
    """An Arrow column as pandas has it: any number as a double, a day as a point of time."""
    types = pyarrow("types", "the table")
    kind = column.type
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_decimal(kind) or types.is_float16(kind):
        column = column.cast("float64", safe=False)
    elif types.is_date(kind):
        column = column.cast(pyarrow("lib", "the table").timestamp("ms"), safe=False)
    elif types.is_dictionary(kind):
        return _plain(column.dictionary_decode())
    elif types.is_nested(kind):
        raise ValueError(f"a column holds {kind}, which is neither number, text nor date")
    return column.to_pandas()


class _Told:
    """What Arrow raises on a file that is none of its own, as one line."""

    def __init__(self, label: str, kind: str) -> None:
        self._label, self._kind = label, kind

    def __enter__(self) -> None:
        """Nothing yet."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, hdf5.DAMAGE) and not isinstance(error, FileNotFoundError):
            raise DataError(_damaged(self._label, self._kind, error)) from None


def _guarded(read: Any, label: str, kind: str) -> Any:
    """Blocks of a file that may be damaged anywhere."""

    def guarded(as_numbers: Sequence[str]) -> Iterator[pd.DataFrame]:
        try:
            yield from read(as_numbers)
        except hdf5.DAMAGE as error:
            raise DataError(_damaged(label, kind, error)) from None

    return guarded


def _damaged(label: str, kind: str, error: BaseException) -> str:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return printable(f"{label}: not a readable {kind} file ({reason[:200]})")
