"""Failures of clusters, with real schedulers and workers: ``make test-cluster`` runs them, ``make test`` does not."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.cluster import machines as places
from tests.cluster.machines import Machines

if "HGPBENCH_TEST_CLUSTER" not in os.environ:
    collect_ignore = ["test_failures.py"]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the command, with models that misbehave; workers cannot see it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[1] / "bench" / "troubles.py", folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(places.REPOSITORY))
    return folder


@pytest.fixture
def machines(tmp_path: Path, workplace: Path) -> Iterator[Machines]:
    with places.opened(tmp_path / "machines", workplace) as network:
        yield network


@pytest.fixture
def experiment(workplace: Path) -> Callable[..., Path]:
    """Write an experiment: its models, and further keys."""

    def write(models: str, more: str = "", dataset: str = "toy") -> Path:
        path, once = workplace / "mine.yaml", "" if "repeats" in more else "repeats: 1\n"
        path.write_text(
            f"name: mine\ndataset: {dataset}\nsplit: {{train: 30, test: 20}}\n{once}{more}models:\n"
            + "".join(f"  {line.strip()}\n" for line in models.strip().splitlines())
        )
        return path

    return write


@pytest.fixture(autouse=True)
def nothing_outlives_a_test() -> Iterator[None]:
    """End the commands that a test started and, because it failed, did not wait for."""
    yield
    for process in psutil.Process().children():
        with suppress(psutil.Error):
            if process.cmdline()[1:3] == ["-m", "hgpbench"]:
                process.kill()
                process.wait(60)
