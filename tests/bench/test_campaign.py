"""What a command has to do, and what it should cost."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from hgpbench.bench import campaign as campaigns
from hgpbench.bench import record as records
from hgpbench.bench.campaign import Campaign, Options
from hgpbench.bench.costs import Estimate
from hgpbench.bench.plan import Planned
from hgpbench.bench.record import Record
from tests.bench.test_job import JOB


def campaign(results: Path, seeds: int) -> Campaign:
    jobs = [replace(JOB, seed=seed) for seed in range(seeds)]
    return Campaign(Mock(), Options(results), tuple(Planned(job, "pending") for job in jobs), {})


def test_an_estimate_reads_each_record_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        job = replace(JOB, seed=100 + seed)
        record = Record("done", None, **job.described(), timings={"total_wall": 2.0})
        records.write(tmp_path / job.folder, record)
    find = Mock(wraps=records.find)
    monkeypatch.setattr(records, "find", find)
    told = campaigns.estimate(campaign(tmp_path, 20))
    assert told == Estimate(40.0, told.memory)
    assert find.call_count == 3


def test_labels_that_ask_for_the_same_are_one_job(tmp_path: Path) -> None:
    made = campaign(tmp_path, 2)
    twice = tuple(Planned(replace(item.job, label="b"), "pending") for item in made.planned)
    due = replace(made, planned=(*made.planned, *twice)).due
    assert [(job.label, job.seed) for job in due] == [("gp", 0), ("gp", 1)]
