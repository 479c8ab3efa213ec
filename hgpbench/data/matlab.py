"""The one matrix of a MATLAB 5 file, read with care.

Compiled readers trust the file and may crash on a damaged one; this one checks every length it is told. It
reads real, dense numeric matrices, plain or compressed, and nothing else.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hgpbench.errors import DataError

Array = NDArray[np.float64]
_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_NUMERIC_CLASSES = range(6, 16)  # double, single and the integers
_COMPLEX = 0x0800
_LARGEST = 4 << 30  # bytes that a compressed matrix may have


def read_matrix(path: Path, label: str) -> Array:
    """The only matrix in the file as (rows, columns) doubles; DataError where it is anything else."""
    body = path.read_bytes()
    try:
        order = {b"IM": "<", b"MI": ">"}[body[126:128]]
        found = [_matrix(part, order) for part in _matrices(body[_HEADER:], order)]
    except (KeyError, ValueError, struct.error, zlib.error) as error:
        raise DataError(f"{label}: not a MATLAB 5 file that can be read, or truncated ({error})") from error
    if len(found) != 1:
        raise DataError(f"{label}: should hold one matrix; it holds {len(found)}")
    return found[0]


def _matrices(body: bytes, order: str, packed: bool = False) -> Iterator[bytes]:
    """The top-level elements, unpacked once: what unpacks to itself would never end."""
    for kind, content in _elements(body, order):
        if kind == _COMPRESSED and not packed:
            yield from _matrices(_inflate(content), order, packed=True)
        elif kind == _MATRIX:
            yield content
        else:
            raise ValueError(f"an element of type {kind} where a matrix should be")


def _inflate(content: bytes) -> bytes:
    stream = zlib.decompressobj()
    body = stream.decompress(content, _LARGEST)
    if not stream.eof:
        raise ValueError(f"compressed values that do not end within {_LARGEST:,} bytes")
    return body


def _elements(body: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Type and content of each element; a small one keeps its content within the tag."""
    at = 0
    while at < len(body):
        (word,) = struct.unpack_from(f"{order}I", body, at)
        if word >> 16:
            kind, size, start, after = word & 0xFFFF, word >> 16, at + 4, at + 8
        else:
            kind, start = word, at + 8
            (size,) = struct.unpack_from(f"{order}I", body, at + 4)
            after = start + size + (0 if kind == _COMPRESSED else -size % 8)
        if start + size > len(body):
            raise ValueError(f"an element of {size:,} bytes where {max(len(body) - start, 0):,} are left")
        yield kind, body[start : start + size]
        at = after


def _matrix(content: bytes, order: str) -> Array:
    """Array flags, dimensions, name and real part, in that order."""
    parts = list(_elements(content, order))
    if len(parts) < 4:
        raise ValueError("a matrix without values")
    (_, flags), (_, dimensions), _, (kind, values) = parts[:4]
    (word,) = struct.unpack_from(f"{order}I", flags)
    if word & 0xFF not in _NUMERIC_CLASSES or word & _COMPLEX or kind not in _STORED:
        raise ValueError("not a real, dense, numeric matrix")
    rows, columns = struct.unpack(f"{order}2i", dimensions)
    numbers = np.frombuffer(values, dtype=order + _STORED[kind])
    if min(rows, columns) < 0 or rows * columns != len(numbers):
        raise ValueError(f"{len(numbers):,} values for a {rows} x {columns} matrix")
    return numbers.reshape((rows, columns), order="F").astype(float)
