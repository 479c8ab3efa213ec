"""Rows laid out in an HDF5 file for workers that see it: each reads its own, and none of them travel.

The file lies in the folder of temporary files (``TMPDIR``), which workers of this machine see, and others
where a shared disk holds it. It has the rows as experts have them, scaled and grouped: in the file of a user
an expert's rows are all over the place, and every worker would have to read all of it. A path may mean
another file to another machine, so that the file bears a mark by which it is known, and the rows of each
expert have a checksum: whoever finds anything else is sent its rows instead.
"""

import secrets
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from hgpbench.columns import Array

MARK = "mark"
NO_ROWS = OSError, KeyError, ValueError  # what it comes to where a file is not the one that was laid out


class Sign(NamedTuple):
    """Where a file is, and the mark that tells it from others at that place."""

    path: str
    mark: str


class Place(NamedTuple):
    """The rows of an expert in a file."""

    start: int
    stop: int
    checksum: int


class Shelf:
    """A file to lay rows in; nobody reads it before all are there."""

    def __init__(self, path: Path) -> None:
        self.sign = Sign(str(path), secrets.token_hex(16))
        with _file(self.sign, "w") as file:
            file.attrs[MARK] = self.sign.mark

    def lay(self, count: int, d: int, experts: Iterator[tuple[Array, Array]]) -> list[Place]:
        """Write so many rows of ``d`` inputs, expert by expert."""
        places, start = list[Place](), 0
        with _file(self.sign, "r+") as file:
            inputs, targets = (
                file.create_dataset("X", (count, d), "f8"),
                file.create_dataset("y", count, "f8"),
            )
            for X, y in experts:
                place = Place(start, start + len(y), _checksum(X, y))
                inputs[place.start : place.stop], targets[place.start : place.stop] = X, y
                places.append(place)
                start = place.stop
        return places


@contextmanager
def opened() -> Iterator[Shelf]:
    """A shelf that goes with the context; OSError where none can be made."""
    with tempfile.TemporaryDirectory(prefix="hgpbench-rows-") as folder:
        yield Shelf(Path(folder) / "rows.h5")


def sees(sign: Sign) -> bool:
    """Whether this file is there, and no other in its place."""
    try:
        with _file(sign, "r") as file:
            return bool(file.attrs[MARK] == sign.mark)
    except NO_ROWS:
        return False


def rows(sign: Sign, places: Sequence[Place]) -> list[tuple[Array, Array]] | None:
    """Inputs and targets of the experts at these places; None where any of them is not as it was laid."""
    found = []
    try:
        with _file(sign, "r") as file:
            if file.attrs[MARK] != sign.mark:
                return None
            inputs, targets = file["X"], file["y"]
            for start, stop, checksum in places:
                X, y = np.asarray(inputs[start:stop]), np.asarray(targets[start:stop])
                if _checksum(X, y) != checksum:
                    return None
                found.append((X, y))
    except NO_ROWS:
        return None
    return found


def _file(sign: Sign, mode: str) -> h5py.File:
    # It is closed before others read it; not every shared disk has locks.
    return h5py.File(sign.path, mode, locking=False)


def _checksum(X: Array, y: Array) -> int:
    return zlib.crc32(np.ascontiguousarray(y).data, zlib.crc32(np.ascontiguousarray(X).data))
