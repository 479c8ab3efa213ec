"""Memory and processor time of a process and all that it started: for limits, and peaks in a record."""

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

import psutil

SAMPLE_EVERY = 0.5  # seconds; a look costs a few milliseconds


@dataclass(frozen=True)
class Usage:
    """Of a process and all its descendants: resident bytes, and seconds of processor time so far."""

    memory: int = 0
    seconds: float = 0.0


def usage(pid: int | None) -> Usage:
    """What a process and its descendants use; the seconds of children that ended are their parents'."""
    memory, seconds = 0, 0.0
    with suppress(psutil.Error):  # it ended while we looked
        root = psutil.Process(pid)
        for member in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                memory += member.memory_info().rss
                seconds += sum(member.cpu_times()[:4])  # user and system, its own and its ended children's
    return Usage(memory, seconds)


def resident(pid: int | None) -> int:
    """Resident memory of a process and all its descendants, in bytes."""
    return usage(pid).memory


class Meter:
    """Watches this process and its workers while the context lasts; ``peak`` is the most that was seen."""

    def __init__(self) -> None:
        self.peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Meter":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_EVERY if self.peak else 0.0):
            self.peak = max(self.peak, resident(os.getpid()))
