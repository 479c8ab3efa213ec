"""One dataset as one HDF5 file: ``X``, ``y`` and attributes that say where they came from."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hgpbench import __version__, files, hdf5
from hgpbench.data.split import Index, Split
from hgpbench.errors import DataError
from hgpbench.words import printable

Array = NDArray[np.float64]
FORMAT = 1
NO_ROW = "no row is left"
PUBLISHED_TEST = "published_test"
_CHUNK_BYTES = 1 << 20
_BLOCK = 65_536  # rows that are hashed at a time
_OWN = ("preprocessing", "asked")  # fields of About that only a table of the user's has
_NO_WORDS = ("split", "variant", *_OWN)  # fields of About that are no words for a reader


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs and target of a dataset, and the rows of its published test set where it has one."""

    X: Array
    y: Array
    columns: tuple[str, ...]  # of the inputs
    target: str
    published_test: Index | None = None


@dataclass(frozen=True)
class About:
    """Where a dataset came from, as its card says."""

    name: str
    variant: str | None  # None: the default one
    title: str
    licence: str
    citation: str
    notes: str
    source: str  # address or file that the raw data were taken from
    raw_sha256: str  # of the raw file after decompression; of several, one per line
    split: Split
    preprocessing: str = ""  # of a table of the user's: how it was read, as JSON
    asked: str = ""  # hash of its file and of how it was to be read


@dataclass(frozen=True)
class Description:
    """The attributes of a stored dataset."""

    about: About
    columns: tuple[str, ...]
    target: str
    rows: int
    sha256: str  # of the content, see ``content_hash``
    hgpbench: str
    date: str


def content_hash(table: Table) -> str:
    """SHA-256 of X (C order) and y as little-endian doubles, then columns, target and shape as JSON.

    The JSON is ``{"columns": [...], "published_test": [...] or null, "shape": [n, d], "target": "..."}`` with
    sorted keys and no spaces.
    """
    digest = hashlib.sha256()
    for start in range(0, len(table.y), _BLOCK):
        digest.update(np.ascontiguousarray(table.X[start : start + _BLOCK], dtype="<f8").data)
    return _with_the_rest(digest, table.X.shape, table.y, table.columns, table.target, table.published_test)


def _with_the_rest(
    digest: Any,
    shape: tuple[int, ...],
    y: Array,
    columns: tuple[str, ...],
    target: str,
    published: Index | None,
) -> str:
    """The hash of a dataset whose inputs have been hashed."""
    digest.update(np.ascontiguousarray(y, dtype="<f8").data)
    layout = {
        "columns": list(columns),
        "published_test": None if published is None else published.tolist(),
        "shape": list(shape),
        "target": target,
    }
    digest.update(json.dumps(layout, sort_keys=True, separators=(",", ":")).encode())
    return str(digest.hexdigest())


def write(path: Path, table: Table, about: About) -> Description:
    """Store a dataset; the file appears whole or not at all."""
    blocks = [(table.X, table.y)]
    return write_blocks(path, blocks, table.columns, table.target, len(table.y), about, table.published_test)


def write_blocks(
    path: Path,
    blocks: Iterable[tuple[Array, Array]],
    columns: tuple[str, ...],
    target: str,
    most_rows: int,
    about: About,
    published: Index | None = None,
) -> Description:
    """Store a dataset that comes by blocks of rows, at most so many; only the targets are held together."""
    with files.replacing(path) as part:
        _check_space(part, 8 * most_rows * (len(columns) + 1))
        try:
            # "latest" lifts the 64 kB limit on an attribute: thousands of column names need more.
            with h5py.File(part, "w", libver="latest") as file:
                digest, y = _write_inputs(file, blocks, most_rows, len(columns))
                file.create_dataset("y", data=y, dtype="<f8", chunks=(_chunk_rows(len(y), len(columns)),))
                if published is not None:
                    file.create_dataset(PUBLISHED_TEST, data=published, dtype="<i8")
                described = Description(
                    about=about,
                    columns=columns,
                    target=target,
                    rows=len(y),
                    sha256=_with_the_rest(digest, (len(y), len(columns)), y, columns, target, published),
                    hgpbench=__version__,
                    date=datetime.now(UTC).isoformat(timespec="seconds"),
                )
                file.attrs.update(_to_attributes(described))
        except RuntimeError as error:  # what HDF5 makes of a failed write
            raise OSError(str(error)) from error
    return described


def _write_inputs(
    file: Any, blocks: Iterable[tuple[Array, Array]], most_rows: int, n_inputs: int
) -> tuple[Any, Array]:
    """Write X as it comes; its hash, and all targets."""
    chunk = (_chunk_rows(most_rows, n_inputs), n_inputs)
    X = file.create_dataset(
        "X", shape=(most_rows, n_inputs), maxshape=(None, n_inputs), dtype="<f8", chunks=chunk
    )
    digest, targets, rows = hashlib.sha256(), [np.empty(0)], 0
    for inputs, y in blocks:
        X[rows : rows + len(y)] = inputs
        digest.update(np.ascontiguousarray(inputs, dtype="<f8").data)
        targets.append(y)
        rows += len(y)
    if rows == 0:
        raise DataError(NO_ROW)
    X.resize(rows, axis=0)
    return digest, np.concatenate(targets)


def _chunk_rows(rows: int, n_inputs: int) -> int:
    return max(1, min(rows, _CHUNK_BYTES // (8 * n_inputs)))


def describe(path: Path) -> Description:
    """What the file says of itself; reads attributes and shapes only."""
    with _opened(path) as file:
        return _description(file)


def read(path: Path) -> Table:
    """The whole dataset."""
    with _opened(path) as file:
        return _table(file, hdf5.values(file, "X").astype(float, copy=False))


def published_test_rows(path: Path) -> int | None:
    """How many rows the published test set has, or None where no split was published."""
    with _opened(path) as file:
        return int(hdf5.dataset(file, PUBLISHED_TEST).size) if PUBLISHED_TEST in file else None


def verify(path: Path) -> Description:
    """Read everything and compare it with the stored hash."""
    described = describe(path)
    read_as(path, described.sha256)
    return described


def read_as(path: Path, sha256: str) -> Table:
    """The whole dataset, once its content is known to be what the hash says."""
    return _known(read(path), path, sha256)


def left_in_file(path: Path, sha256: str) -> Table:
    """The same, with an HDF5 dataset for inputs, to be read by blocks; it keeps the file open."""
    describe(path)  # which says what is wrong with it
    file = h5py.File(path, "r")
    return _known(_table(file, hdf5.dataset(file, "X")), path, sha256)


def scratch(blocks: Iterable[tuple[Array, Array]], n_inputs: int, most_rows: int) -> tuple[Any, Array]:
    """Inputs in a nameless file (``TMPDIR`` says where), to be read by blocks, and their targets."""
    with tempfile.TemporaryDirectory(prefix="hgpbench-") as folder:
        file = h5py.File(Path(folder) / "rows.h5", "w")
        _, y = _write_inputs(file, blocks, most_rows, n_inputs)
    return file["X"], y


def _known(table: Table, path: Path, sha256: str) -> Table:
    """The table, if its content is what the hash says."""
    found = content_hash(table)
    if found != sha256:
        raise DataError(
            f"{path}: content has sha256 {found}, the file was written with {sha256}; "
            f"it was damaged or edited: fetch it again with --force"
        )
    return table


def _table(file: Any, X: Any) -> Table:
    """What a file holds, with these inputs."""
    described, y = _description(file), hdf5.values(file, "y").astype(float, copy=False)
    published = hdf5.values(file, PUBLISHED_TEST) if PUBLISHED_TEST in file else None
    if published is not None:
        _check_rows_of(published, len(y))
    return Table(X, y, described.columns, described.target, published)


def _check_space(part: Path, size: int) -> None:
    """Ask the system for the space beforehand: HDF5 does not recover from a disk that fills up."""
    if hasattr(os, "posix_fallocate"):
        with part.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with hdf5.opened(path) as file:
            yield file
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except hdf5.DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path}: not a readable dataset ({reason}); fetch it again with --force") from error


def _description(file: Any) -> Description:
    stored = dict(file.attrs)
    if stored.get("format") != FORMAT:
        raise DataError(
            f"{file.filename}: not a dataset of format {FORMAT}; fetch it again with --force, "
            f"or import your own X and y with `hgpbench fetch --csv`"
        )
    columns = _texts(json.loads(stored["columns"]))
    rows = int(stored["rows"])
    X, y = hdf5.dataset(file, "X"), hdf5.dataset(file, "y")
    if X.shape != (rows, len(columns)) or y.shape != (rows,):
        raise DataError(
            f"{file.filename}: X and y do not have the shape that the attributes give; use --force"
        )
    split = Split(**json.loads(stored["split"]))
    texts = {item.name: str(stored[item.name]) for item in fields(About) if item.name not in _NO_WORDS}
    own = {name: str(stored.get(name, "")) for name in _OWN}
    about = About(**texts, variant=str(stored["variant"]) or None, split=split, **own)
    return Description(
        about=about,
        columns=columns,
        target=str(stored["target"]),
        rows=rows,
        sha256=str(stored["sha256"]),
        hgpbench=str(stored["hgpbench"]),
        date=str(stored["date"]),
    )


def _texts(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of the columns are not a list of words")
    return tuple(names)


def _check_rows_of(published: Any, rows: int) -> None:
    """The published test rows are rows of this dataset, each once."""
    fine = published.ndim == 1 and published.dtype.kind in "iu"
    if not fine or (published.size and not 0 <= published.min() <= published.max() < rows):
        raise ValueError(f"{PUBLISHED_TEST} does not list rows of the dataset")


def _to_attributes(described: Description) -> dict[str, Any]:
    about = described.about
    texts = [item.name for item in fields(About) if item.name not in _NO_WORDS]
    return {
        **{name: getattr(about, name) for name in _OWN if getattr(about, name)},
        **{name: printable(getattr(about, name), lines=True) for name in texts},
        "variant": about.variant or "",
        "split": json.dumps(about.split.asked()),
        "format": FORMAT,
        "columns": json.dumps(described.columns),
        "target": described.target,
        "rows": described.rows,
        "sha256": described.sha256,
        "hgpbench": described.hgpbench,
        "date": described.date,
    }
