"""Odd files of every kind, in a process of its own: one that hangs or eats the memory is a finding, not the end."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import fuzzing
from tests.torture.rounds import Round

CASES = 150  # of each kind in a round
PATIENCE = 900.0  # seconds
MEMORY = 6 << 30  # bytes of address space

REPOSITORY = Path(__file__).resolve().parents[2]


def perform(around: Round) -> None:
    """So many cases of every kind, from a seed of this round alone."""
    seed = around.chance.randrange(2**31)
    folder = around.folder / "fuzz"
    folder.mkdir(parents=True)
    words = [sys.executable, "-m", "tests.torture.fuzz", str(seed), str(CASES), str(folder)]
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


def main(seed: int, count: int, folder: Path) -> None:
    """The process itself: each kind to its end or to its first complaint."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    tempfile.tempdir = str(folder)
    inputs, complaints = dict[str, int](), list[str]()
    for kind in fuzzing.KINDS:
        try:
            fuzzing.run(seed, count, folder, (kind,))
        except AssertionError as error:
            complaints.append(str(error))
        else:
            inputs[kind] = fuzzing.cases_of(kind, count)
    sys.stdout.write(json.dumps({"inputs": inputs, "complaints": complaints}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
