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

from hgpbench.errors import Ended
from hgpbench.experts import crew, pool
from hgpbench.experts.expert import Step, shared_layout
from hgpbench.experts.owner import Owner
from hgpbench.experts.pool import Each, Pool, Processes, Serial, open_pool
from hgpbench.experts.reach import Reach
from hgpbench.experts.rows import Numbers, Rows
from hgpbench.models import DVSHGP, dvshgp
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


def story(pool: Pool[Owner]) -> list[np.ndarray]:
    """A short fit: what came back, and what the experts are at its end."""
    pool.ask(Owner.place, range(10), 8, 5, 0, False)
    answers = []
    for batch in ([0, 5, 2, 3], [4, 1, 6, 7], [8, 9], [3, 8, 1]):
        answers += pool.ask(Owner.visit, batch, FLAT, Step(0.02, 0.7))
    answers += pool.ask(Owner.settle, [7, 3], FLAT, steps=2)
    reach = Reach("rbcm", draw(50, seed=1)[0], 1e-4, 100.0, 10)
    sums = pool.ask(Owner.confer, range(4), 4, FLAT, reach, "fg")
    names = ("lam", "Xm")
    parts = Each(pool.ask(Owner.parts, range(10), names))
    trials = pool.ask(Owner.trial, range(10), FLAT, names, parts)
    return [
        *(np.concatenate([[one.value, one.jitter, one.error], one.grad]) for one in answers),
        *(sums[lane][letter] for lane in range(4) for letter in "fg"),
        *(trial.own for trial in trials),
        *pool.ask(Owner.state, range(10), whole=True),
    ]


def test_two_workers_compute_the_same_bits_as_one_and_end_with_the_context(rows: Rows) -> None:
    with Serial(rows, Owner) as serial:
        expected = story(serial)
    with Processes(rows, 4, 2, Owner) as processes:
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

    def record(rows: Rows, lanes: int, n_workers: int, owner: type[Owner]) -> Serial[Owner]:
        opened.append(n_workers)
        return Serial(rows, owner)

    monkeypatch.setattr(crew, "open_pool", record)
    monkeypatch.setattr(dvshgp, "allowed_cores", lambda: 4)
    X, y = draw(100)
    model = DVSHGP(
        n_experts=4,
        n_inducing_f=8,
        n_inducing_g=6,
        optimizer="natural(n_passes=1)",
        n_jobs=n_jobs,
        random_state=0,
    )
    model.fit(X, y).predict(X)
    assert opened == [1, 1, 1], "processes for a small problem cost more than they save"
    monkeypatch.setattr(dvshgp, "WORTH_WORKERS", 0)
    model.fit(X, y).predict(X)
    assert opened[3:] == [expected[0], *2 * [expected[1]]]  # fit, its judgement, prediction


def test_one_worker_or_one_lane_needs_no_process(rows: Rows) -> None:
    assert isinstance(open_pool(rows, 4, 1, Owner), Serial)
    assert isinstance(open_pool(rows, 1, 8, Owner), Serial)


def test_a_worker_that_dies_is_told(rows: Rows) -> None:
    with Processes(rows, 4, 1, Owner) as processes:
        os.kill(processes._workers[0]._process.pid, signal.SIGKILL)
        with pytest.raises(Ended, match=r"exit code -9, perhaps for want of memory.*n_jobs=1"):
            processes.ask(Owner.place, range(4), 4, 4, 0, False)


SCRIPT = """
import numpy as np
from hgpbench.experts.owner import Owner
from hgpbench.experts.pool import Processes
from hgpbench.experts.rows import Rows
X = np.random.default_rng(0).normal(size=(200, 2))
workers = Processes(Rows(X, X[:, 0].copy(), np.arange(0, 201, 20)), 4, 1, Owner)
workers.ask(Owner.place, range(4), 4, 4, 0, False)
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
    monkeypatch.setattr(pool, "WATCH_EVERY", 0.0)
    ended: list[int] = []
    parents = iter([10, 10, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "_exit", ended.append)
    pool._end_with_parent()
    assert ended == [1]


class Names:
    """An owner of nothing: it tells what it was asked."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def told(self, numbers: Numbers, word: str, own: list[str], end: str = "") -> list[str]:
        return [f"{number}{word}{mine}{end}" for number, mine in zip(numbers, own, strict=True)]


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_an_entry_for_each_expert_goes_to_its_owner_and_answers_keep_their_order(
    rows: Rows, n_workers: int
) -> None:
    asked = [7, 0, 3, 2, 9, 4]
    with open_pool(rows, 4, n_workers, Names) as names:
        answers = names.ask(Names.told, asked, "-", Each("abcdef"), end="!")
    assert answers == ["7-a!", "0-b!", "3-c!", "2-d!", "9-e!", "4-f!"]
