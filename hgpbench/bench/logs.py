"""The log of a run, bounded: its beginning and its end are kept."""

import os
from contextlib import suppress
from pathlib import Path

from hgpbench.bench.record import LOG

LIMIT = 4 << 20  # bytes above which the middle is taken out
HEAD = TAIL = 256 << 10


def redirect(folder: Path) -> None:
    """Send what this process prints to a new log; appending, so that it can be shortened meanwhile."""
    path = folder / LOG
    path.unlink(missing_ok=True)  # a link in its place is removed, not followed
    number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        os.dup2(number, 1)
        os.dup2(number, 2)
    finally:
        os.close(number)


def shorten(folder: Path) -> None:
    """Take the middle out of a log that has grown too long."""
    with suppress(OSError):  # no log yet, or no room: it is not worth a run
        number = os.open(folder / LOG, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        try:
            size = os.fstat(number).st_size
            if size > LIMIT:
                tail = os.pread(number, TAIL, size - TAIL)
                os.ftruncate(number, HEAD)
                os.write(number, f"\n... {size - HEAD - TAIL:,} bytes left out ...\n".encode() + tail)
        finally:
            os.close(number)
