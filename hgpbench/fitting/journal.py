"""What a fit found out, stage by stage, so that a killed one finds none of it again.

Each stage is a function of the data and of what earlier stages found, and what lies between two of them is
made again from that. So the first results of a fit are a whole state of it, wherever it was stopped.
"""

from collections.abc import Callable

from hgpbench.fitting.checkpoint import Arrays, Checkpoint

Recall = Callable[[Callable[[], Arrays]], Arrays]
"""The result of the next stage: as an earlier attempt found it, or else as it is found now."""


def anew(find: Callable[[], Arrays]) -> Arrays:
    """Find it: nothing is kept."""
    return find()


class Journal:
    """The results of a fit's stages, in their order, as its checkpoint has and keeps them."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._results = _grouped(checkpoint.stored or {})
        self._next = 0

    def recall(self, find: Callable[[], Arrays]) -> Arrays:
        """See ``Recall``."""
        if self._next == len(self._results):
            self._results.append(find())
            self._checkpoint.offer(self._arrays)
        self._next += 1
        return self._results[self._next - 1]

    def _arrays(self) -> Arrays:
        return {
            f"{place}.{name}": array
            for place, result in enumerate(self._results)
            for name, array in result.items()
        }


def _grouped(arrays: Arrays) -> list[Arrays]:
    results: dict[int, Arrays] = {}
    for label, array in arrays.items():
        place, name = label.split(".", maxsplit=1)
        results.setdefault(int(place), {})[name] = array
    return [results[place] for place in sorted(results)]
