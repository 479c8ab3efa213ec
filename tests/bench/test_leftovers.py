"""What killed processes left is swept, and what living ones need is not."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hgpbench.bench import leftovers, locks, logs
from hgpbench.bench import record as records
from tests.bench.test_record import RECORD, some_arrays

PARTS = (".record.json.a.part", ".predictions.h5.b.part", ".checkpoint.h5.c.part")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished run with all that kills can leave beside it."""
    made = tmp_path / "run"
    records.write(made, RECORD, some_arrays())
    for name in (*PARTS, ".scores.json.d.part", records.CHECKPOINT):
        (made / name).touch()
    return made


def test_a_finished_run_keeps_no_leftovers(folder: Path) -> None:
    leftovers.sweep_finished(folder)
    young = {".scores.json.d.part"}  # perhaps a report is writing it
    assert {path.name for path in folder.iterdir()} == {records.RECORD, records.PREDICTIONS} | young
    os.utime(folder / ".scores.json.d.part", (0, 0))
    leftovers.sweep_finished(folder)
    assert {path.name for path in folder.iterdir()} == {records.RECORD, records.PREDICTIONS}


def test_nothing_is_taken_from_a_run_under_way(folder: Path) -> None:
    lock = locks.hold(locks.of_run(folder))
    assert lock is not None
    with lock:
        leftovers.sweep_finished(folder)
        assert (folder / records.CHECKPOINT).exists()
        assert all((folder / name).exists() for name in PARTS)
    (folder / records.RECORD).unlink()  # not finished: the checkpoint is needed
    leftovers.sweep_finished(folder)
    assert (folder / records.CHECKPOINT).exists()


def test_the_folder_of_a_killed_command_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "import os, signal, sys, tempfile\n"
        "from hgpbench.bench import leftovers\n"
        "with leftovers.scratch_folder():\n"
        "    tempfile.mkdtemp(prefix='pymp-')\n"
        "if sys.argv[1] == 'kill': os.kill(os.getpid(), signal.SIGKILL)\n"
        "if sys.argv[1] == 'wait': print('ready', flush=True); input()\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    words = [sys.executable, "-c", code]
    for how in ("kill", "end"):
        subprocess.run([*words, how], env=environment, timeout=60)
    [killed] = tmp_path.iterdir()
    with subprocess.Popen(
        [*words, "wait"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as living:
        assert living.stdout is not None
        living.stdout.readline()
        monkeypatch.setattr(leftovers, "GRACE", -1.0)
        leftovers.sweep_scratch()
        [kept] = tmp_path.iterdir()
        assert kept != killed
        living.communicate(b"\n")
    assert not list(tmp_path.iterdir())


def test_a_log_keeps_its_beginning_and_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LIMIT", 4_000)
    monkeypatch.setattr(logs, "HEAD", 1_000)
    monkeypatch.setattr(logs, "TAIL", 500)
    logs.shorten(tmp_path)  # none yet
    path = tmp_path / records.LOG
    with path.open("ab", buffering=0) as log:
        for number in range(2_000):
            log.write(f"line {number}\n".encode())
            if number % 100 == 0:
                logs.shorten(tmp_path)
    logs.shorten(tmp_path)
    text = path.read_text()
    assert len(text) < 4_000
    assert text.startswith("line 0\nline 1\n")
    assert text.endswith("line 1999\n")
    assert "bytes left out" in text


def test_a_link_in_place_of_a_log_or_lock_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / records.LOG).symlink_to(precious)
    code = f"from pathlib import Path; from hgpbench.bench import logs; logs.redirect(Path({str(tmp_path)!r})); print('x')"
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)
    assert (tmp_path / records.LOG).read_text() == "x\n"
    (tmp_path / ".lock").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"):
        locks.hold(tmp_path / ".lock")
    assert precious.read_text() == "kept"
