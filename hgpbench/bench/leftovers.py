"""What killed processes leave behind: half-written files, checkpoints of ended runs, folders of sockets."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import util
from pathlib import Path
from typing import IO

from hgpbench.bench import locks
from hgpbench.bench import record as records

OLD = 3600.0  # seconds after which a half-written file is nobody's any more
GRACE = 60.0  # seconds in which a folder that nobody holds may be one that is being made
_OURS = (records.RECORD, records.PREDICTIONS, records.CHECKPOINT)  # written under the run's lock only
_PREFIX, _LOCK = "hgp-", ".lock"


def sweep_parts(folder: Path) -> None:
    """Remove half-written files from a run's folder; the caller holds its lock."""
    for part in folder.glob(".*.part"):
        if part.name.startswith(tuple(f".{name}." for name in _OURS)) or _age(part) > OLD:
            part.unlink(missing_ok=True)


def sweep_finished(folder: Path) -> None:
    """Remove from a finished run's folder what only an unfinished one needs."""
    checkpoint = folder / records.CHECKPOINT
    if not checkpoint.exists() and next(folder.glob(".*.part"), None) is None:
        return
    lock = locks.hold(locks.of_run(folder))
    if lock is None:
        return
    with lock:
        sweep_parts(folder)
        record = records.find(folder)
        if record is not None and record.status == "done":
            checkpoint.unlink(missing_ok=True)


@contextmanager
def scratch_folder() -> Iterator[None]:
    """Temporary files made in this context go to a folder that a later command removes if we cannot."""
    sweep_scratch()
    home = Path(tempfile.mkdtemp(prefix=_PREFIX))
    # Held as long as this process lives: the sign by which others know that it does.
    lock = locks.hold(home / _LOCK)
    # After multiprocessing's own folder inside it (-100), which would complain if it were gone.
    util.Finalize(None, _remove, args=(home, lock), exitpriority=-200)
    before = tempfile.tempdir
    tempfile.tempdir = str(home)
    try:
        yield
    finally:
        tempfile.tempdir = before


def sweep_scratch() -> None:
    """Remove the folders of commands that were killed."""
    for home in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/"):
        with suppress(OSError):  # another user's, or gone
            if not (home / _LOCK).is_file() or _age(home) < GRACE:
                continue
            lock = locks.hold(home / _LOCK)
            if lock is not None:
                _remove(home, lock)


def _remove(home: Path, lock: IO[str] | None) -> None:
    """Remove a folder, and let go of its lock then."""
    shutil.rmtree(home, ignore_errors=True)
    if lock is not None:
        lock.close()


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
