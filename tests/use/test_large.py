"""Tables that memory does not hold: by blocks into a file, from which models learn as from arrays."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hgpbench
from hgpbench.cli import app
from hgpbench.data import store
from hgpbench.data.frames.choices import Choices
from hgpbench.data.frames.reading import opened
from hgpbench.data.own import import_table
from hgpbench.errors import DataError
from hgpbench.fitting.filerows import FileRows
from hgpbench.models import DVSHGP, VSGP
from hgpbench.models.base import Estimator
from hgpbench.use import fitting, predictor
from hgpbench.use.predictor import Predictor
from tests.use.conftest import draw

NEW = draw(30, seed=2).drop(columns="price")
CHOICES = Choices(missing="mean")


def small() -> DVSHGP:
    return DVSHGP(
        expert_size=30,
        n_inducing_f=5,
        n_inducing_g=5,
        optimizer="natural(n_passes=2)",
        n_restarts=0,
        random_state=0,
    )


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Every table is large; whether models saw rows in a file."""
    monkeypatch.setattr(predictor, "LARGE", 0)
    seen, validated = [], Estimator._validated

    def look(self: Estimator, X: Any, y: Any) -> Any:
        found = validated(self, X, y)
        seen.append(isinstance(found[0], FileRows))
        return found

    monkeypatch.setattr(Estimator, "_validated", look)
    return seen


def assert_same(found: Predictor, expected: Predictor) -> None:
    for name, values in expected.predict_dist(NEW.fillna(1.0)).arrays().items():
        np.testing.assert_array_equal(found.predict_dist(NEW.fillna(1.0)).arrays()[name], values)


def test_a_large_table_is_learnt_from_a_file_to_the_same_bits(
    home: Path, all_large: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Predictor.fit("mine.csv", "price", small(), CHOICES)
    assert all_large == [True]
    monkeypatch.setattr(predictor, "LARGE", 10**9)
    assert_same(found, Predictor.fit("mine.csv", "price", small(), CHOICES))
    assert all_large == [True, False]


def test_models_that_need_all_rows_get_them(home: Path, all_large: list[bool]) -> None:
    Predictor.fit("mine.csv", "price", VSGP(n_inducing=5, max_iter=2), CHOICES)
    assert all_large == [False]


def test_a_large_dataset_stays_in_its_file(home: Path, all_large: list[bool]) -> None:
    import_table("mine.csv", "mine", "price", choices=CHOICES)
    rows = fitting.from_table("mine", None, Choices(), blockwise=True)
    assert isinstance(rows.X, h5py.Dataset)
    found = fitting.fitted(small(), rows).predictor
    assert all_large == [True]
    held = fitting.from_table("mine", None, Choices())
    assert held.plan == rows.plan
    assert_same(found, fitting.fitted(small(), held).predictor)


def test_a_large_dataset_that_was_changed_is_refused(home: Path, all_large: list[bool]) -> None:
    described = import_table("mine.csv", "mine", "price", choices=CHOICES)
    with h5py.File(described.path, "r+") as file:
        file["X"][3, 0] += 1.0
    with pytest.raises(DataError, match="damaged or edited"):
        fitting.from_table("mine", None, Choices(), blockwise=True)


def test_rows_in_a_scratch_file_outlive_its_folder() -> None:
    blocks = [(np.ones((3, 2)), np.ones(3)), (np.zeros((2, 2)), np.zeros(2))]
    X, y = store.scratch(iter(blocks), 2, 9)
    assert not Path(X.file.filename).exists()
    np.testing.assert_array_equal(X[...], [[1, 1], [1, 1], [1, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(y, [1, 1, 1, 0, 0])


def in_parts(frame: pd.DataFrame, folder: Path) -> Path:
    pytest.importorskip("pyarrow")
    folder.mkdir()
    for place, start in enumerate(range(0, len(frame), 40)):
        frame.iloc[start : start + 40].to_parquet(folder / f"part.{place}.parquet", index=False)
    (folder / "_SUCCESS").touch()
    return folder


def test_a_folder_of_parquet_files_is_one_table(home: Path) -> None:
    in_parts(draw(150), home / "parts")
    with opened(home / "parts") as table:
        pd.testing.assert_frame_equal(table.frame(), whole(home))
    drop = Choices(missing="drop")
    found = Predictor.fit("parts", "price", small(), drop)
    assert_same(found, Predictor.fit("mine.csv", "price", small(), drop))


def whole(home: Path) -> pd.DataFrame:
    draw(150).to_parquet(home / "whole.parquet", index=False)
    with opened(home / "whole.parquet") as table:
        return table.frame()


def test_files_of_a_folder_with_other_columns_are_refused(home: Path) -> None:
    in_parts(draw(80), home / "parts")
    draw(5).rename(columns={"size": "area"}).to_parquet(home / "parts" / "z.parquet", index=False)
    with pytest.raises(DataError, match=r"parts/z.parquet: has the columns .*area.*one table"):
        Predictor.fit("parts", "price", small(), CHOICES)
    (home / "empty").mkdir()
    with pytest.raises(DataError, match="empty: is a folder without Parquet files"):
        Predictor.fit("empty", "price", small(), CHOICES)


def test_the_command_leaves_large_tables_in_a_file(home: Path, all_large: list[bool]) -> None:
    in_parts(draw(150), home / "parts")
    words = ["fit", "parts", "--target", "price", "--missing", "mean", "--set", "n_restarts=0"]
    result = CliRunner().invoke(app, [*words, "--set", "expert_size=40", "--set", "n_inducing_f=5"])
    assert result.exit_code == 0, result.output
    assert all_large == [True]
    assert len(hgpbench.load("model.h5").model.labels_) == 150
