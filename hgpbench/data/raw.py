"""Raw files: out of their wrapping, and known to be what the card means."""

import bz2
import errno
import gzip
import hashlib
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO, Any

from hgpbench import files
from hgpbench.data.cards import RawFile
from hgpbench.errors import DataError

SUFFIXES = ("", ".xz", ".gz", ".bz2", ".zip")
MAX_BYTES = 8 << 30  # of one unpacked file whose size the card does not give
_DEEPEST = 3  # wrappings within wrappings
_BLOCK = 1 << 20
_OPENERS: dict[str, Callable[..., Any]] = {"gz": gzip.open, "xz": lzma.open, "bz2": bz2.open}
_MAGIC = {b"\x1f\x8b": "gz", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2", b"PK\x03\x04": "zip", b"PK\x05\x06": "zip"}
_DAMAGED = (
    EOFError, ValueError, NotImplementedError, struct.error,
    zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile,
)  # fmt: skip


def unpack(path: Path, wanted: RawFile, workspace: Path) -> Path:
    """The plain file: ``path`` itself, or what it wraps, written into the workspace.

    The wrapping is told by its first bytes, not by its name.
    """
    limit = wanted.bytes or MAX_BYTES
    for _ in range(_DEEPEST):
        wrapping = wrapping_of(path)
        if wrapping is None:
            return path
        try:
            path = _unwrap(path, wrapping, wanted.file, workspace, limit)
        except _DAMAGED as error:
            raise DataError(f"{path.name} is truncated or damaged ({error or 'unexpected end'})") from error
        except OSError as error:
            if error.errno != errno.EINVAL:  # that is a zip whose table points before its beginning
                raise
            raise DataError(f"{path.name} is truncated or damaged ({error.strerror})") from error
    raise DataError(f"{path.name} is wrapped more than {_DEEPEST} times; unpack it by hand")


def wrapping_of(path: Path) -> str | None:
    """``gz``, ``xz``, ``bz2`` or ``zip``, or None for a plain file."""
    with path.open("rb") as file:
        start = file.read(8)
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def verify(path: Path, wanted: RawFile) -> str:
    """The file's SHA-256, or DataError where it is not the file that the card means."""
    size = path.stat().st_size
    if size == 0:
        raise DataError(f"{wanted.file} is empty")
    with path.open("rb") as file:
        if _looks_like_html(file.read(512)):
            raise DataError(f"{wanted.file} is an HTML page instead of data; the address may have moved")
    if wanted.bytes is not None and size < wanted.bytes:
        raise DataError(f"{wanted.file} is truncated: {size:,} of {wanted.bytes:,} bytes")
    found = files.sha256_of(path)
    if wanted.sha256 is not None and found != wanted.sha256:
        raise DataError(
            f"{wanted.file} has sha256 {found}, the card expects {wanted.sha256}; "
            f"it is damaged or another edition (to use it all the same, give it a card of its own)"
        )
    return found


def _unwrap(path: Path, wrapping: str, name: str, workspace: Path, limit: int) -> Path:
    # Never the archive's own name for the file: it could lead out of the workspace.
    plain = workspace / (hashlib.sha256(f"{path}\n{name}".encode()).hexdigest()[:16] + ".raw")
    if wrapping == "zip":
        with zipfile.ZipFile(path) as archive:
            _copy(_member(archive, name), plain, limit, name)
        return plain
    with closing(_OPENERS[wrapping](path)) as stream:
        _copy(stream, plain, limit, name)
    return plain


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """The member that is the wanted file, plain or wrapped, or else the only one."""
    members = [info for info in archive.infolist() if not info.filename.endswith("/")]
    for info in members:
        inside = PurePosixPath(info.filename.replace("\\", "/"))
        first = inside.parts[0] if inside.parts else ":"  # a member may be called "." or nothing at all
        if inside.is_absolute() or ".." in inside.parts or ":" in first:
            raise DataError(
                f"the archive's member {info.filename!r} leads out of its folder; it is not safe to use"
            )
    allowed = {f"{name}{suffix}".lower() for suffix in SUFFIXES}
    matching = [info for info in members if PurePosixPath(info.filename).name.lower() in allowed]
    chosen = matching or members
    if len(chosen) != 1:
        listed = ", ".join(info.filename for info in members[:8]) or "nothing"
        raise DataError(f"the archive should hold one {name}; it holds {listed}")
    try:
        return archive.open(chosen[0])
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or packed in an unknown way
        raise DataError(f"{chosen[0].filename} cannot be unpacked ({error})") from error


def _copy(stream: IO[bytes], plain: Path, limit: int, name: str) -> None:
    """Write at most ``limit`` bytes: a few kilobytes can unpack to terabytes."""
    written = 0
    with plain.open("wb") as out, closing(stream):
        while block := stream.read(_BLOCK):
            written += len(block)
            if written > limit:
                raise DataError(f"{name} unpacks to more than the {limit:,} bytes it should have")
            out.write(block)


def _looks_like_html(start: bytes) -> bool:
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return text.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml", b"<script", b"<!--"))
