"""Processes that lost their parents: how a run keeps hold of all that it started, and ends it.

A process may leave its group and its session, and its parent may end; where the system knows *subreapers*
(Linux), it is then given to the nearest one above it. A run is one, so that whatever it starts stays below it
and is counted and ended with it; the supervisor is one, so that what a dead run leaves comes to light.
"""

import ctypes
import os
import signal
from collections.abc import Collection
from contextlib import suppress

import psutil

_PDEATHSIG, _SUBREAPER = 1, 36  # of prctl(2), which Python does not offer
_ROUNDS = 50  # of looking for members of a tree that were started since the round before


def adopt() -> bool:
    """Become the parent of every descendant that loses its own; False where the system has no such thing."""
    return _prctl(_SUBREAPER, 1)


def end_with_parent(number: int = signal.SIGKILL) -> bool:
    """Be sent a signal when the parent ends, whatever this process is busy with."""
    return _prctl(_PDEATHSIG, number)


def end_descendants(pid: int) -> None:
    """End all that descends from a process; each is stopped first, so that none starts another meanwhile."""
    stopped: set[psutil.Process] = set()
    with suppress(psutil.Error):  # it ended while we looked
        root = psutil.Process(pid)
        for _ in range(_ROUNDS):
            fresh = set(root.children(recursive=True)) - stopped
            if not fresh:
                break
            for member in fresh:
                with suppress(psutil.Error):
                    member.suspend()
            stopped |= fresh
    for member in stopped:
        with suppress(psutil.Error):
            member.kill()


def end_tree(pid: int) -> None:
    """End a process and all that descends from it, itself last: what loses its parent may get away."""
    with suppress(psutil.Error):
        root = psutil.Process(pid)
        root.suspend()
        end_descendants(pid)
        root.kill()


def children() -> set[int]:
    """The children of this process."""
    return {child.pid for child in psutil.Process().children()}


def end_adopted(known: Collection[int]) -> None:
    """End every child of this process that is not known: what runs that are dead have left behind."""
    for number in children() - set(known):
        end_tree(number)
        with suppress(ChildProcessError):
            os.waitpid(number, os.WNOHANG)  # one that is not gone yet is met again


def _prctl(option: int, value: int) -> bool:
    try:
        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (AttributeError, OSError):  # not Linux
        return False
