"""Files that are either complete or absent, and JSON that vouches for itself."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MOST_JSON = 256 << 20  # bytes of one file; a plan of a hundred thousand runs has a tenth of it


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary neighbour of ``path``; on success flush it to disk and rename it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(path)
        _flush_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step: a reader sees the old one or the new one."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def sha256_of(path: Path) -> str:
    """Hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> Any:
    """The data of a JSON file; ValueError where it is none, or nested or long beyond reason."""
    with path.open("rb") as file:
        text = file.read(MOST_JSON + 1)
    if len(text) > MOST_JSON:
        raise ValueError(f"longer than {MOST_JSON:,} bytes")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested beyond reason") from None


def checksum(body: dict[str, Any]) -> str:
    """Hash of plain data, whatever the order of its keys."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _flush_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where the system lets a folder be opened."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
