"""Files that vouch for themselves: a title and a hash of all that follows, where HDF5 leaves room."""

import hashlib
from io import BufferedIOBase
from pathlib import Path
from typing import Literal

SEAL_BYTES = 512  # HDF5 leaves them to its user: a user block

State = Literal["whole", "damaged", "other"]


def seal(path: Path, title: str) -> None:
    """Write the seal of a file whose first ``SEAL_BYTES`` are free."""
    with path.open("r+b") as file:
        first = _seal(file, title)
        file.seek(0)
        file.write(first)


def state(path: Path, title: str) -> State:
    """Whether a file is as it was sealed, is damaged, or was never sealed under this title."""
    with path.open("rb") as file:
        first = file.read(SEAL_BYTES)
        if not first.startswith(_line(title)):
            return "other"
        return "whole" if first == _seal(file, title) else "damaged"


def _line(title: str) -> bytes:
    return f"{title}\n".encode()


def _seal(file: BufferedIOBase, title: str) -> bytes:
    file.seek(SEAL_BYTES)
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    return (_line(title) + f"{digest}\n".encode()).ljust(SEAL_BYTES, b"\0")
