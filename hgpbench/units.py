"""Durations and sizes as people write them: 2h, 90 min, 16GB."""

import math
import re

_SECONDS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BYTES |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_FLOAT_END = 10**308  # integers beyond it have no float
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)\s*")


def seconds(value: object) -> float:
    """A duration: a number of seconds, or text such as ``2h``, ``1h30m``, ``90 min``."""
    return _positive(_measure(value, _SECONDS, "a duration such as 90s, 30min, 2h or 1h30m"), "a duration")


def byte_count(value: object) -> int:
    """A size: a number of bytes, or text such as ``16GB`` or ``512 MiB``."""
    return int(_positive(_measure(value, _BYTES, "a size such as 500MB, 16GB or 8GiB"), "a size"))


def _measure(value: object, units: dict[str, float] | dict[str, int], allowed: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < _FLOAT_END else math.inf
    if not isinstance(value, str):
        raise ValueError(f"should be {allowed}")
    text, total, place = value.strip().lower(), 0.0, 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None or part[2] not in units:
            raise ValueError(f"{value!r} should be {allowed}")
        total += float(part[1]) * units[part[2]]
        place = part.end()
    return total


def _positive(value: float, what: str) -> float:
    if not 0 < value < float("inf"):
        raise ValueError(f"{what} must be positive and finite")
    return value


def show_seconds(value: float) -> str:
    """A duration to read: 0.42 s, 12.3 s, 4 min 10 s, 2 h 05 min."""
    if value < 100:
        return f"{value:.3g} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def show_bytes(value: float) -> str:
    """A size to read: 812 MB, 3.2 GB."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"
