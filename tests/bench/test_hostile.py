"""Models that mean harm, or do it unknowingly: each is a row with its reason, and its neighbours run on."""

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.bench.conftest import Command
from tests.bench.test_supervise import start, stored, wait_for_run, wait_until

Write = Callable[..., Path]


def test_nothing_on_the_channel_harms_the_supervisor(hgpbench: Command, experiment: Write) -> None:
    experiment(
        """
        odd_signal: {model: "troubles:DiesOdd"}
        odd_progress: {model: "troubles:TellsOdd"}
        junk: {model: "troubles:Junk"}
        length: {model: "troubles:JunkLength"}
        fine: {model: "troubles:Plain"}
        """,
        "limits: {wall: 3s}\n",
    )
    done = hgpbench("run", "mine.yaml", "--jobs", "5")
    assert (done.returncode, done.stdout) == (3, "3 done, 0 cached, 2 failed, 0 skipped\n"), done.stderr
    assert "Traceback" not in done.stderr
    ends = {label: (record.status, record.reason) for (label, _), record in stored().items()}
    assert ends["odd_signal"] == ("failed", "the run's process crashed (signal 40); see its log")
    assert ends["length"] == ("timeout", "stopped after the limit of 3 s")


def test_a_model_that_changes_the_directory_leaves_its_record_where_it_belongs(
    hgpbench: Command, experiment: Write
) -> None:
    experiment('a: {model: "troubles:Wanders"}')
    done = hgpbench("run", "mine.yaml", "--out", "here")
    assert done.stdout == "1 done, 0 cached, 0 failed, 0 skipped\n", done.stderr
    assert stored(Path("here"))["a", 0].status == "done"
    assert not list(Path("far").iterdir())


def test_a_killed_server_is_started_again_and_so_is_the_run(hgpbench: Command, experiment: Write) -> None:
    experiment('a: {model: "troubles:KillsServer"}\nb: {model: "troubles:Plain"}')
    done = hgpbench("run", "mine.yaml")
    assert done.stdout == "1 done, 0 cached, 1 failed, 0 skipped\n", done.stderr
    assert stored()["a", 0].status == "killed"
    assert "Traceback" not in done.stderr
    assert hgpbench("run", "mine.yaml").stdout == "1 done, 1 cached, 0 failed, 0 skipped\n"


def left() -> list[int]:
    """Processes that a model started and that are still alive."""
    numbers = [int(path.suffix[1:]) for path in Path().glob("child.*[0-9]")]
    assert numbers
    return [
        number
        for number in numbers
        if psutil.pid_exists(number) and psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    ]


@pytest.mark.parametrize(
    ("params", "limits", "ending"),
    [
        ("stays: false", "{}", ("done", None)),
        ("stays: true", "{wall: 3s}", ("timeout", "stopped after the limit of 3 s")),
        ("stays: true, size: 50_000_000", "{wall: 60s, memory: 400MB}", ("memory", None)),
    ],
)
def test_a_process_that_left_its_session_is_counted_and_ended(
    params: str, limits: str, ending: tuple[str, str | None], hgpbench: Command, experiment: Write
) -> None:
    experiment(f'a: {{model: "troubles:Daemon", {params}}}', f"limits: {limits}\n")
    hgpbench("run", "mine.yaml")
    record = stored()["a", 0]
    assert (record.status, ending[1] or record.reason) == (ending[0], record.reason)
    assert not left()


@pytest.mark.parametrize("model", ["Spins", "Daemon, stays: true"])
def test_nothing_outlives_a_killed_supervisor(model: str, experiment: Write) -> None:
    name, _, more = model.partition(", ")
    experiment(f'a: {{model: "troubles:{name}", {more}}}')
    parent = start("run", "mine.yaml")
    run = wait_for_run(parent)
    parent.kill()
    parent.communicate(timeout=60)
    wait_until(lambda: not psutil.pid_exists(run), "the run outlived its supervisor")
    assert name == "Spins" or not left()


def test_a_good_fit_is_not_lost_and_a_full_disk_is_told(hgpbench: Command, experiment: Write) -> None:
    experiment(
        """
        odd: {model: "troubles:OddRemarks"}
        long: {model: "troubles:LongWords"}
        room: {model: "troubles:NoRoom"}
        none: {model: "troubles:NoRoom", everything: true}
        """
    )
    done = hgpbench("run", "mine.yaml", "--jobs", "4")
    assert done.stdout == "1 done, 0 cached, 3 failed, 0 skipped\n", done.stderr
    reasons = {label: str(record.reason) for (label, _), record in stored().items()}
    assert reasons["room"] == "the result could not be stored: No space left on device"
    assert "is the disk full?" in reasons["none"]
    assert reasons["long"].startswith("ValueError: \\x1b[31mcaf\\udce9 xxx")
    assert len(reasons["long"]) < 1_200
