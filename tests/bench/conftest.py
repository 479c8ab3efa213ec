"""A folder of a user's own: misbehaving models beside an experiment, and the command line."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the module ``troubles``; it becomes the current one."""
    shutil.copy(Path(__file__).with_name("troubles.py"), tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{REPOSITORY}{os.pathsep}{tmp_path}")
    return tmp_path


@pytest.fixture(autouse=True)
def nothing_outlives_a_test() -> Iterator[None]:
    """End the commands that a test started and, because it failed, did not wait for."""
    yield
    for process in psutil.Process().children():
        with suppress(psutil.Error):
            if process.cmdline()[1:3] == ["-m", "hgpbench"]:
                process.kill()
                process.wait(60)


@pytest.fixture
def hgpbench(workplace: Path) -> Command:
    """Run a command as a user would, in the workplace."""

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hgpbench", *words],
            cwd=workplace,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return command


@pytest.fixture
def experiment(workplace: Path) -> Callable[[str, str], Path]:
    """Write an experiment on the toy set: its models, and further keys; one seed, unless these say more."""

    def write(models: str, more: str = "") -> Path:
        path, once = workplace / "mine.yaml", "" if "repeats" in more else "repeats: 1\n"
        path.write_text(
            f"name: mine\ndataset: toy\nsplit: {{train: 30, test: 20}}\n{once}{more}models:\n"
            + "".join(f"  {line.strip()}\n" for line in models.strip().splitlines())
        )
        return path

    return write
