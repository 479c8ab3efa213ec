"""A forced run replaces a finished one when it is done, and not before.

It runs in a folder beside. Once done, the old folder is set aside as ``…~1``, ``…~2`` and so on, and the new
one takes its place; whatever ends it before that, the old result stays where everybody looks for it.
"""

from pathlib import Path

from hgpbench.bench import record as records
from hgpbench.bench.record import Record


def place(folder: Path) -> Path:
    """Where a run works: in its folder, or beside it where that holds a finished one."""
    found = records.find(folder)
    return _beside(folder) if found is not None and found.status == "done" else folder


def settle(folder: Path) -> None:
    """Finish an exchange of folders that was killed between its two steps."""
    fresh = _beside(folder)
    if fresh.exists() and not folder.exists():
        found = records.find(fresh)
        if found is not None and found.status == "done":
            fresh.rename(folder)


def conclude(folder: Path, worked: Path, record: Record) -> None:
    """Let a result take its place; one that is not done is set aside itself, a killed one stays to go on."""
    if worked == folder or record.status == "killed":
        return
    if record.status == "done":
        folder.rename(_free(folder))
        worked.rename(folder)
    else:
        worked.rename(_free(folder))


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}~new")


def _free(folder: Path) -> Path:
    """The first name for a folder set aside that is not taken."""
    number = 1
    while (aside := folder.with_name(f"{folder.name}~{number}")).exists():
        number += 1
    return aside
