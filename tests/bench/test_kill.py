"""SIGKILL at random moments: nothing finished is lost, recomputed or believed when broken."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from tests.bench.conftest import Command

KILLS = 21
VICTIMS = ("supervisor", "run", "both")


def test_killed_commands_resume(hgpbench: Command, experiment: Callable[..., Path]) -> None:
    experiment(
        'a: {model: "troubles:Plain", pause: 0.15}\nb: {model: "troubles:Plain", shift: 1.0, pause: 0.3}',
        "repeats: 30\n",
    )
    undisturbed = hgpbench("run", "mine.yaml", "--out", "calm", "--jobs", "2")
    assert undisturbed.stdout.splitlines()[-1] == "60 done, 0 cached, 0 failed, 0 skipped"

    chance = random.Random(0)
    finished: dict[str, str] = {}
    for kill in range(KILLS):
        disturb(chance, VICTIMS[kill % len(VICTIMS)])
        found = finished_attempts()
        assert {folder: found.get(folder) for folder in finished} == finished, (
            "a finished run was lost or run again"
        )
        finished = found
    last = hgpbench("run", "mine.yaml", "--jobs", "2")
    assert last.returncode == 0
    counts = last.stdout.splitlines()[-1].split()
    assert (int(counts[0]) + int(counts[2]), counts[4]) == (60, "0"), counts
    found = finished_attempts()
    assert {folder: found[folder] for folder in finished} == finished
    same_as_undisturbed()


def disturb(chance: random.Random, victim: str) -> None:
    """Start the command, wait until runs are under way, kill after a random while."""
    command = [sys.executable, "-m", "hgpbench", "run", "mine.yaml", "--jobs", "2"]
    parent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    supervisor = psutil.Process(parent.pid)
    while parent.poll() is None and not runs_of(supervisor):
        time.sleep(0.005)
    time.sleep(chance.uniform(0.0, 0.5))
    runs = runs_of(supervisor)
    if victim != "run":
        parent.send_signal(signal.SIGKILL)
    if victim != "supervisor":
        for run in runs:
            if run.is_running():
                run.kill()
    if victim == "run":  # it goes on with the others; end it some other time
        time.sleep(chance.uniform(0.0, 0.3))
        parent.send_signal(signal.SIGKILL)
    parent.wait()
    psutil.wait_procs(runs, timeout=60)


def runs_of(supervisor: psutil.Process) -> list[psutil.Process]:
    try:
        return [run for server in supervisor.children() for run in server.children()]
    except psutil.NoSuchProcess:
        return []


def finished_attempts(root: Path = Path("results")) -> dict[str, str]:
    """Attempt of every finished run; a folder without a valid record is not finished."""
    found = {}
    for folder in root.glob("runs/*/*/*/"):
        record = records.find(folder)
        if record is not None and record.status == "done":
            found[str(folder)] = record.provenance["attempt"]
    return found


def same_as_undisturbed() -> None:
    calm, results = Path("calm"), Path("results")
    expected, actual = manifests.read(calm / "mine"), manifests.read(results / "mine")
    assert expected == actual
    for entry in expected.entries:
        one, two = records.read_arrays(calm / entry.folder), records.read_arrays(results / entry.folder)
        np.testing.assert_array_equal(one.y, two.y)
        for name, values in one.prediction.arrays().items():
            np.testing.assert_array_equal(values, two.prediction.arrays()[name])
