"""Locks on files: held by an open file, so that the system lets go of them whenever their holder ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hgpbench.errors import RecordError

PATIENCE = 60.0  # seconds to wait for a lock that others hold for milliseconds
RETRY_EVERY = 0.02  # seconds


def of_run(folder: Path) -> Path:
    """The lock of a run: beside its folder, which --force exchanges for another."""
    return folder.with_name(f".{folder.name}.lock")


def hold(path: Path) -> IO[str] | None:
    """Hold a lock until the file is closed; None where another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A link is not followed: whatever it points to is none of ours.
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), "r+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


@contextmanager
def holding(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold a lock while the context lasts, waiting for it a while."""
    deadline = time.monotonic() + patience
    while (file := hold(path)) is None:
        if time.monotonic() > deadline:
            raise RecordError(f"{path}: another process holds this lock; wait for it or end it")
        time.sleep(RETRY_EVERY)
    with file:
        yield
