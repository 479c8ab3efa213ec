"""Interrupts before anything runs: one line, exit code 130, whatever is being loaded."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
# Slow to import, so that there is a moment to interrupt it in; and where it is imported, it says so.
MODULE = "import os, time\nopen(f'loading.{os.getpid()}', 'w').close()\ntime.sleep(60)\n"
CONFIG = "name: x\ndataset: toy\nsplit: {train: 30, test: 20}\nmodels: {a: {model: 'slow:Model'}}\n"


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_planning_is_one_line(tmp_path: Path, kind: signal.Signals) -> None:
    (tmp_path / "slow.py").write_text(MODULE)
    (tmp_path / "x.yaml").write_text(CONFIG)
    command = subprocess.Popen(
        [sys.executable, "-m", "hgpbench", "run", "x.yaml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{tmp_path}"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("loading.*")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(command.pid, kind)  # as a terminal does: the server gets it too
    _, errors = command.communicate(timeout=40)
    assert errors == f"hgpbench: interrupted by {kind.name}; type the same command to continue\n"
    assert command.returncode == 130


@pytest.mark.parametrize("milliseconds", range(20, 320, 25))
def test_an_interrupt_at_start_is_no_traceback_of_ours(tmp_path: Path, milliseconds: int) -> None:
    command = subprocess.Popen(
        [str(Path(sys.executable).with_name("hgpbench")), "models"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(milliseconds / 1000)
    with suppress(ProcessLookupError):
        os.killpg(command.pid, signal.SIGINT)
    _, errors = command.communicate(timeout=60)
    # Until it has come to us Python itself is starting, and tells of an interrupt in its own way.
    assert "sys.exit(main())" not in errors
    if command.returncode not in {0, 1, -signal.SIGINT}:
        assert command.returncode == 130
        assert errors == "hgpbench: interrupted by SIGINT; type the same command to continue\n"


def test_the_server_does_not_tell_of_interrupts_in_its_imports(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\n"
        "from hgpbench.bench import forks\n"
        "forks.warm()\n"
        "end = time.monotonic() + 1.5\n"
        "while time.monotonic() < end:\n"
        "    os.killpg(0, signal.SIGINT)\n"
        "    time.sleep(0.01)\n"
        "assert forks.is_running(forks.server_number())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", [["models"], ["schema"], ["run", "smoke", "--dry-run"]])
def test_a_reader_that_is_gone_hears_no_complaint(tmp_path: Path, command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "hgpbench", *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
