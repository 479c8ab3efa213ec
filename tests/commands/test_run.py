"""What a command does once, however many experiments it has."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from hgpbench.bench import forks, plan
from hgpbench.bench.supervise import Supervisor
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
