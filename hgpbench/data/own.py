"""One's own data: a CSV or HDF5 file becomes a dataset like any other."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from hgpbench import shipped
from hgpbench.data import raw, text
from hgpbench.data.cards import ONLY, Card, Csv, Hdf5, Missing, RawFile, Recipe, explain
from hgpbench.data.fetch import FetchResult, build, result_of
from hgpbench.data.names import data_folder, is_name, stored_path
from hgpbench.data.workspace import workspace
from hgpbench.errors import DataError
from hgpbench.words import printable

_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_DELIMITERS = (",", ";", "\t", "|")
_EMPTY_CELLS = ["", "?", "NA", "N/A", "NaN", "nan", "null"]


def import_table(
    path: Path,
    name: str,
    target: str | None = None,
    *,
    inputs: Sequence[str] | None = None,
    missing: Literal["error", "drop"] = "error",
    title: str | None = None,
    force: bool = False,
    folder: Path | None = None,
) -> FetchResult:
    """Store a CSV file with a header (``target`` names a column) or an HDF5 file with X and y.

    Either may be wrapped as .gz, .xz or .zip. Inputs are all columns but the target unless they are listed.
    """
    start = time.perf_counter()
    stored = stored_path(folder or data_folder(), _checked_name(name), None)
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if stored.exists() and not force:
        raise DataError(f"{stored}: a dataset of that name exists; choose another --name, or use --force")
    with workspace(stored) as scratch:
        wanted = RawFile(file=_label(path))
        plain = raw.unpack(path, wanted, scratch)
        raw.verify(plain, wanted)
        layout = _layout(plain, target, wanted.file)
        recipe = _recipe(wanted, layout, target, inputs, missing)
        card = Card(
            name=name,
            path=path,
            title=title or f"Own data from {wanted.file}",
            licence="not stated",
            citation="not stated",
            default=ONLY,
            variants={ONLY: recipe},
        )
        described, notes = build(card, None, stored, str(path), scratch)
    told = tuple(note for note in notes if "gives no hash" not in note)  # nobody expects one of own data
    return result_of("written", stored, described, start, told)


def _recipe(
    wanted: RawFile,
    layout: Csv | Hdf5,
    target: str | None,
    inputs: Sequence[str] | None,
    missing: Literal["error", "drop"],
) -> Recipe:
    try:
        return Recipe(
            files=[wanted],
            format=layout,
            inputs=None if inputs is None else list(inputs),
            target=target or "y",
            missing=Missing(values=_EMPTY_CELLS, rule=missing),
        )
    except ValidationError as error:
        raise DataError(f"{wanted.file}: {explain(error, {})}") from None


def _label(path: Path) -> str:
    """The file's name as it can be stored and shown; a folder may hold names that no text can."""
    return printable(path.name).replace("\\", "_")


def _checked_name(name: str) -> str:
    if not is_name(name):
        raise DataError(f"--name {name!r}: only letters, digits, '-' and '_' are allowed")
    if shipped.find("datasets", name) is not None:
        raise DataError(f"--name {name}: is the name of a dataset that comes with hgpbench; choose another")
    return name


def _layout(plain: Path, target: str | None, label: str) -> Csv | Hdf5:
    with plain.open("rb") as file:
        if file.read(8) == _HDF5_MAGIC:
            return Hdf5(kind="hdf5")
    if target is None:
        raise DataError(f"{label}: name the column to predict with --target")
    return Csv(kind="csv", delimiter=_delimiter(plain, target, label))


def _delimiter(plain: Path, target: str, label: str) -> str:
    """The separator that makes the target one of the header's names; a comma where none does."""
    for delimiter in _DELIMITERS:
        if target in text.header_of(plain, Csv(kind="csv", delimiter=delimiter), label):
            return delimiter
    return _DELIMITERS[0]
