"""Progress from a run to its supervisor: one line of JSON each, on a socket that neither of them waits for.

A run's process is the model's as well, and a model may write anything on any descriptor, or close it. So the
supervisor reads what is there, never more than a little at a time, and believes a line only where it is one.
"""

import json
import math
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

REPORT_EVERY = 0.2  # seconds between progress lines
PHASES = ("fit", "predict")
_MOST = 1 << 16  # bytes read in one look
_LINE = 1 << 10  # bytes of the longest line that is progress
_LARGEST = 1e15  # steps: beyond this a count is no count


@dataclass(frozen=True)
class Told:
    """How far a run is, as far as it says."""

    phase: str
    step: float = 0.0
    total: float | None = None
    bound: float | None = None


class Reporter:
    """Progress towards the supervisor, not more often than a reader can use."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._last = ("", 0.0)

    def __call__(self, phase: str, step: Any, total: Any, bound: Any) -> None:
        now = time.monotonic()
        if phase == self._last[0] and now - self._last[1] < REPORT_EVERY:
            return
        self._last = (phase, now)
        line = json.dumps(asdict(_told(phase, step, total, bound)))
        with suppress(OSError):  # the reader is slow, or the model closed the channel: progress is no result
            self._channel.send(f"{line}\n".encode(), socket.MSG_DONTWAIT)


@dataclass
class Listener:
    """The supervisor's end of one channel."""

    channel: socket.socket
    _rest: bytes = field(default=b"")

    def latest(self) -> Told | None:
        """What the run told last since the last look, if anything that makes sense."""
        try:
            fresh = self.channel.recv(_MOST, socket.MSG_DONTWAIT)
        except OSError:  # nothing there, or it ended while we listened
            return None
        *lines, rest = (self._rest + fresh).split(b"\n")
        self._rest = rest[: _LINE + 1]  # one byte more tells that the line is too long
        return next((told for line in reversed(lines) if (told := _parsed(line))), None)


def _parsed(line: bytes) -> Told | None:
    if len(line) > _LINE:
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("phase") not in PHASES:
        return None
    return _told(found["phase"], found.get("step"), found.get("total"), found.get("bound"))


def _told(phase: str, step: Any, total: Any, bound: Any) -> Told:
    return Told(phase, _count(step) or 0.0, _count(total), _number(bound))


def _count(value: Any) -> float | None:
    number = _number(value)
    return number if number is not None and 0 <= number <= _LARGEST else None


def _number(value: Any) -> float | None:
    """A finite number, or None for whatever else a callback may be given."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
