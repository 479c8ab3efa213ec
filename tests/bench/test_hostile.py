"""Models that mean harm, or do it unknowingly: each is a row with its reason, and its neighbours run on."""

from collections.abc import Callable
from pathlib import Path

from tests.bench.conftest import Command
from tests.bench.test_supervise import stored

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
