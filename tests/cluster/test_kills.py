"""SIGKILLs at random moments, of everything that takes part: nothing finished is lost or done twice, and all
bits are those of a calm machine.

HGPBENCH_CLUSTER_KILLS says how many in each of the two tests (10), HGPBENCH_CLUSTER_SEED repeats their draws.
"""

import os
import random
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from numpy.testing import assert_array_equal

from hgpbench.models import DVSHGP
from tests.cluster.conftest import COUNTS, write
from tests.cluster.machines import PATIENCE, Machines
from tests.cluster.test_failures import attempts, same_as, start, stored
from tests.experts.crowd import Crowd
from tests.models.zoo import draw

distributed = pytest.importorskip("distributed", reason="clusters need dask.distributed")

KILLS = int(os.environ.get("HGPBENCH_CLUSTER_KILLS", "10"))
SEED = int(os.environ.get("HGPBENCH_CLUSTER_SEED", "0"))
# Of a machine, of a worker's process (Dask starts it again), of the supervisor there, of the run itself.
WEIGHTS = {"run": 8.0, "supervisor": 2.0, "worker": 3.0, "machine": 3.0, "command": 1.5, "scheduler": 0.7}
MODELS = """
    a: {model: "troubles:Plain", pause: 2.0}
    b: {model: dvshgp, n_experts: 2, optimizer: "natural(n_passes=2)", n_jobs: 1}
    c: {model: "troubles:Plain", shift: 1.0, pause: 1.0}
"""
RUNS = 12
MOST_AT_ONCE = 15  # blows under one command, before it may end
ALLOWED = {"": {0, 3}, "command": {-signal.SIGKILL}, "scheduler": {0, 2, 3}}
GONE = re.compile(r"is gone, or cannot be reached any more|no scheduler of Dask answers")
DONE = re.compile(r"^done +(\S+ seed \d+)", re.MULTILINE)


class Killer:
    """Draws whom to kill and when, and counts."""

    def __init__(self, name: str) -> None:
        self.chance = random.Random(f"{SEED} {name}")
        self.counts = Counter[str]()

    @property
    def done(self) -> bool:
        return self.counts.total() >= KILLS

    def wait(self, mean: float) -> None:
        time.sleep(self.chance.expovariate(1.0 / mean))

    def tell(self, config: pytest.Config, name: str) -> None:
        """A line for the end of the session."""
        parts = ", ".join(f"{kind} {count}" for kind, count in sorted(self.counts.items()))
        line = f"{name}, seed {SEED}: {self.counts.total()} kills ({parts})"
        config.stash.setdefault(COUNTS, []).append(line)


def victims(machines: Machines, kind: str) -> list[psutil.Process]:
    """The processes of this kind on all machines."""
    found = []
    for name in "abc":
        for process in machines.known[name].members():
            try:
                words, parent = " ".join(process.cmdline()), process.parent()
                served = parent is not None and "forkserver" in " ".join(parent.cmdline())
            except psutil.Error:  # it has just ended
                continue
            is_kind = {
                "worker": "spawn_main" in words,
                "supervisor": "bench.deputy" in words,
                "run": served and "resource_tracker" not in words,
            }
            found += [process] if is_kind[kind] else []
    return found


def strike(machines: Machines, command: "subprocess.Popen[str]", killer: Killer) -> str:
    """Kill somebody; whom, or nothing where there is none of that kind just now."""
    kind = killer.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    if kind == "command":
        command.kill()
    elif kind == "scheduler":
        machines.known["scheduler"].kill()
    elif kind == "machine":
        name = killer.chance.choice("abc")
        if not machines.known[name].lives():
            return ""
        machines.known[name].kill()
        machines.worker(name)
    else:
        there = victims(machines, kind)
        if not there:  # nothing has started yet, or it has just been killed
            kind, there = "worker", victims(machines, "worker")
        try:
            killer.chance.choice(there).kill()
        except (IndexError, psutil.Error):
            return ""
    killer.counts[kind] += 1
    return kind


def disturbed(machines: Machines, killer: Killer) -> tuple[str, str]:
    """A command that is struck again and again: who ended it, and what it said of its runs."""
    command = start("run", "mine.yaml", "--cluster", machines.address)
    ended_by = ""
    for _ in range(killer.chance.randint(1, MOST_AT_ONCE)):
        killer.wait(killer.chance.choice((0.2, 1.0, 3.0)))
        if killer.done or command.poll() is not None:
            break
        ended_by = strike(machines, command, killer)
        if ended_by in ("command", "scheduler"):
            break
        ended_by = ""
    output, errors = command.communicate(timeout=PATIENCE)
    assert command.returncode in ALLOWED[ended_by], (ended_by, output, errors)
    assert "Traceback" not in output + errors, errors
    if command.returncode == 2:
        assert GONE.search(errors.splitlines()[-1]), errors
    return ended_by, errors


def test_runs_end_in_the_same_table_whatever_is_killed(
    workplace: Path, machines: Machines, pytestconfig: pytest.Config
) -> None:
    write(workplace, MODELS, f"repeats: {RUNS // 3}\n")
    one = start("run", "mine.yaml", "--jobs", "2", "--out", "calm")
    assert one.communicate(timeout=PATIENCE)[0].startswith(f"{RUNS} done"), one.returncode
    killer, rounds = Killer("runs"), 0
    while not killer.done:
        told, before = Counter[str](), dict[str, str]()
        while len(before) < RUNS:
            machines.up("abc")
            ended_by, errors = disturbed(machines, killer)
            told.update(DONE.findall(errors))
            now = attempts()
            assert before.items() <= now.items(), f"lost or done again after a killed {ended_by or 'run'}"
            for row in stored().values() if now else ():
                assert row.status in ("done", "killed"), (row.status, row.reason)
            before = now
        assert not [run for run, times in told.items() if times > 1], told
        same_as(Path("calm"))
        assert not list(Path("results").rglob("*.part"))
        rounds += 1
        Path("results").rename(f"results-{rounds}")
    killer.tell(pytestconfig, f"{rounds} experiments of {RUNS} runs")


@contextmanager
def crowd() -> Iterator[Crowd]:
    scheduler = distributed.LocalCluster(
        n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=60
    )
    with scheduler:
        there = Crowd(scheduler)
        try:
            yield there
        finally:
            there.close()


def test_fits_have_the_same_bits_whoever_is_killed(pytestconfig: pytest.Config) -> None:
    settings: dict[str, Any] = {
        "expert_size": 20,
        "n_inducing_f": 8,
        "n_inducing_g": 6,
        "optimizer": "natural(n_passes=12)",
        "random_state": 0,
    }
    X, y = draw(400)
    expected, killer, fits = DVSHGP(**settings).fit(X, y), Killer("fits"), 0
    with crowd() as there:
        while not killer.done:
            there.have(3)
            snapshot_every = killer.chance.choice((0.0, 0.3, 1000.0))
            model = DVSHGP(cluster=there.client, snapshot_every=snapshot_every, **settings)
            fits += 1
            over, most = threading.Event(), killer.chance.randint(1, 5)

            def kill(over: threading.Event = over, most: int = most) -> None:
                for _ in range(most):
                    if killer.done or over.wait(killer.chance.expovariate(1.0)):
                        return
                    there.kill(killer.chance.randrange(3))
                    killer.counts["worker"] += 1
                    there.have(3)

            killing = threading.Thread(target=kill)
            killing.start()
            try:
                found = model.fit(X, y)
            finally:
                over.set()
                killing.join()
            assert_array_equal(found._experts.flat, expected._experts.flat)
            assert_array_equal(
                np.concatenate(found._experts.states), np.concatenate(expected._experts.states)
            )
            assert_array_equal(found.trace_[:, 2], expected.trace_[:, 2])
    killer.tell(pytestconfig, f"{fits} fits")
