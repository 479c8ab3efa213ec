"""The torture suite: kills, crowds, odd files and hostile models, round after round, from a seed.

``make torture`` is its command. ``TORTURE_MINUTES`` bounds it, ``TORTURE_SEED`` repeats what another turn drew
(moments of kills are the machine's), ``TORTURE_ROUND`` performs one round alone. Folders of rounds in which a
promise was broken are kept.
"""

import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from subprocess import SubprocessError

import psutil

from hgpbench.errors import HgpbenchError
from tests.torture import fuzz, hostile, kills, tally, together
from tests.torture.rounds import Round

MINUTES = 20.0
TELL_EVERY = 180.0  # seconds
SUMMARY = tally.REPOSITORY / "build/torture"
KINDS: dict[str, Callable[[Round], None]] = {
    "kills": kills.perform,
    "fuzz": fuzz.perform,
    "together": together.perform,
    "hostile": hostile.perform,
}
# A hang, a stored file that cannot be read, or a defect of the suite: told with its traceback, and the rest goes on.
UNFORESEEN = (HgpbenchError, OSError, ValueError, LookupError, TypeError, SubprocessError, psutil.Error)
ORDER = ("kills", "fuzz", "together", "hostile", "kills", "fuzz")


def main() -> int:
    """Rounds until the time is out; 1 where any promise was broken."""
    minutes = float(os.environ.get("TORTURE_MINUTES", MINUTES))
    seed = int(os.environ.get("TORTURE_SEED") or random.SystemRandom().randrange(10**6))
    alone = os.environ.get("TORTURE_ROUND")
    say(f"torture: {minutes:g} minutes; repeat with TORTURE_SEED={seed}")
    home = Path(tempfile.mkdtemp(prefix="torture-"))
    counts, start = tally.today(seed), time.monotonic()
    end, told, number = start + 60 * minutes, start, int(alone or 0)
    while (now := time.monotonic()) < end:
        # A short turn has time for every kind as well.
        violations = perform(number, seed, home, min(end, now + 60 * minutes / len(KINDS)), counts)
        counts.minutes = (time.monotonic() - start) / 60
        counts.write(SUMMARY / f"{seed}.json")
        if time.monotonic() - told > TELL_EVERY or violations:
            told = time.monotonic()
            say(f"after {counts.minutes:.1f} minutes, {number + 1} rounds:", *counts.lines())
        number += 1
        if alone is not None:
            break
    say(f"{counts.minutes:.1f} minutes, seed {seed}:", *counts.lines())
    if not counts.violations:
        shutil.rmtree(home)
        say("no promise was broken")
        return 0
    say(f"{counts.violations} promises were broken; see above, and {home}")
    return 1


def perform(number: int, seed: int, home: Path, end: float, counts: tally.Tally) -> int:
    """One round; how many promises it found broken."""
    kind = ORDER[number % len(ORDER)]
    around = Round(kind, number, seed, home / f"{number:04}-{kind}", end)
    try:
        KINDS[kind](around)
    except UNFORESEEN:
        around.complaints.append(traceback.format_exc())
    around.counts[f"rounds of {kind}"] += 1
    counts.add(around.counts, len(around.complaints))
    for complaint in around.complaints:
        say(
            f"BROKEN: TORTURE_SEED={seed} TORTURE_ROUND={number} ({kind}), kept in {around.folder}: {complaint}"
        )
    if not around.complaints:
        shutil.rmtree(around.folder, ignore_errors=True)
    return len(around.complaints)


def say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
