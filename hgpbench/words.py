"""Words for messages, and foreign text made fit to be shown."""

import difflib
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

# Control characters begin escape sequences; lone surrogates fit no encoding; the rest turn or hide text.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
_BREAKS = re.compile(r"\s*[\n\r]\s*|\t")
SEVERAL = "+"
"""Between an experiment's name and that of one of its several datasets, in the name of their results."""
_MOST_COMPARED = 2_000  # words to choose the nearest from, and letters of each


def nearest(word: str, allowed: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where something close is allowed, else nothing."""
    choice = [each for each in islice(allowed, _MOST_COMPARED) if len(each) < _MOST_COMPARED]
    close = difflib.get_close_matches(word[:_MOST_COMPARED], choice, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def listed(names: Iterable[str], most: int = 100) -> str:
    """Names with commas between them; of very many the first ones and how many follow."""
    every = list(names)
    rest = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + rest


def printable(text: str, lines: bool = False) -> str:
    """Foreign text as it may be shown anywhere: what a terminal or a page would obey is spelled out.

    One line, unless the text is meant to have several.
    """
    text = text.replace("\r\n", "\n") if lines else _BREAKS.sub(" ", text)
    return _CONTROLS.sub(_spelled, text)


def printable_all(value: Any) -> Any:
    """Plain data of a file with every text in it made printable, keys as well."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable_all(key): printable_all(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [printable_all(each) for each in value]
    return value


def _spelled(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
