"""Rows that stay in an HDF5 file while a model learns from them, and rows of our own in a nameless one.

An HDF5 dataset stands in for the inputs wherever they are read by slices. What has to be seen in another
order, or scaled, is written into a temporary file (``TMPDIR`` says where) and mapped: it looks like any
array, and takes as much memory as the machine has left.
"""

import mmap
import tempfile
from collections.abc import Iterable
from typing import Any, Protocol, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from hgpbench.columns import Array, chunks
from hgpbench.scaling import Scaling

Index = NDArray[np.intp]

BUCKET = 64_000_000  # bytes of rows that are put in order at a time


class Stored(Protocol):
    """An array that is read by slices of rows: an HDF5 dataset."""

    shape: tuple[int, ...]

    def __getitem__(self, rows: slice | int) -> Any: ...

    def read_direct(self, dest: Array) -> None: ...


class FileRows:
    """The inputs of a stored array, as much of an ndarray as fitting needs: finite doubles, by slices."""

    def __init__(self, stored: Stored) -> None:
        if len(stored.shape) != 2:
            raise ValueError(
                f"X has shape {tuple(stored.shape)}: it must have two dimensions, rows and inputs"
            )
        if stored.shape[0] < 2:
            raise ValueError(f"X has {stored.shape[0]} rows: a minimum of 2 is required")
        self._stored = stored
        self.shape = (int(stored.shape[0]), int(stored.shape[1]))
        self._low, self._high = np.full(self.shape[1], np.inf), np.full(self.shape[1], -np.inf)
        for rows in chunks(len(self)):
            part = self[rows]
            if not np.isfinite(part).all():
                raise ValueError(f"X contains NaN or infinity in rows {rows.start:,} to {rows.stop - 1:,}")
            np.minimum(self._low, part.min(axis=0), out=self._low)
            np.maximum(self._high, part.max(axis=0), out=self._high)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | int | Index) -> Array:
        if isinstance(rows, np.ndarray):
            return self._picked(rows)
        return np.asarray(self._stored[rows], dtype=np.float64)

    def min(self, axis: int = 0) -> Array:
        """Smallest entry per column."""
        return self._low

    def max(self, axis: int = 0) -> Array:
        """Largest entry per column."""
        return self._high

    def mean(self, axis: int = 0) -> Array:
        """Mean per column, to the bit as an ndarray has it: summed row by row."""
        total = np.zeros(self.shape[1])
        for rows in chunks(len(self)):
            total = np.concatenate([total[None], self[rows]]).sum(axis=0)
        return total / len(self)

    def _picked(self, rows: Index) -> Array:
        """Rows by number, in any order."""
        found = np.empty((len(rows), self.shape[1]))
        order = np.argsort(rows, kind="stable")
        ends = np.searchsorted(rows[order], [part.stop for part in chunks(len(self))])
        for part, places in zip(chunks(len(self)), np.split(order, ends[:-1]), strict=True):
            if len(places):
                found[places] = self[part][rows[places] - part.start]
        return found


def is_stored(X: Any) -> TypeGuard[Stored]:
    """Whether ``X`` is an HDF5 dataset, to be left where it is."""
    return hasattr(X, "shape") and hasattr(X, "read_direct")


def left_in_file(model: BaseEstimator, X: Stored, y: ArrayLike) -> tuple[Array, Array]:
    """Training data of which the inputs stay in their file; FileRows stands in for them as an array."""
    rows = FileRows(X)
    validate_data(model, rows[:2])  # notes the number of inputs
    target = column_or_1d(np.asarray(y, dtype=np.float64))
    assert_all_finite(target, input_name="y")
    check_consistent_length(rows, target)
    return cast(Array, rows), target


def scaled(X: Array | FileRows, scaling: Scaling) -> Array:
    """The scaled inputs: in memory where they come from there, and in a file where they come from one."""
    if isinstance(X, FileRows | np.memmap):
        return mapped((scaling.inputs(X[rows]) for rows in chunks(len(X))), X.shape)
    return scaling.inputs(X)


def kept(X: Array | FileRows, rows: Index) -> Array:
    """``X[rows]``, for ascending numbers: in memory where they come from there, and in a file else."""
    if not isinstance(X, FileRows):
        return X[rows]
    ends = np.searchsorted(rows, [part.stop for part in chunks(len(X))])
    parts = zip(chunks(len(X)), np.split(rows, ends[:-1]), strict=True)
    return mapped((X[part][some - part.start] for part, some in parts), (len(rows), X.shape[1]))


def mapped(blocks: Iterable[Array], shape: tuple[int, int]) -> Array:
    """Rows of a nameless file, which these blocks fill, as an array that cannot be written to."""
    with tempfile.TemporaryFile() as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block).data)
        file.flush()
        return np.memmap(file, dtype=np.float64, mode="r", shape=shape)


def reordered(X: Array, order: Index, unit: Array | None = None) -> Array:
    """``X[order]``, over ``unit``; of mapped rows a new file, made by reading the old one through, once.

    The file is cut into buckets that fit in memory. Rows go to the end of theirs as they come, and then each
    bucket is put in order: two sequential passes, where picking rows one by one would jump about.
    """
    if not isinstance(X, np.memmap):
        return X[order] if unit is None else X[order] / unit
    n, d = X.shape
    size = max(1, BUCKET // (8 * d))
    bucket = np.empty(n, dtype=np.int32)
    for number, places in enumerate(chunks(n, size)):
        bucket[order[places]] = number
    with tempfile.TemporaryFile() as file:
        ends = size * np.arange(-(-n // size))  # where the next row of each bucket goes
        for rows in chunks(n):
            by_bucket = np.argsort(bucket[rows], kind="stable")
            part = np.asarray(X[rows])[by_bucket]
            if unit is not None:
                part /= unit
            counts = np.bincount(bucket[rows], minlength=len(ends))
            for number, block in enumerate(np.split(part, np.cumsum(counts)[:-1])):
                file.seek(8 * d * int(ends[number]))
                file.write(block.data)
            ends += counts
        released(X)
        for places in chunks(n, size):
            file.seek(8 * d * places.start)
            came = np.frombuffer(file.read(8 * d * (places.stop - places.start))).reshape(-1, d)
            arrival = np.empty(len(came), dtype=np.intp)
            arrival[np.argsort(order[places], kind="stable")] = np.arange(len(came))
            file.seek(8 * d * places.start)
            file.write(came[arrival].data)
        file.flush()
        return np.memmap(file, dtype=np.float64, mode="r", shape=(n, d))


def released(X: Array) -> None:
    """Let go of the memory in which a mapped file has been read; it is read again where it is needed."""
    holder: Any = X
    while isinstance(holder, np.ndarray):
        holder = holder.base
    if isinstance(holder, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        holder.madvise(mmap.MADV_DONTNEED)
