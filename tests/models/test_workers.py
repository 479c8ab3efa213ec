"""Experts in other processes: the same bits, no orphans, clear ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from numpy.testing import assert_array_equal

from hgpbench.errors import FitError
from hgpbench.models import DVSHGP, distributed, dvshgp, workers
from hgpbench.models.distributed import triers
from hgpbench.models.experts import Step, shared_layout
from hgpbench.models.question import Question
from hgpbench.models.shard import Rows
from hgpbench.models.workers import Processes, Serial, open_workers
from tests.models.zoo import draw

FLAT = shared_layout(2).pack(
    {
        "s2_kf": np.asarray(1.0),
        "ell_f": np.ones(2),
        "s2_kg": np.asarray(1.0),
        "ell_g": np.ones(2),
        "mu0": np.asarray(-1.5),
    }
)


@pytest.fixture(scope="module")
def rows() -> Rows:
    X, y = draw(200)
    return Rows(X, y, np.arange(0, 201, 20))


def story(workers: Serial | Processes) -> list[np.ndarray]:
    """A short fit: what came back, and what the experts are at its end."""
    answers = [*workers.ask("place", range(10), 8, 5, 0)]
    for batch in ([0, 5, 2, 3], [4, 1, 6, 7], [8, 9], [3, 8, 1]):
        answers += workers.ask("visit", batch, FLAT, Step(0.02, 0.7))
    answers += workers.ask("settle", [7, 3], FLAT, 2)
    question = Question("fg", "rbcm", draw(50, seed=1)[0], 1e-4, 100.0, 10)
    return (
        answers + workers.ask("confer", range(4), 4, FLAT, question) + workers.ask("state", range(10), True)
    )


def test_two_workers_compute_the_same_bits_as_one_and_end_with_the_context(rows: Rows) -> None:
    with Serial(rows) as serial:
        expected = story(serial)
    with Processes(rows, 4, 2) as processes:
        children = [psutil.Process(worker._process.pid) for worker in processes._workers]
        for found, answer in zip(story(processes), expected, strict=True):
            assert_array_equal(found, answer)
        assert all(child.is_running() for child in children)
    assert not any(child.is_running() for child in children)


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, [4, 4]), (1, [1, 1]), (3, [3, 3])])
def test_large_problems_are_shared_among_the_workers_allowed(
    n_jobs: int | None, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []

    def record(rows: Rows, lanes: int, n_workers: int) -> Serial:
        opened.append(n_workers)
        return Serial(rows)

    monkeypatch.setattr(distributed, "open_workers", record)
    monkeypatch.setattr(dvshgp, "allowed_cores", lambda: 4)
    X, y = draw(100)
    model = DVSHGP(n_experts=4, n_inducing_f=8, n_inducing_g=6, n_passes=1, n_jobs=n_jobs, random_state=0)
    model.fit(X, y).predict(X)
    assert opened == [1, 1], "processes for a small problem cost more than they save"
    monkeypatch.setattr(dvshgp, "WORTH_WORKERS", 0)
    model.fit(X, y).predict(X)
    assert opened[2:] == expected


def test_one_worker_or_one_lane_needs_no_process(rows: Rows) -> None:
    assert isinstance(open_workers(rows, 4, 1), Serial)
    assert isinstance(open_workers(rows, 1, 8), Serial)


def test_a_worker_that_dies_is_told(rows: Rows) -> None:
    with Processes(rows, 4, 1) as processes:
        os.kill(processes._workers[0]._process.pid, signal.SIGKILL)
        with pytest.raises(FitError, match=r"exit code -9, perhaps for want of memory.*n_jobs=1"):
            processes.ask("place", range(4), 4, 4, 0)


SCRIPT = """
import numpy as np
from hgpbench.models.shard import Rows
from hgpbench.models.workers import Processes
X = np.random.default_rng(0).normal(size=(200, 2))
workers = Processes(Rows(X, X[:, 0].copy(), np.arange(0, 201, 20)), 4, 1)
workers.ask("place", range(4), 4, 4, 0)
print(*(worker._process.pid for worker in workers._workers), flush=True)
input()
"""


def test_workers_do_not_outlive_a_parent_that_is_killed() -> None:
    """The parent is a script without a main guard, fed through standard input like a notebook's cells."""
    package = str(Path(__file__).resolve().parents[2])
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": package},
    )
    with parent:
        assert parent.stdout is not None
        children = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        assert len(children) == 1
        parent.kill()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive


def test_a_worker_at_work_ends_with_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WATCH_EVERY", 0.0)
    ended: list[int] = []
    parents = iter([10, 10, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "_exit", ended.append)
    workers._end_with_parent()
    assert ended == [1]


@pytest.mark.parametrize(("M", "lanes"), [(1, 1), (7, 1), (20, 2), (98, 8), (200, 16), (2000, 16)])
def test_first_values_are_tried_by_distinct_experts_of_all_workers(M: int, lanes: int) -> None:
    chosen = triers(M, lanes)
    assert len(set(chosen)) == min(M, 8)
    assert 0 <= min(chosen) <= max(chosen) < M
    assert max(chosen) - min(chosen) >= 0.8 * (M - 1)
    shares = np.bincount(np.array(chosen) % lanes % 2)
    assert lanes == 1 or shares.tolist() == [4, 4]
