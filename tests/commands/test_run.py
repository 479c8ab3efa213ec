"""What a command does once, however many experiments it has."""

from collections.abc import Iterable
from pathlib import Path
from unittest.mock import Mock

import pytest

from hgpbench.bench import forks, plan
from hgpbench.bench.supervise import Supervisor
from hgpbench.report import closing
from tests.cli.conftest import Invoke


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, Mock]:
    """Plans and the server of runs, counted; no run is started."""
    mocks = {"make": Mock(wraps=plan.make), "warm": Mock()}
    monkeypatch.setattr(plan, "make", mocks["make"])
    monkeypatch.setattr(forks, "warm", mocks["warm"])
    monkeypatch.setattr(Supervisor, "run", lambda self, jobs: {})
    return mocks


def test_each_experiment_is_planned_once_and_the_server_started_once(
    counted: dict[str, Mock], invoke: Invoke
) -> None:
    result = invoke("run", "smoke", "demo", "--only", "mean", "--repeats", "3")
    assert result.stdout == "0 done, 0 cached, 0 failed, 0 skipped, 6 left\n"
    assert {name: mock.call_count for name, mock in counted.items()} == {"make": 2, "warm": 1}
    assert all(Path("results", name, "experiment.json").is_file() for name in ("smoke", "demo"))


def test_a_dry_run_starts_no_server(counted: dict[str, Mock], invoke: Invoke, folder: Path) -> None:
    result = invoke("run", "smoke", "--dry-run")
    assert result.exit_code == 0
    assert {name: mock.call_count for name, mock in counted.items()} == {"make": 1, "warm": 0}
    assert not list(folder.iterdir())


def test_the_last_lines_name_fits_that_are_no_better_than_the_mean(
    counted: dict[str, Mock], invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[closing.Planned] = []

    def told(runs: Iterable[closing.Planned]) -> list[str]:
        asked.extend(runs)
        return ["mean with 1.2"] if len(asked) > 2 else []

    monkeypatch.setattr(closing, "no_better", told)
    result = invoke("run", "smoke", "demo", "--only", "mean", "--repeats", "2")
    assert result.stdout == "0 done, 0 cached, 0 failed, 0 skipped, 4 left\n"
    assert result.stderr.splitlines() == [
        "demo: no better than the mean of the training targets, by SMSE: mean with 1.2"
    ]
    assert [(label, seed) for label, seed, _ in asked] == [("mean", 0), ("mean", 1)] * 2
    assert all(folder.is_absolute() for _, _, folder in asked)
