"""Experts on a real cluster: the same bits on any number of workers, and whoever of them is killed."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import psutil
import pytest
from numpy.linalg import LinAlgError
from numpy.testing import assert_array_equal

from hgpbench import cluster as clusters
from hgpbench import load
from hgpbench.cluster import joined
from hgpbench.columns import Array
from hgpbench.errors import ClusterError
from hgpbench.experts import desk, remote, shelf
from hgpbench.experts.bundles import spread_out
from hgpbench.experts.crew import Crew
from hgpbench.experts.owner import LASTING, Owner
from hgpbench.experts.pool import Each, Serial
from hgpbench.experts.remote import Remote
from hgpbench.experts.rows import Rows, Shares
from hgpbench.experts.shelf import Place, Shelf, Sign
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.pic import BUNDLES, Blocks
from hgpbench.models import DPIC, DVSHGP, RBCM, dpic, dvshgp
from tests.experts.crowd import Crowd
from tests.experts.test_pool import story
from tests.models.zoo import draw

distributed = pytest.importorskip("distributed", reason="clusters need dask.distributed")

REPOSITORY = str(Path(__file__).resolve().parents[2])
FIT: dict[str, Any] = {
    "expert_size": 20,
    "n_inducing_f": 8,
    "n_inducing_g": 6,
    "optimizer": "natural(n_passes=3)",
    "random_state": 0,
}


@pytest.fixture(scope="module")
def crowd() -> Iterator[Crowd]:
    scheduler = distributed.LocalCluster(
        n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=60
    )
    with scheduler:
        there = Crowd(scheduler)
        yield there
        there.close()


@pytest.fixture(scope="module")
def rows() -> Rows:
    X, y = draw(200)
    return Rows(X, y, np.arange(0, 201, 20))


@pytest.fixture(scope="module")
def undisturbed() -> DVSHGP:
    return DVSHGP(**FIT).fit(*draw(200))


def assert_same(found: DVSHGP, expected: DVSHGP) -> None:
    """Every parameter, shared or local, and how the fit went."""
    assert_array_equal(found._experts.flat, expected._experts.flat)
    for mine, other in zip(found._experts.states, expected._experts.states, strict=True):
        assert_array_equal(mine, other)
    assert_array_equal(found._experts.noise, expected._experts.noise)
    assert_array_equal(np.asarray(found.trace_)[:, 2], np.asarray(expected.trace_)[:, 2])
    assert found.n_evaluations_ == expected.n_evaluations_


@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers_computes_the_same_bits(crowd: Crowd, rows: Rows, workers: int) -> None:
    crowd.have(workers)
    with Serial(rows, Owner) as serial:
        expected = story(serial)
    with joined(crowd.client) as there, Remote(rows, 4, Owner, there, LASTING) as pool:
        assert len(pool._desks) == workers
        for found, answer in zip(story(pool), expected, strict=True):
            assert_array_equal(found, answer)


def at(step: int, act: Callable[[], None]) -> Callable[[int, int | None, float], None]:
    """A callback that does something once, after this step of a fit."""

    def hear(done: int, total: int | None, bound: float) -> None:
        if done == step:
            act()

    return hear


@pytest.mark.parametrize(("killed", "snapshot_every"), [(1, 0.0), (1, 1000.0), (2, 0.0), (2, 1000.0)])
def test_killed_workers_change_no_bit(
    crowd: Crowd, undisturbed: DVSHGP, killed: int, snapshot_every: float
) -> None:
    """With a snapshot before every question, and with none: then all of the fit is done again."""
    crowd.have(3)

    def act() -> None:
        for _ in range(killed):
            crowd.kill()

    model = DVSHGP(cluster=crowd.client, snapshot_every=snapshot_every, **FIT)
    assert_same(model.fit(*draw(200), callback=at(7, act)), undisturbed)


def test_a_worker_that_is_killed_at_work_changes_no_bit(crowd: Crowd, undisturbed: DVSHGP) -> None:
    crowd.have(2)
    timer = threading.Timer(0.05, crowd.kill)
    model = DVSHGP(cluster=crowd.client, **FIT)
    assert_same(model.fit(*draw(200), callback=at(3, timer.start)), undisturbed)
    timer.join()


@pytest.mark.parametrize("snapshot_every", [0.0, 1000.0])
def test_one_that_joins_goes_on_for_all_who_were_lost(
    crowd: Crowd, undisturbed: DVSHGP, snapshot_every: float
) -> None:
    crowd.have(1)

    def act() -> None:
        crowd.kill()
        crowd.have(1)

    model = DVSHGP(cluster=crowd.client, snapshot_every=snapshot_every, **FIT)
    assert_same(model.fit(*draw(200), callback=at(7, act)), undisturbed)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What desks are told to do; experts of a few rows count as large, some in a message."""
    tasks: list[str] = []
    message = desk.message

    def noting(task: Any, *details: Any) -> bytes:
        tasks.append(task.__name__)
        return message(task, *details)

    monkeypatch.setattr(desk, "message", noting)
    monkeypatch.setattr(remote, "PIECE", 1000)
    return tasks


def test_workers_read_their_rows_where_they_see_them(
    crowd: Crowd, undisturbed: DVSHGP, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once more whoever takes over; no row travels, and nothing is left of the files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    crowd.have(1)

    def act() -> None:
        crowd.kill()
        crowd.have(1)

    model = DVSHGP(cluster=crowd.client, **FIT)
    assert_same(model.fit(*draw(200), callback=at(7, act)), undisturbed)
    assert told.count("take") == 2
    assert "hold" not in told
    assert not list(tmp_path.glob("hgpbench-*"))


class Elsewhere(Shelf):
    """Workers have nothing at its path."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.sign = Sign("/nowhere/rows.h5", self.sign.mark)


class Another(Shelf):
    """They have a file of another fit there."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.sign = Sign(self.sign.path, "another")


class Stale(Shelf):
    """They see it, but not what was laid there."""

    def lay(self, count: int, d: int, experts: Iterator[tuple[Array, Array]]) -> list[Place]:
        return [place._replace(checksum=0) for place in super().lay(count, d, experts)]


class Full(Shelf):
    """It has no room."""

    def lay(self, count: int, d: int, experts: Iterator[tuple[Array, Array]]) -> list[Place]:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("kind", [Elsewhere, Another, Stale, Full])
def test_rows_travel_to_workers_that_do_not_see_them(
    crowd: Crowd, undisturbed: DVSHGP, told: list[str], monkeypatch: pytest.MonkeyPatch, kind: type[Shelf]
) -> None:
    monkeypatch.setattr(shelf, "Shelf", kind)
    crowd.have(2)
    assert_same(DVSHGP(cluster=crowd.client, **FIT).fit(*draw(200)), undisturbed)
    assert told.count("hold") > 3


def test_rows_in_a_file_go_to_workers_from_there(
    crowd: Crowd, undisturbed: DVSHGP, told: list[str], tmp_path: Path
) -> None:
    """And once more to whoever takes over."""
    crowd.have(2)
    X, y = draw(200)
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["X"], file["y"] = X, y
        model = DVSHGP(cluster=crowd.client, **FIT)
        assert_same(model.fit(file["X"], file["y"], callback=at(7, crowd.kill)), undisturbed)
    assert "take" in told


def test_one_that_joins_gets_its_share_at_the_next_snapshot(crowd: Crowd, rows: Rows) -> None:
    with Serial(rows, Owner) as serial:
        expected = story(serial)
    crowd.have(1)
    with joined(crowd.client) as there, Remote(rows, 4, Owner, there, LASTING, 0.0) as pool:
        pool.ask(Owner.place, range(10), 8, 5, 0, False)
        pool.ask(Owner.keep, range(10))
        crowd.have(2)
        for found, answer in zip(story(pool), expected, strict=True):
            assert_array_equal(found, answer)
        homes = list(pool._homes.values())
        assert sorted(homes.count(home) for home in set(homes)) == [2, 2]


def test_answers_that_were_heard_are_asked_again_where_their_experts_were_restored(
    crowd: Crowd, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first worker is lost before it answers, the second after it did, while the third takes over."""
    crowd.have(3)
    with Serial(rows, Owner) as serial:
        expected = story(serial)
    with joined(crowd.client) as there, Remote(rows, 4, Owner, there, LASTING) as pool:
        pool.ask(Owner.place, range(10), 8, 5, 0, False)
        crowd.kill()
        lose = Remote._lose

        def and_another(self: Remote[Any], home: Any, loss: Any) -> None:
            monkeypatch.setattr(Remote, "_lose", lose)
            crowd.kill()
            lose(self, home, loss)

        monkeypatch.setattr(Remote, "_lose", and_another)
        for found, answer in zip(story(pool), expected, strict=True):
            assert_array_equal(found, answer)
        assert len(pool._desks) == 1


def test_predictions_on_a_cluster_are_the_same(
    crowd: Crowd, undisturbed: DVSHGP, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd.have(2)
    X, expected = draw(300, seed=1)[0], undisturbed.predict_dist(draw(300, seed=1)[0])
    monkeypatch.setattr(dvshgp, "WORTH_WORKERS", 0)
    model = DVSHGP(cluster=crowd.client, **FIT).fit(*draw(200))
    found = model.predict_dist(X)
    assert_array_equal(found.mean, expected.mean)
    assert_array_equal(found.var, expected.var)


def test_exact_experts_survive_too(crowd: Crowd) -> None:
    X, y = draw(200)
    settings: dict[str, Any] = {"expert_size": 20, "max_iter": 8, "random_state": 0}
    expected = RBCM(**settings).fit(X, y)
    crowd.have(2)
    found = RBCM(cluster=crowd.client, **settings).fit(X, y, callback=at(4, crowd.kill))
    assert_array_equal(found.trace_[:, 2], expected.trace_[:, 2])
    assert_array_equal(found.predict(X), expected.predict(X))


def test_the_model_says_not_where_it_was_fitted(crowd: Crowd, tmp_path: Path) -> None:
    crowd.have(1)
    X, y = draw(60)
    model = DVSHGP(cluster=crowd.client, **FIT).fit(X, y)
    model.save(tmp_path / "model.h5")
    loaded = load(tmp_path / "model.h5")
    assert loaded.cluster is None
    assert_array_equal(loaded.predict(X), model.predict(X))


class Odd:
    """An owner with whom something is wrong."""

    def __init__(self, rows: Shares) -> None:
        self._rows = rows

    def refuse(self, numbers: list[int], word: str) -> list[None]:
        raise ValueError(f"{word} {numbers}")

    def die(self, numbers: list[int]) -> list[None]:
        os._exit(1)


def test_what_an_owner_raises_is_heard(crowd: Crowd, rows: Rows) -> None:
    crowd.have(1)
    with joined(crowd.client) as there, Crew(cluster=there).opened(rows, 4, Owner, LASTING) as pool:
        with pytest.raises(KeyError):
            pool.ask(Owner.keep, [3])  # who was never placed
        assert pool.ask(Owner.place, [3], 8, 5, 0, False) == [None]


def test_a_question_that_ends_every_worker_is_given_up(
    crowd: Crowd, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MOST_SETBACKS", 1)
    crowd.have(2)
    told = pytest.raises(ClusterError, match="lost workers 2 times in a row")
    with joined(crowd.client) as there, Remote(rows, 4, Odd, there) as pool, told:
        pool.ask(Odd.die, [0])


def test_without_workers_a_fit_waits_and_then_says_so(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "LONELY", 0.0)
    crowd.have(0)
    with pytest.raises(ClusterError, match=r"no worker for 0 minutes; start some"):
        DVSHGP(cluster=crowd.client, **FIT).fit(*draw(60))


def test_a_scheduler_that_is_lost_is_told_in_a_line() -> None:
    script = "from distributed.cli.dask_scheduler import main; main()"
    port = _free_port()
    scheduler = subprocess.Popen(
        [sys.executable, "-c", script, "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"tcp://127.0.0.1:{port}"
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard"],
        env=os.environ | {"PYTHONPATH": REPOSITORY},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    endless = FIT | {
        "optimizer": "natural(n_passes=1000, guard=false)"
    }  # a short fit may end before it is known
    try:
        with pytest.raises(ClusterError, match=r"the scheduler of tcp://127.0.0.1:\d+ is gone") as told:
            DVSHGP(cluster=address, **endless).fit(*draw(200), callback=at(5, scheduler.kill))
        assert "\n" not in str(told.value)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_workers_of_our_own_end_with_the_fit(undisturbed: DVSHGP) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    assert_same(DVSHGP(cluster="local:2", **FIT).fit(*draw(200)), undisturbed)
    left = [each for each in psutil.Process().children(recursive=True) if each.pid not in before]
    with suppress(psutil.Error):
        assert not [each for each in left if "distributed" in " ".join(each.cmdline())]


@pytest.mark.parametrize("given", ["somewhere", "local:0", 3, "tcp:/x"])
def test_what_is_no_cluster_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="cluster"):
        DVSHGP(cluster=given).fit(*draw(30))


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"hgpbench\[cluster\]"), clusters.joined("local:1"):
        pass


def test_a_snapshot_gives_back_what_was_written() -> None:
    snapshot, states = remote._Snapshot(), [np.arange(5.0), np.array([np.pi]), np.zeros(0)]
    for number, state in enumerate(states):
        snapshot.write(2 * number, state)
    assert_array_equal(snapshot.read(2), states[1])
    assert_array_equal(snapshot.read(0), states[0])
    assert snapshot.read(4).size == 0
    assert 0 in snapshot
    assert 1 not in snapshot
    snapshot.close()


def test_an_each_is_shared_out_with_its_experts() -> None:
    call = remote.Call(Owner.restore, [4, 7, 5], [Each("abc"), 1], {"whole": True})
    assert remote._at(call, [0, 2]) == (Owner.restore, [4, 5], [["a", "c"], 1], {"whole": True})


def test_blocks_of_pic_have_the_bits_of_threads(crowd: Crowd) -> None:
    """In 16 bundles, of which one worker of two is lost on the way with its share."""
    X, y = draw(260)
    settings: dict[str, Any] = {"block_size": 10, "n_inducing": 8, "max_iter": 6, "random_state": 0}
    expected = DPIC(**settings).fit(X, y)
    assert len(expected.block_sizes_) > BUNDLES
    for workers, act in ((1, lambda: None), (3, crowd.kill)):
        crowd.have(workers)
        found = DPIC(cluster=crowd.client, **settings).fit(X, y, callback=at(4, act))
        assert_array_equal(found.trace_[:, 2], expected.trace_[:, 2])
        assert_array_equal(found.inducing_f_, expected.inducing_f_)
        assert_array_equal(found.predict(X), expected.predict(X))


def test_predictions_of_blocks_on_a_cluster_are_the_same(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd.have(2)
    X, y = draw(200)
    settings: dict[str, Any] = {"block_size": 8, "n_inducing": 6, "max_iter": 2, "random_state": 0}
    model = DPIC(cluster=crowd.client, **settings).fit(X, y)
    Xs = draw(50, seed=1)[0]
    expected = model.predict_dist(Xs)
    monkeypatch.setattr(dpic, "WORTH_WORKERS", 0)
    found = model.predict_dist(Xs)
    assert_array_equal(found.mean, expected.mean)
    assert_array_equal(found.var, expected.var)


def test_blocks_that_cannot_be_evaluated_are_so_on_a_cluster_too(crowd: Crowd) -> None:
    crowd.have(2)
    X, y = draw(60)
    rows = Rows(X, y, np.arange(0, 61, 10))
    bad = {"s2_k": np.ones(()), "ell": np.full(2, 1e-320), "Xm": X[:4], "sigma2": np.ones(())}
    fine = bad | {"ell": np.ones(2)}
    with joined(crowd.client) as there, spread_out(rows, there, SEARD) as spread:
        with pytest.raises(LinAlgError), np.errstate(all="ignore"):
            spread.evidence(bad)
        assert spread.evidence(fine).value == Blocks(X, y, rows.starts.tolist()).evidence(fine).value
