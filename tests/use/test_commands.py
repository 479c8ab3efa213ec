"""``hgpbench fit`` and ``hgpbench predict``, from a table to answers and one line for everything else."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hgpbench
from hgpbench.cli import app
from hgpbench.data.frames import table
from tests.use.conftest import draw

FIT = ("fit", "mine.csv", "--target", "price", "--model", "linear", "--missing", "mean")


def invoke(*words: str) -> Any:
    result = CliRunner().invoke(app, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 0 or result.stderr.count("\n") == 1
    return result


def done(*words: str) -> str:
    result = invoke(*words)
    assert result.exit_code == 0, result.stderr
    return str(result.stdout)


def test_from_a_table_to_predictions_in_two_commands(home: Path) -> None:
    told = done(*FIT)
    assert told.startswith("model.h5: Linear, fitted to 150 rows in ")
    assert "target price, 5 inputs: city=Bonn, city=Oslo, city=Rome, size, when" in told
    assert "next: hgpbench predict model.h5" in told
    assert done("predict", "model.h5", "new.csv", "-o", "out.csv") == "out.csv: 40 rows\n"
    out = pd.read_csv("out.csv")
    assert list(out) == ["mean", "std", "noise_std", "q0.05", "q0.5", "q0.95"]
    expected = hgpbench.load("model.h5").predict_dist(draw(40, seed=1))
    np.testing.assert_allclose(out["mean"], expected.mean, rtol=1e-14)  # as older pandas reads it
    np.testing.assert_allclose(out[["q0.05", "q0.95"]].T, expected.interval(0.9), rtol=1e-12)
    printed = done("predict", "model.h5", "new.csv")
    assert printed == Path("out.csv").read_text()


@pytest.mark.parametrize("size", [7, 40, 1000])
@pytest.mark.parametrize(("source", "out"), [("new.csv", "out.csv"), ("new.parquet", "out.parquet")])
def test_blocks_of_any_size_predict_the_same(
    size: int, source: str, out: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(*FIT)
    new = draw(40, seed=1).assign(row=np.arange(40.0))
    new.to_csv("new.csv", index=False)
    new.to_parquet("new.parquet")
    whole = hgpbench.load("model.h5").predict_dist(new)
    monkeypatch.setattr(table, "BLOCK", size)
    done("predict", "model.h5", source, "-o", out, "--quantiles", "0.5,0.1", "--keep", "row")
    found = pd.read_csv(out) if out.endswith("csv") else pd.read_parquet(out)
    assert list(found) == ["row", "mean", "std", "noise_std", "q0.1", "q0.5"]
    np.testing.assert_array_equal(found["row"], new["row"])
    np.testing.assert_allclose(found["q0.1"], whole.quantile(0.1), rtol=1e-12)


def test_rows_that_are_left_out_are_empty(home: Path) -> None:
    done(*FIT)
    new = pd.read_csv("new.csv")
    lost = new["size"].isna().to_numpy()
    assert "40 rows, 4 of them empty for missing cells" in done(
        "predict", "model.h5", "new.csv", "--missing", "drop", "-o", "out.csv"
    )
    np.testing.assert_array_equal(pd.read_csv("out.csv")["mean"].isna(), lost)
    new[lost].to_csv("lost.csv", index=False)
    done("predict", "model.h5", "lost.csv", "--missing", "drop", "-o", "lost.parquet")
    assert pd.read_parquet("lost.parquet")["mean"].isna().tolist() == [True] * 4


def test_a_finished_experiment_leads_to_a_model(home: Path) -> None:
    done("fetch", "--table", "mine.csv", "--target", "price", "--missing", "mean", "--name", "mine")
    models = "models: {lin: {model: linear}, small: {model: vsgp, n_inducing: 7, max_iter: 5}}"
    Path("mine.yaml").write_text(f"name: mine\ndataset: mine\nrepeats: 1\n{models}\n")
    done("run", "mine.yaml")
    told = done("fit", "--from", "results/mine", "--label", "small", "-o", "small.h5")
    assert told.startswith("small.h5: VSGP, fitted to 150 rows")
    found = hgpbench.load("small.h5")
    assert found.model.n_inducing == 7
    assert len(found.predict(pd.read_csv("new.csv"))) == 40  # dates and names as in the table
    assert invoke("fit", "--from", "results/mine", "--label", "smal", "-o", "x.h5").exit_code == 2
    assert done("fit", "mine", "--model", "mean", "-o", "mean.h5").startswith("mean.h5: Mean")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit",), "give a TABLE and --target, or --from RESULTS and --label"),
        (("fit", "mine.csv"), "name the column to predict with --target; it has city, size, when, price"),
        (("fit", "mine.csv", "--target", "price"), "say --missing drop, mean or flag"),
        (("fit", "mine.csv", "--target", "prise"), "did you mean 'price'?"),
        (("fit", "nowhere.csv", "--target", "y"), "nowhere.csv: no such file"),
        (("fit", "nowhere", "--target", "y"), "nowhere: no such dataset"),
        (("fit", "toy"), "is drawn afresh by each seed"),
        ((*FIT[:5], "lineer"), "did you mean 'linear'?"),
        ((*FIT, "--set", "alpha"), "should be NAME=VALUE"),
        ((*FIT[:5], "vsgp", "--set", "n_inducin=3"), "did you mean 'n_inducing'?"),
        ((*FIT[:5], "vsgp", "--set", "n_inducing=x"), "'x' is not allowed"),
        ((*FIT[:5], "vsgp", "--missing", "mean", "--set", "n_inducing=0"), "n_inducing"),
        ((*FIT, "-o", "no/such/m.h5"), "there is no folder no/such"),
        (("fit", "mine.csv", "--from", "results/x"), "leave them out"),
        (("fit", "--from", "results/x", "--label", "y"), "no manifest"),
        (("fit", "mine.csv", "--target", "price", "--missing", "mean", "--model", "vhgp", "-o", "mine.csv"), "is there already"),
        (("predict", "mine.csv", "new.csv"), "not a model of hgpbench"),
        (("predict", "good.h5", "nowhere.csv"), "nowhere.csv: no such file"),
        (("predict", "good.h5", "new.csv", "--quantiles", "0.5,2"), "2 is no level of a quantile"),
        (("predict", "good.h5", "new.csv", "--quantiles", "half"), "--quantiles 'half'"),
        (("predict", "good.h5", "new.csv", "-o", "out.xlsx"), "predictions are written as .csv"),
        (("predict", "good.h5", "new.csv", "-o", "mine.csv"), "mine.csv: is there already"),
        (("predict", "good.h5", "new.csv", "--keep", "sise"), "did you mean 'size'?"),
        (("predict", "good.h5", "new.csv", "--missing", "flag"), "was not fitted with it"),
        (("predict", "good.h5", "out.csv"), "has no column 'city'"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_in_one_line(words: tuple[str, ...], message: str, home: Path) -> None:
    done(*FIT, "-o", "good.h5")
    Path("out.csv").write_text("a,b\n1,2\n")
    before = sorted(home.rglob("*"))
    result = invoke(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert sorted(home.rglob("*")) == before


def test_predictions_that_fail_half_way_leave_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "BLOCK", 10)
    done(*FIT)
    new = pd.read_csv("new.csv").astype(object)
    new.loc[33, "city"] = "Paris"
    new.to_csv("new.csv", index=False)
    for out in ("out.csv", "out.parquet"):
        told = invoke("predict", "model.h5", "new.csv", "-o", out)
        assert "new.csv: row 34, column 'city': 'Paris' is none of its categories in training" in told.stderr
        assert not list(home.glob("*out*"))
        done("predict", "model.h5", "new.csv", "-o", out, "--unseen", "other")
        Path(out).unlink()
