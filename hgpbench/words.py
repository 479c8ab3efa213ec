"""Words for messages."""

import difflib
from collections.abc import Iterable


def nearest(word: str, allowed: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where something close is allowed, else nothing."""
    close = difflib.get_close_matches(word, list(allowed), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
