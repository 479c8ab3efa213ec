"""From a table to an answer, through the installed command with nothing set up for it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Invoke

Command = Callable[..., subprocess.CompletedProcess[str]]
INSTALLED = Path(sys.executable).with_name("hgpbench")


@pytest.fixture
def hgpbench(tmp_path: Path) -> Command:
    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(INSTALLED), *words],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return command


def write(path: Path, rows: int = 160) -> None:
    """A table as people have them: a running number, dates, categories, missing cells, copies, varying noise."""
    rng = np.random.default_rng(0)
    lines = ["id,day,city,size,price"]
    for number in range(rows):
        city, size = rng.integers(0, 3), rng.uniform(0, 4)
        price = 3 * size + 2 * city + (0.05 + 0.5 * size) * rng.standard_normal()
        cell = "" if number % 40 == 7 else f"{size:.4f}"
        day = f"2021-{1 + number % 12:02d}-{1 + number % 28:02d}"
        lines.append(f"{number + 1},{day},{('Rome', 'Oslo', 'Lima')[city]},{cell},{price:.4f}")
    path.write_text("\n".join([*lines, lines[3], lines[4]]) + "\n")


def test_a_table_becomes_an_answer_with_pictures(tmp_path: Path, hgpbench: Command) -> None:
    write(tmp_path / "mine.csv")
    asked = (
        "compare",
        "mine.csv",
        "--target",
        "price",
        "--models",
        "linear,hetlinear,mean",
        "--repeats",
        "3",
    )
    refused = hgpbench(*asked)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--missing drop, mean or flag" in refused.stderr
    done = hgpbench(*asked, "--missing", "flag", "--drop", "id")
    assert done.returncode == 0, done.stderr
    head, answer, *_ = done.stdout.split("\n\n")
    assert head == "## mine: Which model for price?"
    lines = [line.removeprefix("- ") for line in answer.splitlines()]
    assert lines[0].startswith("Best: hetlinear. ")
    assert any(line.startswith("The noise varies: ") for line in lines)
    assert "Beware: 2 of the 162 rows are copies of another row." in lines
    assert lines[-1].startswith(
        "Next: `hgpbench fit --from results/mine --label hetlinear -o model.h5` fits hetlinear to all 162 rows"
    )
    report = tmp_path / "results/mine/report"
    assert lines[0].split(". ")[0] in (report / "report.html").read_text()
    assert list(report.glob("plots/*.png"))
    assert "\nnothing to run\n" in hgpbench("run", "results/mine/mine.yaml", "--dry-run").stdout
    again = hgpbench("report", "results/mine").stdout
    assert lines[0] in again
    assert json.loads((tmp_path / "results/mine/compare.json").read_text())["rows"] == 162


def test_rounds_go_to_a_cluster(tmp_path: Path, hgpbench: Command) -> None:
    write(tmp_path / "mine.csv", rows=80)
    asked = ("compare", "mine.csv", "--target", "price", "--missing", "drop", "--repeats", "3")
    done = hgpbench(*asked, "--models", "mean,linear", "--cluster", "local:1")
    assert done.returncode == 0, done.stderr
    assert "- Best: linear. " in done.stdout
    record = next(tmp_path.glob("results/runs/mine/linear/*/record.json"))
    assert json.loads(record.read_text())["provenance"]["attempt"]  # which only runs on a cluster have


def test_later_rows_and_groups(tmp_path: Path, hgpbench: Command) -> None:
    write(tmp_path / "mine.csv", rows=80)
    common = (
        "compare",
        "mine.csv",
        "--target",
        "price",
        "--models",
        "mean",
        "--missing",
        "drop",
        "--repeats",
        "3",
    )
    wrong = hgpbench(*common, "--group", "town")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "'town' is not a column of the inputs" in wrong.stderr
    done = hgpbench(*common, "--group", "city")
    assert done.returncode == 0, done.stderr
    assert "by city" in (tmp_path / "results/mine/report/report.md").read_text()
    config = tmp_path / "results/mine/mine.yaml"
    text = config.read_text()
    assert '"by": "city"' in text
    config.write_text(text.replace('"by": "city"', '"time": "day"').replace('name: "mine', 'name: "later'))
    assert hgpbench("run", "results/mine/mine.yaml").stdout == "3 done, 0 cached, 0 failed, 0 skipped\n"


def test_what_init_writes_runs(tmp_path: Path, hgpbench: Command) -> None:
    assert "now: hgpbench run new/experiment.yaml" in hgpbench("init", "new").stdout
    again = hgpbench("init", "new")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "is there already" in again.stderr
    done = hgpbench(
        "run", "new/experiment.yaml", "--seeds", "0", "--only", "mine", "--only", "gpr", "--only", "forest"
    )
    assert done.stdout == "4 done, 0 cached, 0 failed, 0 skipped\n", done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.csv",), "nowhere.csv: no such file"),
        (("toyy",), "did you mean 'toy'"),
        (("toy", "--budget", "soon"), "--budget soon: 'soon' should be a duration"),
        (("toy", "--models", "vsgpp"), "did you mean 'vsgp'"),
        (("toy", "--target", "z"), "the target of toy is y"),
        (("toy", "--group", "a", "--time", "b"), "give one of them"),
        (("toy", "--cluster", "here"), "--cluster 'here' is no cluster"),
        (("toy", "--cluster", "local:2", "--jobs", "2"), "--jobs is for this machine"),
        (("toy", "--tls-ca", "x"), "name it by --cluster"),
        (("toy", "--group", "x"), "no column to split by"),
        (("toy", "--drop", "x"), "is a dataset already"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], message: str, invoke: Invoke) -> None:
    result = invoke("compare", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("results").exists()


def test_a_few_rows_are_too_few(folder: Path, invoke: Invoke) -> None:
    write(folder / "mine.csv", rows=20)
    result = invoke("compare", "mine.csv", "--target", "price", "--missing", "drop")
    assert (result.exit_code, "too few to compare models on" in result.stderr) == (2, True)
