"""Independent pieces of work, run in whichever way the caller has at hand."""

from collections.abc import Callable, Sequence

Task = Callable[[], None]
Run = Callable[[Sequence[Task]], None]
"""Runs independent tasks, in any order or at the same time, and returns when all are done."""


def serially(tasks: Sequence[Task]) -> None:
    """One after the other."""
    for task in tasks:
        task()
