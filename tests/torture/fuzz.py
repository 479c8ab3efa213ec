"""Odd files of every kind, in a process of its own: one that hangs or eats the memory is a finding, not the end."""

import itertools
import json
import logging
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests import fuzzing
from tests.torture.rounds import Round

BATCHES, CASES = 8, 50  # of a round, and of each kind in a batch
PATIENCE = 1800.0  # seconds that a round may take at most; a case that hangs is found by it
MEMORY = 6 << 30  # bytes of address space

REPOSITORY = Path(__file__).resolve().parents[2]


def perform(around: Round) -> None:
    """Batches of every kind until the time is out, from a seed of this round alone."""
    seed = around.chance.randrange(2**31)
    folder = around.folder / "fuzz"
    folder.mkdir(parents=True)
    seconds = around.deadline - time.monotonic()
    words = [sys.executable, "-m", "tests.torture.fuzz", str(seed), str(seconds), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OPENBLAS_NUM_THREADS": "1"}
    for name in ("HGPBENCH_DATA", "HGPBENCH_MIRROR"):
        environment.pop(name, None)
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        around.expect(False, f"fuzz with seed {seed} hangs")
        return
    if not around.expect(done.returncode == 0, f"fuzz with seed {seed}: {done.stderr[-4000:]}"):
        return
    found = json.loads(done.stdout)
    for kind, number in found["inputs"].items():
        around.counts["fuzzed inputs"] += number
        around.counts[f"fuzzed {kind}"] += number
    for complaint in found["complaints"]:
        around.expect(False, f"fuzz: {complaint}")


def main(seed: int, seconds: float, folder: Path) -> None:
    """The process itself: each batch of a kind to its end or to its first complaint."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    tempfile.tempdir = str(folder)
    logging.disable()  # each damaged checkpoint is worth a warning elsewhere
    end, inputs, complaints = time.monotonic() + seconds, Counter[str](), list[str]()
    for batch, kind in itertools.product(range(BATCHES), fuzzing.KINDS):
        if time.monotonic() > end:
            break
        try:
            fuzzing.run(seed + batch, CASES, folder / str(batch), (kind,))
        except AssertionError as error:
            complaints.append(str(error))
        else:
            inputs[kind] += fuzzing.cases_of(kind, CASES)
        shutil.rmtree(folder / str(batch))
    sys.stdout.write(json.dumps({"inputs": inputs, "complaints": complaints}))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))
