"""A folder of one's own beside the target: lock, scratch space and its own clean-up."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hgpbench.errors import DataError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def workspace(target: Path) -> Iterator[Path]:
    """Hold the right to write ``target`` and a scratch folder next to it, which always goes away.

    The scratch folder is itself the lock (flock), so a killed process leaves no lock behind, only files that
    the next one removes.
    """
    new_folder = not target.parent.exists()
    scratch = target.parent / f".{target.name}.fetch"
    handle = None
    try:
        handle = _lock(scratch, target)
        _remove_leftovers(scratch, target)
        _sweep(target.parent, scratch)
        yield scratch
    except OSError as error:
        raise DataError(_explain(error, target)) from error
    finally:
        if handle is not None:
            shutil.rmtree(scratch, ignore_errors=True)
            os.close(handle)
        if new_folder and target.parent.is_dir() and not any(target.parent.iterdir()):
            target.parent.rmdir()


def _lock(scratch: Path, target: Path) -> int:
    while True:
        scratch.mkdir(parents=True, exist_ok=True)
        if scratch.is_symlink():  # whatever it leads to is not ours to empty
            raise DataError(f"{scratch}: is a symbolic link where a folder of ours should be; remove it")
        try:
            handle = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:  # another fetch took it for a leftover
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise DataError(
                f"{target}: another fetch is writing it at this moment; wait until that one has ended"
            ) from None
        if _is_still(scratch, handle):
            return handle
        os.close(handle)  # its holder finished and removed it between our two calls


def _is_still(scratch: Path, handle: int) -> bool:
    try:
        return os.path.samestat(scratch.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _remove_leftovers(scratch: Path, target: Path) -> None:
    """What a killed process left: its scratch files, and its half-written target."""
    for old in scratch.iterdir():
        old.unlink()
    for part in target.parent.glob(f".{target.name}.*.part"):
        part.unlink()


def _sweep(folder: Path, ours: Path) -> None:
    """Remove the scratch folders that killed fetches of other datasets left; a living one holds its lock."""
    for left in folder.glob(".*.h5.fetch"):
        if left == ours or left.is_symlink() or not left.is_dir():
            continue
        with suppress(BlockingIOError, FileNotFoundError), _opened(left) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield handle
    finally:
        os.close(handle)


def _explain(error: OSError, target: Path) -> str:
    # HDF5 gives the number only inside its message.
    full = error.errno in _FULL or any(f"errno = {number}," in str(error) for number in _FULL)
    if full:
        return (
            f"{target}: no space left on the disk; nothing was written: free some space, "
            f"or set HGPBENCH_DATA to a folder on another disk"
        )
    where = f" ({error.filename})" if error.filename else ""
    return f"{target}: cannot be made: {error.strerror or error}{where}"
