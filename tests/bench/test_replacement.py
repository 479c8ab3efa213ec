"""``--force``: a finished result is replaced by a finished one, and hidden by nothing else."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from hgpbench.bench import replacement
from tests.bench.conftest import Command
from tests.bench.test_record import RECORD, some_arrays
from tests.bench.test_supervise import start, stored, wait_for_run

Write = Callable[..., Path]


def names(folder: Path) -> set[str]:
    return {path.name.removeprefix(folder.name) for path in folder.parent.iterdir() if path.is_dir()}


def test_a_forced_run_hides_nothing_until_it_is_done(
    hgpbench: Command, experiment: Write, workplace: Path
) -> None:
    experiment('a: {model: "troubles:Again"}', "repeats: 2\n")
    assert hgpbench("run", "mine.yaml").returncode == 0
    before = stored()
    folder = Path("results") / manifests.read(Path("results/mine")).entries[0].folder

    (workplace / "raise").touch()
    assert hgpbench("run", "mine.yaml", "--force", "--seeds", "0").returncode == 3
    assert stored() == before
    assert records.read(folder.with_name(f"{folder.name}~1")).status == "failed"
    (workplace / "raise").unlink()

    (workplace / "wait").touch()
    for kind in (signal.SIGKILL, signal.SIGINT):
        (workplace / "fitting").unlink(missing_ok=True)
        forced = start("run", "mine.yaml", "--force")
        wait_for_run(forced)
        forced.send_signal(kind)
        forced.communicate(timeout=60)
        assert stored() == before
    (workplace / "wait").unlink()

    done = hgpbench("run", "mine.yaml", "--force")
    assert done.stdout == "2 done, 0 cached, 0 failed, 0 skipped\n"
    assert records.read(folder.with_name(f"{folder.name}~2")) == before["a", 0]
    assert stored()["a", 0].provenance["attempt"] != before["a", 0].provenance["attempt"]
    assert not any(name.endswith("new") for name in names(folder))


@pytest.mark.parametrize("status", ["done", "killed", "failed"])
def test_an_exchange_that_was_cut_short_is_finished(tmp_path: Path, status: records.Status) -> None:
    folder = tmp_path / "run"
    records.write(folder, RECORD, some_arrays())
    fresh = replacement.place(folder)
    assert fresh != folder
    record = replace(RECORD, status=status)
    records.write(fresh, record)
    folder.rename(tmp_path / "run~1")  # and here came the kill
    replacement.settle(folder)
    assert folder.exists() == (status == "done")
    assert fresh.exists() == (status != "done")


def test_nothing_is_exchanged_where_nothing_is_finished(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert replacement.place(folder) == folder
    records.write(folder, replace(RECORD, status="failed"))
    assert replacement.place(folder) == folder
