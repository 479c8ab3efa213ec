"""A model of the user's own, with the installed command and nothing set up for it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records

Command = Callable[..., subprocess.CompletedProcess[str]]
INSTALLED = Path(sys.executable).with_name("hgpbench")
EXPERIMENT = "name: mine\ndataset: toy\nsplit: {train: 30, test: 20}\nrepeats: 2\nmodels:\n  mean:\n  own: {model: %s}\n"
MODEL = """
from kin import SHIFT
import numpy as np

class Plain:
    def fit(self, X, y):
        self.mean_, self.std_ = np.mean(y) + SHIFT, np.std(y)
        return self

    def predict(self, X, return_std=False):
        return np.full(len(X), self.mean_), np.full(len(X), self.std_)
"""
SAID = "{} done, {} cached, 0 failed, 0 skipped{}\n".format


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a model and what it imports, and another one to work in."""
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project/mymodel.py").write_text(MODEL)
    (tmp_path / "project/kin.py").write_text("SHIFT = 0.0\n")
    return tmp_path / "project"


@pytest.fixture
def hgpbench(tmp_path: Path) -> Command:
    """The installed command with an environment that says nothing of the project."""
    assert INSTALLED.is_file(), "install hgpbench for this Python first: `make test` does"

    def command(*words: str, cwd: str = "elsewhere") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(INSTALLED), *words],
            cwd=tmp_path / cwd,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return command


def means(results: Path, label: str = "own") -> list[float]:
    """The first prediction of each run that the experiment's manifest names; NaN where there is none."""
    folders = [results / e.folder for e in manifests.read(results / "mine").entries if e.label == label]
    return [
        float(records.read_arrays(folder).prediction.mean[0]) if records.find(folder) else float("nan")
        for folder in folders
    ]


@pytest.mark.parametrize("name", ["mymodel:Plain", "mymodel.py:Plain", "{}/mymodel.py:Plain"])
def test_a_module_beside_the_config(name: str, project: Path, hgpbench: Command) -> None:
    (project / "mine.yaml").write_text(EXPERIMENT % name.format(project))
    done = hgpbench("run", "../project/mine.yaml")
    assert (done.returncode, done.stdout) == (0, SAID(4, 0, "")), done.stderr
    assert hgpbench("run", "../project/mine.yaml").stdout == SAID(0, 4, "")
    assert {path.name for path in project.iterdir()} == {"mymodel.py", "kin.py", "mine.yaml"}
    [path, _] = (project.parent / "elsewhere/results/runs/toy").glob("mymodel.Plain/*/record.json")
    assert json.loads(path.read_text())["model"] == "mymodel:Plain"
    assert str(project) not in path.read_text().replace(str(project / "mymodel.py"), "")


def test_a_module_in_the_working_folder(project: Path, hgpbench: Command, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/mine.yaml").write_text(EXPERIMENT % "mymodel:Plain")
    done = hgpbench("run", "../elsewhere/mine.yaml", cwd="project")
    assert (done.returncode, done.stdout) == (0, SAID(4, 0, "")), done.stderr


def test_an_edited_model_is_run_again_and_the_report_shows_it(
    project: Path, hgpbench: Command, tmp_path: Path
) -> None:
    (project / "mine.yaml").write_text(EXPERIMENT % "mymodel:Plain")
    results = tmp_path / "elsewhere/results"
    assert hgpbench("run", "../project/mine.yaml").stdout == SAID(4, 0, "")
    before = {path: path.read_bytes() for path in results.glob("runs/**/record.json")}
    first = means(results)

    (project / "kin.py").write_text("SHIFT = 5.0\n")  # not the model's own file, but what it imports
    plan = hgpbench("run", "../project/mine.yaml", "--dry-run").stdout
    assert plan.count("code changed") == 2
    assert plan.count("cached") == 2
    assert "2 to run: about" in plan

    some = hgpbench("run", "../project/mine.yaml", "--only", "mean", "--seeds", "0")
    assert some.stdout == SAID(0, 1, "")
    table = hgpbench("report", "results/mine").stdout
    assert "| own   |  0/2 |" in table  # the old scores are not shown as those of the new code

    assert hgpbench("run", "../project/mine.yaml").stdout == SAID(2, 2, " (2 code changed)")
    assert means(results) == pytest.approx(
        [value + 5 * spread for value, spread in zip(first, spreads(results), strict=True)]
    )
    assert {path: path.read_bytes() for path in before} == before
    assert hgpbench("run", "../project/mine.yaml").stdout == SAID(0, 4, "")

    (project / "kin.py").write_text("# as it was\nSHIFT = 0.0\n")
    assert hgpbench("run", "../project/mine.yaml").stdout == SAID(0, 4, "")
    assert means(results) == first


def spreads(results: Path) -> list[float]:
    """Standard deviations of the training targets: a shift of the standardised target, in the user's units."""
    entries = manifests.read(results / "mine").entries
    return [
        float(records.read(results / e.folder).train_var or 0) ** 0.5 for e in entries if e.label == "own"
    ]


def test_runs_of_before_code_counted_are_read_but_not_taken(
    project: Path, hgpbench: Command, tmp_path: Path
) -> None:
    (project / "mine.yaml").write_text(EXPERIMENT % "mymodel:Plain")
    hgpbench("run", "../project/mine.yaml")
    results = tmp_path / "elsewhere/results"
    forget_the_code(results)
    table = hgpbench("report", "results/mine").stdout
    assert "| own   |  2/2 |" in table
    assert "4 to run" in (plan := hgpbench("run", "../project/mine.yaml", "--dry-run").stdout)
    assert plan.count("code changed") == 4
    assert hgpbench("run", "../project/mine.yaml").stdout == SAID(4, 0, " (4 code changed)")
    assert len(list(results.glob("runs/*/*/*/record.json"))) == 8


def forget_the_code(results: Path) -> None:
    """Make a results folder one of an earlier version, whose records and folders name no code."""
    path = results / "mine" / manifests.MANIFEST
    manifest = json.loads(path.read_text())
    manifest.pop("checksum", None)
    for entry in manifest["entries"]:
        old = entry["folder"].rpartition("-")[0]
        shutil.move(results / entry["folder"], results / old)
        entry["folder"] = old
        record = records.read(results / old)
        arrays = records.read_arrays(results / old)
        records.write(results / old, records.Record(**{**vars(record), "code": None}), arrays)
    path.write_text(json.dumps(manifest))


def test_an_edit_after_planning_is_no_result_of_the_plan(
    project: Path, hgpbench: Command, tmp_path: Path
) -> None:
    """The first run edits the module that the second one was planned with."""
    edit = "open(__file__, 'a').write('MORE = 1\\n')"
    (project / "mymodel.py").write_text(
        MODEL.replace("        self.mean_", f"        {edit}\n        self.mean_")
    )
    (project / "mine.yaml").write_text(EXPERIMENT % "mymodel:Plain")
    done = hgpbench("run", "../project/mine.yaml")
    assert done.returncode == 3
    assert done.stderr.count("the code of mymodel:Plain changed since the run was planned") == 1


def test_a_record_names_the_code_and_the_users_commit(
    project: Path, hgpbench: Command, tmp_path: Path
) -> None:
    (project / "mine.yaml").write_text(EXPERIMENT % "mymodel:Plain")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(project)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    sha = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    for dirty in (False, True):
        (project / "kin.py").write_text(f"SHIFT = {float(dirty)}\n")
        assert hgpbench("run", "../project/mine.yaml", "--only", "own", "--seeds", "0").returncode == 0
        results = tmp_path / "elsewhere/results"
        [entry] = manifests.read(results / "mine").entries
        record = records.read(results / entry.folder)
        assert record.provenance["user"] == {"git_sha": sha, "git_dirty": dirty}
        assert record.code is not None
        assert entry.folder.endswith(record.code[:12])
        assert record.code[:32] == record.identity[32:]


@pytest.mark.parametrize("module", ["x = 1 / 0\n", "import sys\nsys.exit(0)\n", "def f(:\n"])
def test_a_broken_module_is_one_line(module: str, project: Path, hgpbench: Command) -> None:
    (project / "mymodel.py").write_text(module)
    (project / "mine.yaml").write_text(EXPERIMENT % "mymodel:Plain")
    done = hgpbench("run", "../project/mine.yaml")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "../project/mine.yaml:7: models.own: model 'mymodel:Plain' cannot be imported: " in done.stderr
