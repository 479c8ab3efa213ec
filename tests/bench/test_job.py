"""Identity of a run: what it depends on and what not."""

from dataclasses import replace
from typing import Any

import pytest

from hgpbench.bench.code import Code
from hgpbench.bench.job import Job, asked_by

JOB = Job(
    experiment="demo",
    label="gp",
    model="gp",
    params={"max_iter": 100, "tol": 0.5, "kind": "a", "sizes": [1, 2]},
    seed=3,
    dataset={"name": "toy", "variant": None, "sha256": "ab", "target": "y", "synthetic": True},
    split={"train": 500, "test": 100},
    threads=1,
    code=Code("12" * 32),
)


def test_the_order_of_keys_does_not_matter() -> None:
    turned = replace(
        JOB,
        params=dict(reversed(JOB.params.items())),
        split=dict(reversed(JOB.split.items())),
        dataset=dict(reversed(JOB.dataset.items())),
    )
    assert turned.identity == JOB.identity


def test_one_and_one_point_zero_are_the_same_setting() -> None:
    assert replace(JOB, params={**JOB.params, "max_iter": 100.0}).identity == JOB.identity


@pytest.mark.parametrize(
    "change",
    [
        {"experiment": "other"},
        {"label": "mine"},
        {"threads": 8},
        {"params": {**JOB.params, "n_jobs": 2}},
        {"params": {**JOB.params, "max_memory": 10**9}},
        {"swept": ("tol",)},
    ],
)
def test_names_and_costs_are_not_part_of_it(change: dict[str, Any]) -> None:
    assert replace(JOB, **change).identity == JOB.identity


@pytest.mark.parametrize(
    "change",
    [
        {"model": "mean"},
        {"seed": 4},
        {"params": {**JOB.params, "tol": 0.25}},
        {"params": {**JOB.params, "sizes": [2, 1]}},
        {"params": {k: v for k, v in JOB.params.items() if k != "kind"}},
        {"split": {"train": 500, "test": 101}},
        {"dataset": {**JOB.dataset, "sha256": "cd"}},
        {"code": Code("34" * 32)},
    ],
)
def test_everything_else_is(change: dict[str, Any]) -> None:
    other = replace(JOB, **change)
    assert other.identity != JOB.identity
    assert other.folder != JOB.folder


def test_the_setting_is_shared_by_all_seeds() -> None:
    assert replace(JOB, seed=9).setting == JOB.setting


def test_a_model_of_the_users_has_a_plain_folder() -> None:
    folder = replace(JOB, model="mine:Model", dataset={**JOB.dataset, "variant": "small"}).folder
    assert folder.parts[:3] == ("runs", "toy.small", "mine.Model")


def test_a_swept_number_of_workers_is_part_of_it() -> None:
    one, two = (replace(JOB, params={**JOB.params, "n_jobs": n}, swept=("n_jobs",)) for n in (1, 2))
    assert one.identity != two.identity


def test_runs_of_one_question_by_different_code_are_told_apart_and_found_together() -> None:
    other = replace(JOB, code=Code("34" * 32))
    assert other.setting == JOB.setting
    assert other.asked == JOB.asked == asked_by(JOB.folder.name) == asked_by(other.folder.name)
    assert asked_by(JOB.asked) == JOB.asked  # the folder of a run before code counted
    assert asked_by(JOB.folder.name + "~1") == asked_by("report") == ""
    assert replace(JOB, seed=4).asked != JOB.asked
    assert JOB.described()["code"] == JOB.code.digest
