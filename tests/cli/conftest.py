"""The command line inside this process, in an empty folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hgpbench.cli import app

Invoke = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, with no dataset and no mirror."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HGPBENCH_DATA", raising=False)
    monkeypatch.setenv("HGPBENCH_CACHE", str(tmp_path / ".cache"))
    monkeypatch.delenv("HGPBENCH_MIRROR", raising=False)
    return tmp_path


@pytest.fixture
def invoke(folder: Path) -> Invoke:
    """Run a command; anything but a clean exit is an error of ours."""

    def command(*words: str) -> Result:
        result = CliRunner().invoke(app, list(words))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise AssertionError(f"traceback from {words}") from result.exception
        return result

    return command
