"""Records: complete or absent, and never believed when damaged."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hgpbench import files
from hgpbench.bench import record as records
from hgpbench.bench.record import Arrays, Record
from hgpbench.errors import RecordError
from hgpbench.prediction import Prediction

RECORD = Record(
    status="done",
    reason=None,
    experiment="demo",
    label="gp",
    model="gp",
    params={"max_iter": 3},
    seed=0,
    identity="ab" * 32,
    dataset={"name": "toy", "variant": None, "sha256": "cd", "target": "y", "synthetic": True},
    split={"train": 5, "test": 4},
    n_train=5,
    n_test=4,
    timings={"fit_wall": 0.25},
)


def some_arrays() -> Arrays:
    draw = np.random.default_rng(0)
    mixture = Prediction.mixture(*(draw.standard_normal(4) ** 2 for _ in range(4)))
    return Arrays(
        np.arange(4), draw.standard_normal(4), mixture, draw.random((6, 3)), {"X_test": draw.random((4, 1))}
    )


def test_a_record_comes_back_whole(tmp_path: Path) -> None:
    arrays = some_arrays()
    records.write(tmp_path, RECORD, arrays)
    found = records.read(tmp_path)
    assert replace(found, predictions_sha256=None) == RECORD
    back = records.read_arrays(tmp_path)
    assert back.trace is not None
    np.testing.assert_array_equal(back.trace, arrays.trace)
    np.testing.assert_array_equal(back.index, arrays.index)
    np.testing.assert_array_equal(back.extras["X_test"], arrays.extras["X_test"])
    for name, values in arrays.prediction.arrays().items():
        np.testing.assert_array_equal(back.prediction.arrays()[name], values)
    assert {path.name for path in tmp_path.iterdir()} == {records.RECORD, records.PREDICTIONS}


def test_an_edited_record_is_not_believed(tmp_path: Path) -> None:
    records.write(tmp_path, RECORD)
    path = tmp_path / records.RECORD
    path.write_text(path.read_text().replace("0.25", "0.01"))
    with pytest.raises(RecordError, match="checksum"):
        records.read(tmp_path)
    assert records.find(tmp_path) is None


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_truncated_record_is_not_believed(tmp_path: Path, share: float) -> None:
    records.write(tmp_path, RECORD, some_arrays())
    path = tmp_path / records.RECORD
    text = path.read_text()
    path.write_text(text[: int(share * len(text))])
    with pytest.raises(RecordError, match="unreadable"):
        records.read(tmp_path)


def test_foreign_or_missing_predictions_are_noticed(tmp_path: Path) -> None:
    records.write(tmp_path, RECORD, some_arrays())
    path = tmp_path / records.PREDICTIONS
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(RecordError, match=r"predictions\.h5: missing or not the file"):
        records.read(tmp_path)
    path.unlink()
    with pytest.raises(RecordError, match=r"predictions\.h5: missing or not the file"):
        records.read(tmp_path)


def test_another_format_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / records.RECORD).write_text('{"format": 99}')
    with pytest.raises(RecordError, match="another version"):
        records.read(tmp_path)


def signed(folder: Path, **changes: Any) -> None:
    """Store the record with these keys changed, or "gone", and a good checksum."""
    records.write(folder, RECORD)
    path = folder / records.RECORD
    body = json.loads(path.read_text()) | changes
    body = {name: value for name, value in body.items() if name != "checksum" and value != "gone"}
    path.write_text(json.dumps({**body, "checksum": files.checksum(body)}))


def test_what_an_earlier_version_did_not_look_at_is_unknown(tmp_path: Path) -> None:
    signed(tmp_path, seen_share="gone")
    assert records.read(tmp_path).seen_share is None


def test_what_a_newer_version_adds_is_left_out(tmp_path: Path) -> None:
    signed(tmp_path, more=1)
    assert records.read(tmp_path) == RECORD


def test_one_with_less_is_incomplete(tmp_path: Path) -> None:
    signed(tmp_path, seed="gone")
    with pytest.raises(RecordError, match="unreadable"):
        records.read(tmp_path)


def test_one_of_a_hundred_thousand_brackets_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / records.RECORD).write_text("[" * 100_000)
    assert records.find(tmp_path) is None


def test_a_record_holds_finite_numbers_only(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a finite number"):
        records.write(tmp_path, replace(RECORD, train_mean=float("nan")))
    assert list(tmp_path.iterdir()) == []


def test_the_log_s_tail_is_its_last_lines(tmp_path: Path) -> None:
    assert records.log_tail(tmp_path) == []
    (tmp_path / records.LOG).write_text("".join(f"line {number}\n" for number in range(9_000)))
    assert records.log_tail(tmp_path, 2) == ["line 8998", "line 8999"]


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("0123456789abcdef-seed4-00aa11bb22cc", True),
        ("0123456789abcdef-seed4", True),  # as folders were named before code counted
        ("0123456789abcdef-seed4~2", True),
        ("anything else", True),
        ("0123456789abcdef-seed5-00aa11bb22cc", False),
        ("fedcba9876543210-seed4-00aa11bb22cc", False),
        ("0123456789abcdef-seed4-ffffffffffff", False),
    ],
)
def test_a_record_is_believed_in_its_own_folder_only(tmp_path: Path, name: str, fits: bool) -> None:
    ours = replace(RECORD, identity="0123456789abcdef" + "0" * 48, seed=4, code="00aa11bb22cc" + "d" * 20)
    records.write(tmp_path / name, ours)
    if fits:
        assert records.read_at(tmp_path / name, ours.model, 4) == records.read(tmp_path / name)
    else:
        with pytest.raises(RecordError, match="the record of another run"):
            records.read_at(tmp_path / name, ours.model, 4)
