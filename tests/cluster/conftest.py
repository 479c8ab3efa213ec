"""Failures of clusters, with real schedulers and workers: ``make test-cluster`` runs them, ``make test`` does not."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.cluster import machines as places
from tests.cluster.machines import Machines

if "HGPBENCH_TEST_CLUSTER" not in os.environ:
    collect_ignore = ["test_failures.py", "test_fits.py", "test_kills.py", "test_reproduce.py"]
COUNTS = pytest.StashKey[list[str]]()  # lines for the end of the session


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """The machines of all tests: to start them costs more than most tests do."""
    root = tmp_path_factory.mktemp("cluster")
    (root / "mine").mkdir()
    with places.opened(root / "machines", root / "mine") as found:
        yield found


@pytest.fixture
def machines(network: Machines) -> Iterator[Machines]:
    yield network
    network.heal()


@pytest.fixture
def workplace(network: Machines, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the command, with models that misbehave; workers cannot see it."""
    folder = network.hidden / re.sub(r"\W+", "-", request.node.name)
    folder.mkdir()
    furnish(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(places.REPOSITORY))
    monkeypatch.delenv("HGPBENCH_DATA", raising=False)
    return folder


def furnish(folder: Path) -> None:
    """Put the models that misbehave there."""
    shutil.copy(Path(__file__).parents[1] / "bench" / "troubles.py", folder)


def write(folder: Path, models: str, more: str = "", dataset: str = "toy") -> None:
    """Write an experiment: its models, and further keys."""
    once = "" if "repeats" in more else "repeats: 1\n"
    (folder / "mine.yaml").write_text(
        f"name: mine\ndataset: {dataset}\nsplit: {{train: 30, test: 20}}\n{once}{more}models:\n"
        + "".join(f"  {line.strip()}\n" for line in models.strip().splitlines())
    )


@pytest.fixture
def experiment(workplace: Path) -> Callable[..., None]:
    """``write`` in the folder of the command."""
    return partial(write, workplace)


@pytest.fixture(autouse=True)
def nothing_outlives_a_test() -> Iterator[None]:
    """End the commands that a test started and, because it failed, did not wait for."""
    yield
    for process in psutil.Process().children():
        with suppress(psutil.Error):
            if process.cmdline()[1:3] == ["-m", "hgpbench"]:
                process.kill()
                process.wait(60)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(COUNTS, []):
        terminalreporter.write_line(line)
