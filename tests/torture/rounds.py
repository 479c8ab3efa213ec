"""One round of the suite: where it works, what chance it has, how long, what it counts and complains of."""

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Round:
    """A round by its kind, its number and the seed of the whole: all that it draws follows from these."""

    kind: str
    number: int
    seed: int
    folder: Path
    deadline: float  # of time.monotonic; nothing new is begun after it
    counts: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.chance = random.Random(f"{self.seed} {self.number} {self.kind}")

    def expect(self, holds: bool, complaint: str) -> bool:
        """Note a promise that was not kept; the round goes on, to see what else is wrong."""
        if not holds:
            self.complaints.append(complaint)
        return holds

    def note(self, event: str) -> None:
        """Keep what happened when, for whoever looks into the folder of a round that went wrong."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "journal.txt").open("a") as journal:
            journal.write(f"{time.monotonic() - self.began:8.2f} {event}\n")

    def has_time(self) -> bool:
        return time.monotonic() < self.deadline
