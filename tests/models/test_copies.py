"""Predictions by copies of a model on the workers of a cluster: the same bits, whoever is lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from hgpbench import load
from hgpbench.cli import app
from hgpbench.cluster import joined
from hgpbench.models import DVSHGP, NNGP, NNHGP, copies
from tests.experts.crowd import Crowd
from tests.models.zoo import draw

distributed = pytest.importorskip("distributed", reason="clusters need dask.distributed")
SMALL: dict[str, Any] = {"n_neighbors": 8, "max_iter": 2, "n_restarts": 0, "kernel": "se", "random_state": 0}


@pytest.fixture(scope="module")
def crowd() -> Iterator[Crowd]:
    scheduler = distributed.LocalCluster(
        n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=60
    )
    with scheduler:
        there = Crowd(scheduler)
        yield there
        there.close()


def assert_same(found: Any, expected: Any) -> None:
    assert found.arrays().keys() == expected.arrays().keys()
    for name, values in expected.arrays().items():
        assert_array_equal(found.arrays()[name], values)


@pytest.mark.parametrize(
    "model", [NNGP(**SMALL), NNHGP(**SMALL, noise_kernel="se", n_noise_neighbors=8, weights=0.0)]
)
def test_neighbour_models_predict_many_rows_on_a_cluster(
    crowd: Crowd, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd.have(2)
    asked, ask = [], copies.copies

    def noted(*given: Any) -> Any:
        asked.append(given)
        return ask(*given)

    monkeypatch.setattr(copies, "copies", noted)
    monkeypatch.setattr(copies, "WORTH_COPIES", 60)
    monkeypatch.setattr(copies, "PIECE", 7)
    Xs, expected = draw(100, seed=1)[0], model.fit(*draw(80))
    expected = model.predict_dist(Xs)
    assert not asked
    model.set_params(cluster=crowd.client, n_jobs=2)
    assert_same(model.predict_dist(Xs), expected)
    assert len(asked) == 1
    assert_array_equal(model.predict(Xs[:59]), expected.mean[:59])
    assert len(asked) == 1  # so few are predicted here


def test_a_worker_that_is_lost_changes_no_bit(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "PIECE", 5)
    model, Xs = NNGP(**SMALL).fit(*draw(80)), draw(400, seed=1)[0]
    expected = model.predict_dist(Xs)
    crowd.have(2)
    with joined(crowd.client) as there, copies.copies(model, there) as predict:
        assert_same(predict(Xs[:30]), model.predict_dist(Xs[:30]))
        crowd.kill()
        assert_same(predict(Xs), expected)


def test_the_command_predicts_on_a_cluster(
    crowd: Crowd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    crowd.have(2)
    X, y = draw(120)
    frame = pd.DataFrame(X, columns=["a", "b"])
    DVSHGP(n_experts=3, n_inducing_f=5, n_inducing_g=5, n_restarts=0, random_state=0).fit(frame, y).save(
        "m.h5"
    )
    assert load("m.h5").cluster is None
    frame.to_csv("new.csv", index=False)
    here = CliRunner().invoke(app, ["predict", "m.h5", "new.csv", "-o", "here.csv"])
    words = ["predict", "m.h5", "new.csv", "-o", "there.csv", "--cluster", crowd.address]
    there = CliRunner().invoke(app, words)
    assert (here.exit_code, there.exit_code) == (0, 0), there.output
    assert Path("there.csv").read_bytes() == Path("here.csv").read_bytes()


def test_a_cluster_that_is_none_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    for words, told in (
        (["--cluster", "nowhere"], "is no cluster"),
        (["--tls-ca", "ca.pem"], "are for a cluster"),
    ):
        result = CliRunner().invoke(app, ["predict", "none.h5", "none.csv", *words])
        assert result.exit_code == 2
        assert told in result.stderr
