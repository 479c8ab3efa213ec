"""Which workers of a cluster are given runs: those with which there was trouble rest for a while.

A full disk is no run's fault, and does not go away by itself: a worker that has one would take run after run,
quicker than the others do them, and each would count as lost. What passes does so soon.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from hgpbench.cluster import Worker

REST = 5.0  # seconds after the first trouble, twice as long after each that follows ...
MOST_DOUBLINGS = 7  # ... up to ten minutes


@dataclass
class Trust:
    """Troubles of workers, by their folders: another one at the same address has had none."""

    clock: Callable[[], float] = time.monotonic
    _troubles: dict[str, int] = field(default_factory=dict)  # in a row
    _until: dict[str, float] = field(default_factory=dict)

    def trouble(self, folder: str) -> None:
        """A run was not done there."""
        times = self._troubles.get(folder, 0)
        self._troubles[folder] = times + 1
        self._until[folder] = self.clock() + REST * 2.0 ** min(times, MOST_DOUBLINGS)

    def success(self, folder: str) -> None:
        """One was."""
        self._troubles.pop(folder, None)
        self._until.pop(folder, None)

    def chosen(self, workers: dict[str, Worker], avoided: Collection[str]) -> dict[str, Worker]:
        """Those for a run that had trouble in the folders ``avoided``; all of them where nobody else is left.

        One that is busy is better waited for than one that would lose the run again.
        """
        others = {a: worker for a, worker in workers.items() if worker.folder not in avoided}
        rested = {a: w for a, w in others.items() if self._until.get(w.folder, 0.0) <= self.clock()}
        return rested or others or workers
