"""The suite's own pieces: a test of tests that never complain would be worth nothing."""

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from hgpbench.bench import record as records
from hgpbench.experts import ascent, pool
from hgpbench.fitting import checkpoint
from tests.bench.test_record import RECORD, some_arrays
from tests.torture import hostile, promises, victims
from tests.torture.command import Place
from tests.torture.rounds import Round

FOLDER = Path("runs/toy/model/one")


@pytest.fixture
def around(tmp_path: Path) -> Round:
    return Round("kills", 0, 0, tmp_path, time.monotonic() + 600)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder with one finished run."""
    done = records.Record(
        **{
            **vars(RECORD),
            "status": "done",
            "train_mean": 0.0,
            "train_var": 1.0,
            "provenance": {"attempt": "a"},
        }
    )
    records.write(tmp_path / "results" / FOLDER, done, some_arrays())
    return tmp_path / "results"


def test_a_lost_or_changed_result_is_told(around: Round, results: Path) -> None:
    before = promises.check_nothing_lost(around, {}, results, "nothing")
    promises.check_nothing_lost(around, before, results, "nothing")
    assert (len(before), around.complaints) == (1, [])
    again = records.Record(**{**vars(records.read(results / FOLDER)), "provenance": {"attempt": "b"}})
    records.write(results / FOLDER, again, some_arrays())
    promises.check_nothing_lost(around, before, results, "an attempt more")
    shutil.rmtree(results / FOLDER)
    promises.check_nothing_lost(around, before, results, "a removal")
    assert [complaint.partition(":")[0] for complaint in around.complaints] == [
        "after an attempt more",
        "after a removal",
    ]


def test_a_failure_or_a_damaged_record_is_told(around: Round, results: Path) -> None:
    promises.check_rows(around, results, "nothing")
    assert around.complaints == []
    failed = records.Record(**{**vars(RECORD), "status": "failed", "reason": "a worker died"})
    records.write(results / FOLDER, failed)
    promises.check_rows(around, results, "one")
    (results / FOLDER / records.RECORD).write_text("{")
    promises.check_rows(around, results, "two")
    assert [complaint[:9] for complaint in around.complaints] == ["after one", "after two"]


def test_other_bits_are_seen(results: Path) -> None:
    one = promises.content(results / FOLDER)
    arrays = some_arrays()
    arrays.prediction.mean[0] = np.nextafter(arrays.prediction.mean[0], 9.0)
    records.write(results / FOLDER, records.read(results / FOLDER), arrays)
    two = promises.content(results / FOLDER)
    assert [part for part in one if one[part] != two[part] and part != "scores"] == ["mean", "f_mean"]


def test_leftovers_are_seen(around: Round, results: Path, tmp_path: Path) -> None:
    place = Place(tmp_path)
    promises.check_leftovers(around, place, results)
    assert around.complaints == []
    (results / FOLDER / ".record.json.x.part").touch()
    (place.scratch / "hgp-x").mkdir()
    promises.check_leftovers(around, place, results)
    assert len(around.complaints) == 2


@pytest.fixture
def family(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that calls itself a server of runs, with a run that has a worker."""
    worker = "import time; time.sleep(60)"
    run = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {worker!r}])"
    server = f"import subprocess, sys; 'forkserver'; subprocess.run([sys.executable, '-c', {run!r}])"
    root = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {server!r}])"
    with subprocess.Popen([sys.executable, "-c", root]) as process:
        members = psutil.Process(process.pid)
        while len(members.children(recursive=True)) < 3:
            time.sleep(0.01)
        everyone = [members, *members.children(recursive=True)]
        yield process
        for each in everyone:
            if each.is_running():
                each.kill()


def test_every_process_is_known_by_what_it_is(
    family: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {kind: len(each) for kind, each in victims.members(family.pid).items()}
    assert found == {"run": 1, "worker": 1, "server": 1, "tracker": 0, "command": 1, "everything": 1}
    monkeypatch.setattr(victims, "WEIGHTS", {kind: float(kind == "everything") for kind in victims.WEIGHTS})
    kind, hit = victims.strike(family.pid, random.Random(0))
    assert kind == "everything"
    assert 1 <= hit <= 4  # some end by themselves as the others go
    family.wait(30)
    assert victims.strike(family.pid, random.Random(0)) == ("", 0)


def test_the_models_of_the_suite_have_workers_and_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((checkpoint, "EVERY"), (ascent, "STEPS_PER_PASS")):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back what loading the models changes
    from tests.torture import hasty

    checkpoint.EVERY, ascent.STEPS_PER_PASS = hasty.NEVER_WAIT, hasty.STEPS
    opened = []
    before = pool._Worker.__init__

    def noted(self: Any, *details: Any) -> None:
        opened.append(self)
        before(self, *details)

    monkeypatch.setattr(pool._Worker, "__init__", noted)
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (90, 1))
    model = hasty.Experts(
        n_experts=4, n_inducing_f=5, n_inducing_g=5, optimizer="natural(n_passes=3)", n_jobs=2, random_state=0
    )
    model.fit(X, np.sin(X[:, 0]), checkpoint=tmp_path / "state.h5").predict(X)
    assert len(opened) == 2
    model.set_params(random_state=1).fit(X, np.sin(X[:, 0]))
    assert len(opened) == 2
    assert (tmp_path / "state.h5").exists()


def test_every_hostile_model_has_an_ending() -> None:
    from tests.bench import troubles

    kinds = {
        name
        for name, kind in vars(troubles).items()
        if isinstance(kind, type) and issubclass(kind, troubles.Plain)
    }
    helpers = {
        "Plain",
        "Waits",
        "Again",
        "Resumes",
        "LosesWorker",
        "Continues",
        "KillsEverybody",
    }  # wait for a file, are healthy in the end, or belong to the tests of clusters
    assert kinds - helpers == hostile.ENDINGS.keys()
