"""Times of earlier fits: of the same parameters, on a processor like this one."""

from pathlib import Path
from typing import Any

import pytest

from hgpbench.bench import costs, record
from hgpbench.bench.costs import Measured, measured
from hgpbench.bench.record import Record

DEFAULTS = {"n_inducing": 100, "n_jobs": None}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs.provenance, "machine", lambda: {"cpu": "ours"})


def ran(results: Path, number: int, **changes: Any) -> None:
    """Leave the record of a fit that took as many seconds as its number."""
    known: dict[str, Any] = {
        "status": "done",
        "reason": None,
        "experiment": "e",
        "label": "l",
        "model": "vsgp",
        "params": DEFAULTS,
        "seed": 0,
        "identity": "i",
        "dataset": {"name": "toy"},
        "split": {},
        "n_train": 500,
        "timings": {"fit_wall": float(number)},
        "provenance": {"machine": {"cpu": "ours"}, "threads": 1},
    }
    record.write(results / "runs" / "toy" / "vsgp" / str(number), Record(**(known | changes)))


def test_fits_are_told_by_rows_data_and_threads_with_their_median(tmp_path: Path) -> None:
    for number in (1, 2, 9):
        ran(tmp_path, number, params=DEFAULTS | {"n_jobs": number})
    ran(tmp_path, 4, n_train=40)
    ran(tmp_path, 5, provenance={"machine": {"cpu": "ours"}, "threads": 2})
    assert measured("vsgp", DEFAULTS, tmp_path) == [
        Measured("toy", 40, 1, 4.0, 1),
        Measured("toy", 500, 1, 2.0, 3),
        Measured("toy", 500, 2, 5.0, 1),
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"params": {"n_inducing": 50, "n_jobs": None}},
        {"params": {"n_jobs": None}},
        {"provenance": {"machine": {"cpu": "theirs"}, "threads": 1}},
        {"provenance": {}},
        {"status": "timeout"},
        {"model": "fitc"},
        {"timings": {}},
        {"n_train": None},
    ],
)
def test_what_does_not_tell_of_this_setting_here_is_left_out(tmp_path: Path, changes: dict[str, Any]) -> None:
    ran(tmp_path, 3)
    ran(tmp_path, 100, **changes)
    assert [each.runs for each in measured("vsgp", DEFAULTS, tmp_path)] == [1]


def test_no_folder_tells_nothing(tmp_path: Path) -> None:
    assert measured("vsgp", DEFAULTS, tmp_path / "absent") == []
