"""A table by whatever it is: a path, ``openml:ID`` or a pandas frame."""

import hashlib
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd

from hgpbench import files
from hgpbench.data import raw
from hgpbench.data.cards import RawFile
from hgpbench.data.frames import columnar, delimited
from hgpbench.data.frames.choices import Choices
from hgpbench.data.frames.table import Table, of_frame
from hgpbench.data.names import OPENML, expanded, is_openml
from hgpbench.errors import DataError
from hgpbench.words import printable

_WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
_OTHERS = {
    b"SIMPLE  ": "a FITS file", b"RDX2\nX\n": "a file of R", b"RDX3\nX\n": "a file of R",
    b"ORC": "an ORC file", b"\x93NUMPY": "a file of NumPy", b"Obj\x01": "an Avro file",
    b"%PDF": "a PDF", b"SQLite format 3": "a database", b"\xd0\xcf\x11\xe0": "an Excel workbook",
    columnar.OLD_FEATHER: "a Feather file of the first version",
}  # fmt: skip

Given = str | Path | pd.DataFrame


@contextmanager
def opened(
    given: Given, choices: Choices | None = None, expected: Collection[str] = (), need_target: bool = True
) -> Iterator[Table]:
    """The table; ``expected`` are names that its header should have, by which one without is known.

    What was packed is unpacked for as long as the table is open.
    """
    choices = choices or Choices()
    if isinstance(given, pd.DataFrame):
        yield of_frame(given)
        return
    if is_openml(str(given)):
        from hgpbench.data import openml

        yield openml.table(str(given).removeprefix(OPENML))
        return
    path = expanded(str(given))
    label = label_of(path)
    if path.is_dir():
        table = columnar.folder(path, label)
        yield replace(table, raw_sha256=_sha256_of(path))
        return
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if path.suffix.lower() in _WORKBOOKS:
        raise DataError(f"{label}: is a workbook; save the sheet as CSV and give that")
    with tempfile.TemporaryDirectory(prefix="hgpbench-") as scratch:
        wanted = RawFile(file=label)
        plain = raw.unpack(path, wanted, Path(scratch))
        sha256 = raw.verify(plain, wanted)
        yield replace(_table(plain, label, choices, expected, need_target), raw_sha256=sha256)


def is_table(path: Path) -> bool:
    """Whether there is a file, or a folder that can be a table."""
    return path.is_file() or (path.is_dir() and bool(columnar.files_of(path)))


def label_of(path: Path) -> str:
    """The file's name as it can be stored and shown; a folder may hold names that no text can."""
    return printable(path.name).replace("\\", "_")


def _sha256_of(folder: Path) -> str:
    """One hash for the Parquet files of a folder: of a line for each, as sha256sum writes it."""
    lines = [f"{files.sha256_of(each)}  {each.name}\n" for each in columnar.files_of(folder)]
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def _table(path: Path, label: str, choices: Choices, expected: Collection[str], need_target: bool) -> Table:
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(columnar.HDF5):
        return columnar.hdf5_table(path, label, need_target)
    if start.startswith(columnar.PARQUET):
        return columnar.parquet(path, label)
    if start.startswith(columnar.FEATHER):
        return columnar.feather(path, label)
    for magic, what in _OTHERS.items():
        if start.startswith(magic):
            raise DataError(f"{label}: is {what}; write the table as CSV, Parquet, Feather or HDF5")
    return delimited.table(path, label, choices, expected)
