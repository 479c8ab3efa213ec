"""A table that an experiment names by its path becomes a dataset, once."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from hgpbench.data.source import open_source
from tests.cli.conftest import Invoke

ROWS = "".join(f"{number},{number % 3},{number**2 % 17}\n" for number in range(40))
CONFIG = "name: mine\ndataset: {}\nsplit: {{train: 30, test: 10}}\nrepeats: 1\nmodels: {{mean: , linear: }}\n"


def write(folder: Path, dataset: str, rows: str = f"a,b,y\n{ROWS}") -> None:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/sales 21.csv").write_text(rows)
    (folder / "mine.yaml").write_text(CONFIG.format(dataset))


def test_a_table_is_imported_once_and_told(folder: Path, invoke: Invoke) -> None:
    write(folder, "{path: data/sales 21.csv, target: y, keep_index: true}")
    first = invoke("run", "mine.yaml")
    assert first.stdout == "2 done, 0 cached, 0 failed, 0 skipped\n"
    assert first.stderr.startswith("sales-21: 40 rows, 2 inputs, target y, datasets/sales-21.h5 (written in")
    assert "\n    inputs: a, b\n" in first.stderr
    written = (folder / "datasets/sales-21.h5").stat()
    again = invoke("run", "mine.yaml")
    assert again.stdout == "0 done, 2 cached, 0 failed, 0 skipped\n"
    assert "datasets/sales-21.h5 (there already)" in again.stderr
    assert (folder / "datasets/sales-21.h5").stat().st_mtime_ns == written.st_mtime_ns


def test_other_content_or_another_reading_is_another_dataset(folder: Path, invoke: Invoke) -> None:
    write(folder, "{path: data/sales 21.csv, target: y, keep_index: true}")
    invoke("run", "mine.yaml", "--dry-run")
    write(folder, "{path: data/sales 21.csv, target: y, keep_index: true}", f"a,b,y\n{ROWS}3,4,5\n")
    grown = invoke("run", "mine.yaml", "--dry-run")
    write(folder, "{path: data/sales 21.csv, target: b, inputs: [y]}")
    chosen = invoke("run", "mine.yaml", "--dry-run")
    names = [result.stderr.partition(":")[0] for result in (grown, chosen)]
    assert len({"sales-21", *names}) == 3
    assert [open_source(name).rows for name in ("sales-21", *names)] == [40, 41, 40]
    assert open_source(names[1]).columns == ("y",)


def test_the_file_is_found_beside_the_config_and_knows_its_target(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "there").mkdir()
    with h5py.File(folder / "there/t.h5", "w") as file:
        file["X"], file["y"] = np.arange(80.0).reshape(40, 2) ** 1.5, np.arange(40.0)
    (folder / "there/mine.yaml").write_text(CONFIG.format("t.h5"))
    done = invoke("run", "there/mine.yaml", "--dry-run")
    assert (done.exit_code, done.stderr.partition(":")[0]) == (0, "t")


def test_several_datasets_run_one_after_the_other(folder: Path, invoke: Invoke) -> None:
    write(folder, "")
    text = CONFIG.format("").replace("dataset:", "datasets: [toy, {path: data/sales 21.csv, target: y}]")
    (folder / "mine.yaml").write_text(text)
    assert invoke("run", "mine.yaml").stdout == "4 done, 0 cached, 0 failed, 0 skipped\n"
    assert sorted(path.parent.name for path in folder.glob("results/*/experiment.json")) == [
        "mine+sales-21",
        "mine+toy",
    ]


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("nowhere.csv", "mine.yaml:2: dataset: no such file: "),
        ("data/sales 21.csv", "mine.yaml:2: dataset: sales 21.csv: name the column to predict with --target; it"),
        ("{path: data/sales 21.csv, target: z}", "has no column 'z'"),
        ("data/sales 21.csv", "; here such options are keys beside path:, without the dashes"),
        ("{path: data/sales 21.csv, target: y, date_parts: [moon]}", "no such part"),
        ("~nosuchuser/x.csv", "there is no such user's home folder"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(
    dataset: str, message: str, folder: Path, invoke: Invoke
) -> None:
    write(folder, dataset)
    result = invoke("run", "mine.yaml")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("hgpbench: mine.yaml:2: dataset: ")
    assert result.stderr.count("\n") == 1
    assert not (folder / "results").exists()
    assert not list(folder.glob("datasets/*"))
