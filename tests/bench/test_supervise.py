"""Every way in which a run can end, from the command line down."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from hgpbench.bench import forks, supervise
from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from hgpbench.bench.record import Record
from hgpbench.bench.supervise import Supervisor
from hgpbench.config import Limits
from hgpbench.errors import FitError
from tests.bench.conftest import Command

Write = Callable[..., Path]


def stored(results: Path = Path("results"), name: str = "mine") -> dict[tuple[str, int], Record]:
    """The records of an experiment by label and seed."""
    manifest = manifests.read(results / name)
    return {(e.label, e.seed): records.read(results / e.folder) for e in manifest.entries}


def test_every_ending_is_a_row_with_its_reason(hgpbench: Command, experiment: Write) -> None:
    experiment(
        """
        fine: {model: "troubles:Plain"}
        raises: {model: "troubles:Raises"}
        eats: {model: "troubles:EatsMemory"}
        crashes: {model: "troubles:Crashes"}
        killed: {model: "troubles:Killed"}
        exits: {model: "troubles:Exits"}
        nan: {model: "troubles:NotFinite"}
        refuses: {model: "troubles:Refuses"}
        also_fine: {model: "troubles:Plain", shift: 1.0}
        """,
        "limits: {wall: 10min, memory: 600MB}\n",
    )
    done = hgpbench("run", "mine.yaml", "--jobs", "2")
    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines()[-1] == "2 done, 0 cached, 6 failed, 1 skipped"
    ends = {label: (record.status, record.reason) for (label, _), record in stored().items()}
    assert ends["fine"] == ends["also_fine"] == ("done", None)
    assert ends["raises"] == ("failed", "ZeroDivisionError: the model divided by zero")
    assert ends["eats"][0] == "memory"
    assert "the limit is 600 MB" in str(ends["eats"][1])
    assert ends["crashes"] == ("failed", "the run's process crashed (SIGSEGV); see its log")
    assert ends["killed"][0] == "killed"
    assert ends["exits"] == (
        "failed",
        "the run's process ended with exit code 7 and left no record; see its log",
    )
    assert ends["nan"] == ("failed", "the model's mean is not finite at 1 of 20 test points")
    assert ends["refuses"] == ("skipped", "at most 3 rows, given more")
    log = stored()["raises", 0].log_tail
    assert "so far so good" in log
    assert any("ZeroDivisionError" in line for line in log)

    again = hgpbench("run", "mine.yaml")  # only the run that was ended from outside is started again
    assert again.stdout.splitlines()[-1] == "0 done, 2 cached, 6 failed, 1 skipped"
    assert again.stderr.count("seed 0") == 1
    assert "killed seed 0" in again.stderr


def test_a_run_that_never_ends_is_stopped(hgpbench: Command, experiment: Write) -> None:
    experiment('endless: {model: "troubles:NeverEnds"}', "limits: {wall: 2s}\n")
    done = hgpbench("run", "mine.yaml")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (3, "0 done, 0 cached, 1 failed, 0 skipped")
    assert stored()["endless", 0].status == "timeout"
    assert stored()["endless", 0].reason == "stopped after the limit of 2 s"


def test_processor_time_is_limited_and_waiting_takes_none(hgpbench: Command, experiment: Write) -> None:
    experiment(
        'spins: {model: "troubles:Spins"}\nwaits: {model: "troubles:Plain", pause: 3.0}',
        "limits: {cpu: 1.5s}\n",
    )
    done = hgpbench("run", "mine.yaml")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (3, "1 done, 0 cached, 1 failed, 0 skipped")
    spun = stored()["spins", 0]
    assert (spun.status, spun.reason) == ("timeout", "stopped after the limit of 1.5 s of processor time")
    assert spun.timings["total_cpu"] > 1.5
    assert stored()["waits", 0].timings["total_wall"] > 3.0


def test_what_is_done_stays_untouched_until_forced(
    hgpbench: Command, experiment: Write, workplace: Path
) -> None:
    experiment('a: {model: "troubles:Plain"}\nb: {model: "troubles:Plain", shift: 0.5}', "repeats: 2\n")
    assert hgpbench("run", "mine.yaml").stdout.splitlines()[-1] == "4 done, 0 cached, 0 failed, 0 skipped"
    before = {
        path: path.stat().st_mtime_ns for path in workplace.glob("results/runs/**/*.*") if path.is_file()
    }
    assert len(before) == 16  # record, predictions, log and lock of four runs
    more = hgpbench("run", "mine.yaml", "--repeats", "3")
    assert more.stdout.splitlines()[-1] == "2 done, 4 cached, 0 failed, 0 skipped"
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in before.items())

    folder = Path("results") / manifests.read(Path("results/mine")).entries[0].folder
    old = records.read(folder)
    forced = hgpbench("run", "mine.yaml", "--force", "--only", "a", "--seeds", "0")
    assert forced.stdout.splitlines()[-1] == "1 done, 0 cached, 0 failed, 0 skipped"
    assert records.read(folder.with_name(folder.name + "~1")) == old
    assert records.read(folder).provenance["attempt"] != old.provenance["attempt"]
    assert len(manifests.read(Path("results/mine")).entries) == 6


def test_a_result_in_the_place_of_another_is_no_result_of_it(hgpbench: Command, experiment: Write) -> None:
    experiment('a: {model: "troubles:Plain"}\nb: {model: "troubles:Plain", shift: 0.5}')
    hgpbench("run", "mine.yaml")
    one, two = (Path("results") / entry.folder for entry in manifests.read(Path("results/mine")).entries)
    mine = records.read(one)
    shutil.rmtree(two)
    shutil.copytree(one, two)
    assert hgpbench("run", "mine.yaml").stdout == "1 done, 1 cached, 0 failed, 0 skipped\n"
    assert stored()["b", 0].params["shift"] == 0.5
    assert records.read(two.with_name(two.name + "~1")) == mine


def test_failed_runs_are_tried_again_when_asked(hgpbench: Command, experiment: Write) -> None:
    experiment('a: {model: "troubles:Raises"}\nb: {model: "troubles:Plain"}')
    first = hgpbench("run", "mine.yaml", "--fail-fast")
    assert (first.returncode, first.stdout.splitlines()[-1]) == (
        3,
        "0 done, 0 cached, 1 failed, 0 skipped, 1 left",
    )
    second = hgpbench("run", "mine.yaml")
    assert (second.returncode, second.stdout.splitlines()[-1]) == (3, "1 done, 0 cached, 1 failed, 0 skipped")
    assert "Raises" not in second.stderr
    third = hgpbench("run", "mine.yaml", "--retry-failed")
    assert third.stderr.count("ZeroDivisionError") == 1


def test_a_dry_run_writes_nothing(hgpbench: Command, experiment: Write, workplace: Path) -> None:
    experiment('a: {model: "troubles:Plain"}', "repeats: 2\n")
    plan = hgpbench("run", "mine.yaml", "--dry-run")
    assert plan.returncode == 0
    assert "2 to run: no earlier run tells the time" in plan.stdout
    assert not (workplace / "results").exists()
    hgpbench("run", "mine.yaml", "--repeats", "1")
    plan = hgpbench("run", "mine.yaml", "--dry-run")
    assert "cached" in plan.stdout
    assert "1 to run: about" in plan.stdout


def test_same_seed_same_numbers_other_seed_other_data(hgpbench: Command, experiment: Write) -> None:
    experiment('a: {model: "troubles:Plain"}', "repeats: 2\n")
    hgpbench("run", "mine.yaml")
    hgpbench("run", "mine.yaml", "--out", "elsewhere")
    here, there = (manifests.read(Path(root) / "mine").entries for root in ("results", "elsewhere"))
    for one, two in zip(here, there, strict=True):
        assert (
            records.read_arrays(Path("results") / one.folder).y.tolist()
            == records.read_arrays(Path("elsewhere") / two.folder).y.tolist()
        )
    assert (
        records.read_arrays(Path("results") / here[0].folder).y.tolist()
        != records.read_arrays(Path("results") / here[1].folder).y.tolist()
    )


def test_a_killed_fit_continues_from_its_checkpoint(hgpbench: Command, experiment: Write) -> None:
    experiment('a: {model: "troubles:Resumes"}')
    assert hgpbench("run", "mine.yaml").returncode == 3
    assert stored()["a", 0].status == "killed"
    folder = Path("results") / manifests.read(Path("results/mine")).entries[0].folder
    assert (folder / records.CHECKPOINT).exists()
    assert hgpbench("run", "mine.yaml").returncode == 0
    record = stored()["a", 0]
    assert record.fit["resumed_after"] == 1234.5
    assert record.timings["fit_wall"] > 1234.5
    assert not (folder / records.CHECKPOINT).exists()


def test_a_fit_whose_worker_was_killed_continues_too(hgpbench: Command, experiment: Write) -> None:
    experiment('a: {model: "troubles:LosesWorker"}')
    assert hgpbench("run", "mine.yaml").returncode == 3
    killed = stored()["a", 0]
    assert (killed.status, killed.reason) == (
        "killed",
        "a worker process ended with exit code -9; the next run starts it again",
    )
    assert hgpbench("run", "mine.yaml").stdout == "1 done, 0 cached, 0 failed, 0 skipped\n"
    assert stored()["a", 0].fit["resumed_after"] == 67.5


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_cleanly(kind: signal.Signals, experiment: Write) -> None:
    experiment('a: {model: "troubles:Plain"}\nb: {model: "troubles:Waits"}')
    parent = start("run", "mine.yaml")
    child = wait_for_run(parent)
    parent.send_signal(kind)
    _, errors = parent.communicate(timeout=60)
    assert parent.returncode == 130, errors
    assert "type the same command to continue" in errors
    assert not psutil.pid_exists(child)
    ends = {label: record.status for (label, _), record in stored().items()}
    assert ends == {"a": "done", "b": "killed"}


def test_a_run_ends_with_its_supervisor(experiment: Write) -> None:
    experiment('b: {model: "troubles:Waits"}')
    parent = start("run", "mine.yaml")
    child = wait_for_run(parent)
    parent.kill()
    parent.communicate(timeout=60)
    wait_until(lambda: not psutil.pid_exists(child), "the run outlived its supervisor")


def test_two_commands_at_once_share_the_work(experiment: Write, hgpbench: Command, workplace: Path) -> None:
    experiment('b: {model: "troubles:Waits"}')
    first = start("run", "mine.yaml")
    wait_for_run(first)
    second = hgpbench("run", "mine.yaml")
    assert "another process is running it" in second.stderr
    assert second.stdout.splitlines()[-1] == "0 done, 0 cached, 0 failed, 0 skipped, 1 left"
    (workplace / "go").touch()
    output, _ = first.communicate(timeout=60)
    assert output.splitlines()[-1] == "1 done, 0 cached, 0 failed, 0 skipped"


class DyingServer:
    """A server of runs that was killed and is not gone yet: the first attempts to reach it fail."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.Process = lambda **details: self

    def start(self) -> None:
        self.refusals -= 1
        if self.refusals >= 0:
            raise ConnectionRefusedError


def test_a_server_may_take_a_moment_to_die(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "revive", lambda: None)
    server: Any = DyingServer(refusals=8)
    watcher: Any = None
    supervisor = Supervisor(tmp_path, Limits(), {}, watcher, server)
    assert supervisor._launch() is server
    monkeypatch.setattr(supervise, "PATIENCE", 0.2)
    server.refusals = 10**6
    with pytest.raises(FitError, match="no process could be started"):
        supervisor._launch()


def start(*words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "hgpbench", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_run(parent: "subprocess.Popen[str]") -> int:
    """The process id of the run under way, once its model is fitting."""
    wait_until(Path("fitting").exists, "no run was started")
    [run] = [run for server in psutil.Process(parent.pid).children() for run in server.children()]
    return run.pid


def wait_until(condition: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.02)
