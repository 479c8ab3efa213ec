"""The README runs as printed: its commands, its Python and its experiment, in a clean environment."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hgpbench.data import store
from hgpbench.data.split import Split
from tests import readme

DOCUMENT = readme.README.read_text()
BLOCKS = readme.blocks(DOCUMENT)
PYTHON = """
import numpy as np
rng = np.random.default_rng(0)
X, X_new = rng.uniform(-2, 2, (150, 2)), rng.uniform(-2, 2, (30, 2))
y, y_new = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(150), np.sin(X_new[:, 0])
"""


def of(language: str) -> list[readme.Block]:
    return [block for block in BLOCKS if block.language == language]


def test_every_block_is_of_a_kind_that_is_tested_here() -> None:
    kinds = Counter(block.language for block in BLOCKS)
    assert kinds == {"sh": 2, "console": 1, "python": 1, "yaml": 1, "": 3}


def test_what_is_not_run_is_in_the_readme_and_nothing_else() -> None:
    shell = {command for block in of("sh") for command in readme.commands(block)}
    console = {step.command for block in of("console") for step in readme.steps(block)}
    assert shell <= readme.NOT_RUN.keys()
    assert readme.NOT_RUN.keys() <= shell | console
    assert len(console - readme.NOT_RUN.keys()) >= 2


def test_the_console_prints_what_the_readme_says(tmp_path: Path) -> None:
    for block in of("console"):
        for step in readme.steps(block):
            if step.command in readme.NOT_RUN:
                continue
            output = readme.run(step.command, tmp_path)
            found = list(readme.as_printed(step.printed, output))
            missing = [line for line, new in zip(step.printed, found, strict=True) if new is None]
            assert not missing, f"{step.command} prints no such line (`make readme` renews figures): {output}"
    check_layout(tmp_path)


def check_layout(folder: Path) -> None:
    """The files that the README says a results folder has, after its own commands."""
    [layout] = [block.text for block in of("") if block.text.startswith("results/\n")]
    [run] = folder.glob("results/runs/toy/vshgp/*-seed3-*/")
    for name in ("record.json", "predictions.h5", "log.txt"):
        assert name in layout
        assert (run / name).is_file()
    assert "demo/experiment.json" in layout
    assert (folder / "results/demo/experiment.json").is_file()


@pytest.mark.parametrize("command", [each for each in readme.NOT_RUN if " reproduce " in each])
def test_what_takes_hours_can_be_planned(command: str, tmp_path: Path) -> None:
    assert " to run: " in readme.run(f"{command} --dry-run", tmp_path)
    assert not (tmp_path / "results").exists()


def test_the_python_runs(tmp_path: Path) -> None:
    [block] = of("python")
    check = "assert mean.shape == std.shape == dist.mean.shape == (30,)\n"
    done = subprocess.run(
        [sys.executable, "-c", PYTHON + block.text + check],
        cwd=tmp_path,
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_experiment_is_one(tmp_path: Path) -> None:
    [block] = of("yaml")
    (tmp_path / "mine.yaml").write_text(block.text)
    store_protein(tmp_path / "datasets/protein.h5")
    plan = readme.run("hgpbench run mine.yaml --dry-run", tmp_path)
    labels = Counter(line.split()[0] for line in plan.splitlines() if "pending" in line)
    assert labels == dict.fromkeys(["linear", "small", "large:n_inducing=200", "large:n_inducing=400"], 10)
    assert all(label in block.text for label in labels)
    quick = readme.run("hgpbench run mine.yaml --dry-run --quick", tmp_path)
    assert quick.count("pending") == 4


def test_ones_own_dataset_is_imported(tmp_path: Path) -> None:
    command = "hgpbench fetch --table mine.csv --target y --name mine"
    assert f"`{command}`" in DOCUMENT
    np.savetxt(tmp_path / "mine.csv", np.eye(5), delimiter=",", header="a,b,c,d,y", comments="")
    assert readme.shape(readme.run(command, tmp_path)).startswith("mine: # rows, # inputs, target y")


def test_a_claim_is_quoted_from_the_results() -> None:
    """The quoted verdict is a row of the report of full-size runs, which takes days to make."""
    results = (readme.README.parent / "docs/results.md").read_text()
    [block] = [block for block in of("") if block.text.startswith("| does not hold")]
    for part in block.text.split("|"):
        assert part.strip() in results


def test_shapes_forget_figures_and_nothing_else() -> None:
    assert readme.shape("| gp |  5/5 | **0.42 ± 0.03** |") == readme.shape("| gp | 5/5 | 1.5 |")
    assert readme.shape("| gp | 5/5 | 0.4 |") != readme.shape("| vsgp | 5/5 | 0.4 |")
    assert readme.shape("done gp seed 1: fit 0.1 s") != readme.shape("failed gp seed 1: fit 0.1 s")
    lines = ("| model | runs | ...", "|---|", "| gp | 5/5 |")
    output = "x\n| model | runs | SMSE |\n|----|---:|---:|\n| gp    |  4/5 | 0.1 |\n"
    assert list(readme.as_printed(lines, output)) == ["| model | runs | ...", "|----|", "| gp    |  4/5 |"]
    assert list(readme.as_printed(("| fitc | 5/5 |",), output)) == [None]
    assert list(readme.as_printed(("| gp | 5/5 |", "| model | runs | ..."), output))[1] is None


def test_a_command_renews_the_figures(tmp_path: Path) -> None:
    document = (
        "Before\n\n```console\n$ echo a 2; echo b; echo c 5\na 1\n...\nc 1\n\n$ make test\nx 1\n```\nAfter\n"
    )
    expected = document.replace("\na 1\n", "\na 2\n").replace("\nc 1\n", "\nc 5\n")
    assert readme.renewed(document, tmp_path) == expected


def store_protein(path: Path) -> None:
    """A stand-in of protein's size, as fetch would have left it."""
    rows = 45_730
    table = store.Table(
        np.zeros((rows, 9)), np.zeros(rows), tuple(f"F{number}" for number in range(1, 10)), "RMSD"
    )
    about = store.About("protein", None, "", "", "", "", "", "", Split(35_000, 10_730))
    store.write(path, table, about)
