"""Runs on a small cluster of this machine: the same table as without, and the same words when things go wrong."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from tests.bench.conftest import Command
from tests.bench.test_supervise import stored

Write = Callable[..., Path]


def test_a_cluster_ends_with_the_same_table(hgpbench: Command, experiment: Write) -> None:
    experiment(
        """
        fine: {model: "troubles:Plain", shift: 1.0}
        ours: {model: dvshgp, n_experts: 2, optimizer: "natural(n_passes=2)", n_jobs: 1}
        raises: {model: "troubles:Raises"}
        eats: {model: "troubles:EatsMemory"}
        refuses: {model: "troubles:Refuses"}
        """,
        "limits: {memory: 600MB}\n",
    )
    here = hgpbench("run", "mine.yaml", "--out", "here", "--jobs", "2")
    there = hgpbench("run", "mine.yaml", "--cluster", "local:3")
    assert here.returncode == 3, here.stderr
    assert (there.returncode, there.stdout) == (3, here.stdout), there.stderr
    one, two = stored(Path("here")), stored()
    assert {k: v.status for k, v in one.items()} == {k: v.status for k, v in two.items()}
    assert two["raises", 0].reason == one["raises", 0].reason
    assert any("ZeroDivisionError" in line for line in two["raises", 0].log_tail)
    assert two["fine", 0].provenance["machine"] == one["fine", 0].provenance["machine"]
    for entry in manifests.read(Path("results/mine")).entries:
        if entry.label in ("fine", "ours"):
            mine, theirs = (records.read_arrays(Path(r) / entry.folder) for r in ("here", "results"))
            for name, values in mine.prediction.arrays().items():
                np.testing.assert_array_equal(values, theirs.prediction.arrays()[name])
    again = hgpbench("run", "mine.yaml", "--cluster", "local:1")
    assert again.stdout == "0 done, 2 cached, 2 failed, 1 skipped\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--cluster", "local:0"), "from 1 to 256 workers can be started here"),
        (("--cluster", "here"), "is no cluster; write tcp://HOST:PORT, tls://HOST:PORT or local:N"),
        (("--cluster", "local:2", "--jobs", "2"), "--jobs is for this machine"),
        (("--cluster", "local:2", "--scheduler-file", "x"), "by --cluster or by --scheduler-file"),
        (("--scheduler-file", "none.json"), "--scheduler-file none.json: no such file"),
        (("--scheduler-file", "mine.yaml"), "is not what `dask scheduler --scheduler-file` writes"),
        (("--cluster", "local:2", "--tls-ca", "mine.yaml"), "--tls-cert, --tls-key is missing"),
        (("--tls-ca", "mine.yaml"), "are for a cluster; name it by --cluster"),
    ],
)
def test_a_wrong_cluster_is_one_line(
    words: tuple[str, ...], line: str, hgpbench: Command, experiment: Write
) -> None:
    experiment('a: {model: "troubles:Plain"}')
    done = hgpbench("run", "mine.yaml", *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    assert line in done.stderr
    assert not Path("results").exists()


def test_a_plan_needs_no_cluster(hgpbench: Command, experiment: Write) -> None:
    experiment('a: {model: "troubles:Plain"}')
    done = hgpbench("run", "mine.yaml", "--cluster", "tcp://127.0.0.1:9", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "1 to run" in done.stdout
