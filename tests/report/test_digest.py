"""The kept digest holds exactly as long as the record and the code do."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from hgpbench import files, metrics
from hgpbench.bench import record
from hgpbench.errors import RecordError
from hgpbench.prediction import Prediction
from hgpbench.report import digest
from hgpbench.report.plots.distributions import coverage


@pytest.fixture(params=[False, True])
def run(request, results, fake):
    results.finish(fake("gp", 0.1, mixture=request.param), 3)
    folder = results.folder("gp", 3)
    return folder, record.read(folder)


def test_scores_are_those_of_the_stored_prediction(run) -> None:
    folder, found = run
    arrays = record.read_arrays(folder)
    expected = metrics.score(arrays.y, arrays.prediction, found.train_mean, found.train_var)
    assert digest.of_run(folder, found).scores == expected


def test_kept_digest_equals_the_computed_one(run, monkeypatch) -> None:
    folder, found = run
    computed = digest.of_run(folder, found)

    def refuse(*_):
        raise AssertionError("computed again")

    monkeypatch.setattr(digest, "compute", refuse)
    assert digest.of_run(folder, found) == computed


@pytest.mark.parametrize("change", ["record", "code", "pit"])
def test_a_kept_digest_that_does_not_fit_is_made_afresh(run, change: str) -> None:
    folder, found = run
    computed = digest.of_run(folder, found)
    path = folder / digest.SCORES
    body = json.loads(path.read_text())
    body["scores"]["smse"] = 99.0
    if change == "pit":
        del body["pit"]  # written by another version, or half written
    else:
        body[change] = "another"
    path.write_text(json.dumps(body))
    assert digest.of_run(folder, found) == computed
    assert json.loads(path.read_text())["scores"]["smse"] == computed.scores["smse"]


@pytest.mark.parametrize("count", [10**400, -1])
def test_a_sealed_digest_with_an_impossible_count_is_made_afresh(run, count: int) -> None:
    folder, found = run
    computed = digest.of_run(folder, found)
    path = folder / digest.SCORES
    body = json.loads(path.read_text())
    del body["checksum"]
    body["pit"][0] = count
    path.write_text(json.dumps(body | {"checksum": digest.files.checksum(body)}))
    assert digest.of_run(folder, found) == computed


def test_a_place_that_cannot_be_written_still_gives_scores(run, monkeypatch) -> None:
    folder, found = run

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(digest.files, "write_text", full)
    assert math.isfinite(digest.of_run(folder, found).scores["smse"])
    assert not (folder / digest.SCORES).exists()


def test_coverage_curve_agrees_with_the_score_and_the_direct_count(run) -> None:
    folder, found = run
    arrays = record.read_arrays(folder)
    made = digest.of_run(folder, found)
    curve = coverage(np.array(made.pit, dtype=float))
    assert sum(made.pit) == arrays.y.size
    assert curve[95] == pytest.approx(made.scores["coverage95"], abs=1e-12)
    inside = np.abs(2 * arrays.prediction.cdf(arrays.y) - 1) <= 0.5
    assert curve[50] == pytest.approx(np.mean(inside), abs=1e-12)
    assert curve[[0, 100]].tolist() == [0.0, 1.0]


def test_trace_is_thinned_but_keeps_its_ends(run) -> None:
    folder, found = run
    arrays = record.read_arrays(folder)
    long = np.column_stack([np.arange(5000.0), np.arange(5000.0) / 10, -1 / np.arange(1.0, 5001.0)])
    made = digest.compute(found, replace(arrays, trace=long))
    assert len(made.trace) == digest.TRACE_POINTS
    assert made.trace[0] == tuple(long[0])
    assert made.trace[-1] == tuple(long[-1])
    assert digest.compute(found, replace(arrays, trace=None)).trace == ()


def test_constant_noise_is_recognised(results, fake) -> None:
    for label, noise in (("flat", 0.2), ("varied", None)):
        results.finish(fake(label, noise=noise), 0)
        folder = results.folder(label, 0)
        assert digest.of_run(folder, record.read(folder)).has_constant_noise == (noise is not None)


def test_predictions_that_cannot_be_scored_are_refused(run) -> None:
    folder, found = run
    arrays = record.read_arrays(folder)
    bad = replace(arrays.prediction, mean=np.full_like(arrays.prediction.mean, np.nan))
    with pytest.raises(RecordError, match="not all finite"):
        digest.compute(found, replace(arrays, prediction=bad))
    with pytest.raises(RecordError, match="do not match"):
        digest.compute(found, replace(arrays, y=arrays.y[:-1]))
    with pytest.raises(RecordError, match="training targets"):
        digest.compute(replace(found, train_var=None), arrays)


def test_variances_of_f_are_kept_where_the_model_tells_them(run) -> None:
    folder, found = run
    arrays = record.read_arrays(folder)
    kept = digest.compute(found, arrays).log_latent
    assert kept[0] == pytest.approx(np.log(arrays.prediction.f_var.min()))
    assert kept[-1] == pytest.approx(np.log(arrays.prediction.f_var.max()))
    silent = Prediction(arrays.prediction.mean, arrays.prediction.var, arrays.prediction.noise_var)
    assert digest.compute(found, replace(arrays, prediction=silent)).log_latent == ()


def test_scores_that_an_older_report_did_not_know_are_computed_from_the_predictions(run) -> None:
    folder, found = run
    computed = digest.of_run(folder, found)
    path = folder / digest.SCORES
    body = json.loads(path.read_text())
    del body["checksum"], body["scores"]["calibration"]
    path.write_text(json.dumps({**body, "checksum": files.checksum(body)}))
    assert digest.of_run(folder, found) == computed
    assert json.loads(path.read_text())["scores"]["calibration"] == computed.scores["calibration"]
