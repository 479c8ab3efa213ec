"""Counts of the suite: shown while it goes, kept in a file, added up over several turns, printed in the docs."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENT = REPOSITORY / "docs/trust.md"
BEGIN, END = "<!-- torture: begin -->\n", "<!-- torture: end -->\n"


@dataclass
class Tally:
    """One turn of the suite, or several."""

    date: str
    commit: str
    seeds: list[int]
    minutes: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    violations: int = 0

    def add(self, counts: Counter[str], violations: int) -> None:
        self.counts = dict(Counter(self.counts) + counts)
        self.violations += violations

    def lines(self) -> list[str]:
        """Every count, by name."""
        return [f"{self.counts[name]:>9,}  {name}" for name in sorted(self.counts, key=str.lower)]

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    def table(self) -> str:
        """A section of the docs."""
        seeds = ", ".join(map(str, self.seeds))
        rows = "".join(f"| {name} | {self.counts[name]:,} |\n" for name in sorted(self.counts, key=str.lower))
        return (
            f"{self.date}, commit {self.commit}, {self.minutes:.0f} minutes, "
            f"seed{'s' * (len(self.seeds) > 1)} {seeds}:\n\n"
            f"| what | how many |\n|---|---:|\n{rows}| **violations** | **{self.violations:,}** |\n"
        )


def today(seed: int) -> Tally:
    """An empty one."""
    words = ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty", "--abbrev=10"]
    commit = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return Tally(datetime.now(UTC).date().isoformat(), commit or "unknown", [seed])


def sum_of(tallies: list[Tally]) -> Tally:
    """Several turns as one; commits and seeds are all named."""
    whole = Tally(tallies[-1].date, ", ".join(dict.fromkeys(each.commit for each in tallies)), [])
    for each in tallies:
        whole.seeds += each.seeds
        whole.minutes += each.minutes
        whole.add(Counter(each.counts), each.violations)
    return whole


def with_table(document: str, tally: Tally) -> str:
    """A document with its table of counts replaced."""
    marked = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    fresh, times = marked.subn(lambda _: BEGIN + tally.table() + END, document)
    if times != 1:
        raise ValueError(f"the document must have one place between {BEGIN.strip()} and {END.strip()}")
    return fresh


def main(paths: list[str]) -> None:
    """Put the sum of these files into docs/trust.md."""
    whole = sum_of([Tally(**json.loads(Path(path).read_text())) for path in paths])
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(), whole))
    sys.stdout.write(whole.table())


if __name__ == "__main__":
    main(sys.argv[1:])
