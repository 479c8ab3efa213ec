"""Large plans: work in proportion to runs and records, and a bound on both."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from hgpbench import config
from hgpbench.bench import provenance
from hgpbench.bench import record as records
from hgpbench.bench.campaign import Campaign, Options, estimate, prepare
from hgpbench.bench.costs import Estimate, by_arithmetic
from hgpbench.bench.record import Record
from hgpbench.config import yamlfile
from hgpbench.errors import ConfigError


def campaign(results: Path, labels: int, seeds: int) -> Campaign:
    models = "".join(f"  l{i}: {{model: gp, max_iter: {i + 1}}}\n" for i in range(labels))
    text = f"name: big\ndataset: toy\nsplit: {{train: 40, test: 20}}\nrepeats: {seeds}\nmodels:\n{models}"
    return prepare(config.check(yamlfile.parse(text, Path("big.yaml"))), Options(results))


def finish(results: Path, planned: Campaign, label: str, seconds: float) -> None:
    for each in planned.planned:
        if each.job.label == label:
            done = Record(status="done", reason=None, **each.job.described(), timings={"total_wall": seconds})
            records.write(results / each.job.folder, done)


def test_more_runs_than_a_command_can_hold_are_refused_at_once(tmp_path: Path) -> None:
    start = time.process_time()
    with pytest.raises(ConfigError, match=r"big\.yaml: 2,000,000 runs .*--only or --seeds"):
        campaign(tmp_path, 2_000, 1_000)
    assert time.process_time() - start < 10


def test_each_record_is_read_once_for_an_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = campaign(tmp_path, 3, 40)
    finish(tmp_path, planned, "l0", 2.0)
    planned = campaign(tmp_path, 3, 60)
    asked = []
    real = records.find
    monkeypatch.setattr(records, "find", lambda folder: asked.append(folder) or real(folder))
    told = estimate(planned)
    assert len(planned.due) == 140
    assert told == Estimate(280.0, told.memory)
    assert len(asked) == 40


def test_runs_of_the_same_setting_tell_most(tmp_path: Path) -> None:
    planned = campaign(tmp_path, 2, 2)
    finish(tmp_path, planned, "l0", 2.0)
    assert estimate(campaign(tmp_path, 2, 3)).seconds == 2.0 + 3 * 2.0
    finish(tmp_path, planned, "l1", 10.0)
    assert estimate(campaign(tmp_path, 2, 3)).seconds == 2.0 + 10.0


def test_records_without_times_tell_nothing(tmp_path: Path) -> None:
    planned = campaign(tmp_path, 1, 1)
    job = planned.planned[0].job
    records.write(tmp_path / job.folder, Record(status="done", reason=None, **job.described()))
    told = estimate(campaign(tmp_path, 1, 2))
    assert told.guessed == 1


def test_what_never_ran_is_told_by_its_arithmetic(tmp_path: Path) -> None:
    told = estimate(campaign(tmp_path, 2, 3))
    assert (told.guessed, told.unknown) == (6, 0)
    assert told.seconds > 0
    planned = campaign(tmp_path, 1, 1)
    [job] = [each.job for each in planned.planned]
    few = by_arithmetic(job, 100, 1, tmp_path)
    many = by_arithmetic(job, 1_000, 1, tmp_path)
    assert few is not None
    assert many is not None
    assert many > 100 * few  # an exact GP is cubic in its rows


def test_memory_is_that_of_the_largest_run_and_as_many_as_are_at_once(tmp_path: Path) -> None:
    planned = campaign(tmp_path, 2, 2)
    guessed = estimate(planned).memory
    assert 1.5e8 < guessed < 4e8
    assert estimate(replace(planned, options=replace(planned.options, parallel=3))).memory == 3 * guessed
    assert estimate(replace(planned, options=replace(planned.options, parallel=9))).memory == 4 * guessed
    job = planned.planned[0].job
    took = Record("done", None, **job.described(), timings={"total_wall": 1.0}, peak_memory=int(9e8))
    records.write(tmp_path / job.folder, took)
    assert estimate(campaign(tmp_path, 2, 3)).memory == 9e8


def test_a_fit_of_another_size_corrects_it(tmp_path: Path) -> None:
    planned = campaign(tmp_path, 1, 1)
    [job] = [each.job for each in planned.planned]
    origin = {"machine": {"cpu": provenance.machine()["cpu"]}}
    record = Record("done", None, **job.described(), n_train=40, timings={"fit_wall": 9.0}, provenance=origin)
    records.write(tmp_path / job.folder, record)
    found = by_arithmetic(job, 40, 1, tmp_path)
    assert found == pytest.approx(9.0)
