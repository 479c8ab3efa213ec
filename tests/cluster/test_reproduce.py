"""The paper's experiments on workers of our own: the same table as without them."""

import subprocess
import sys
from pathlib import Path

import pytest

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from tests.torture.promises import content

pytest.importorskip("distributed", reason="clusters need dask.distributed")

NAME = "toy-convergence"


def reproduce(folder: Path, *words: str) -> Path:
    folder.mkdir()
    command = [sys.executable, "-m", "hgpbench", "reproduce", NAME, "--quick", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "results"


def test_an_experiment_of_the_paper_ends_the_same_on_a_cluster(tmp_path: Path) -> None:
    here = reproduce(tmp_path / "here")
    there = reproduce(tmp_path / "there", "--cluster", "local:2")
    one, two = (manifests.read(next(results.glob(f"{NAME}*"))) for results in (here, there))
    assert one == two
    assert len(one.entries) > 3
    for entry in one.entries:
        assert records.read(there / entry.folder).status == records.read(here / entry.folder).status
        if records.read(here / entry.folder).status == "done":
            assert content(there / entry.folder) == content(here / entry.folder), entry
    reports = [(results / "report" / "report.md").read_text() for results in (here, there)]
    assert shape(reports[0]) == shape(reports[1])


def shape(report: str) -> list[tuple[str, int]]:
    """Its tables: the names of their rows, and how many cells these have; times differ."""
    rows = [line.split("|") for line in report.splitlines() if line.startswith("|")]
    return [(row[1].strip(), len(row)) for row in rows]
