"""What is learnt of a table: kinds of columns, missing cells, categories, dates; once, and for any block."""

import json
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hgpbench.data.frames import table
from hgpbench.data.frames.choices import Choices
from hgpbench.data.frames.preprocessing import Preprocessing
from hgpbench.data.frames.survey import Learnt, learn
from hgpbench.errors import DataError

FRAME = pd.DataFrame(
    {
        "age": [1.0, None, 3.0, 8.0],
        "city": ["Rome", "Oslo", None, "Rome"],
        "when": ["2021-01-01", "2021-01-03", "2021-01-02", None],
        "y": [1.0, 2.0, 3.0, 4.0],
    }
)


def learnt(frame: pd.DataFrame, **asked: Any) -> Learnt:
    return learn(table.of_frame(frame), "y", Choices(**asked))


def numbers(frame: pd.DataFrame, **asked: Any) -> np.ndarray:
    found = table.of_frame(frame)
    plan = learn(found, "y", Choices(**asked)).plan
    return np.concatenate([plan.training(block).X for block in found.blocks()])


def test_missing_cells_are_refused_with_the_options_that_help() -> None:
    with pytest.raises(DataError) as caught:
        learnt(FRAME)
    assert str(caught.value) == (
        "the table: row 2, column 'age': the value is missing (3 columns have such cells); "
        "say --missing drop, mean or flag"
    )


def test_missing_cells_are_dropped_filled_or_flagged() -> None:
    np.testing.assert_array_equal(numbers(FRAME, missing="drop"), [[1, 1, 0]])
    third = 1 / 3
    filled = [[1, 1, 0], [4, 0, 2], [3, 2 * third, 1], [8, 1, 1]]
    np.testing.assert_allclose(numbers(FRAME, missing="mean"), filled, rtol=1e-15)
    flagged = [[1, 0, 1, 0, 0, 0], [4, 1, 0, 0, 2, 0], [3, 0, 2 * third, 1, 1, 0], [8, 0, 1, 0, 1, 1]]
    np.testing.assert_allclose(numbers(FRAME, missing="flag"), flagged, rtol=1e-15)
    names = ("age", "age missing", "city=Rome", "city missing", "when", "when missing")
    assert learnt(FRAME, missing="flag").plan.inputs == names


def test_rows_without_a_target_teach_nothing() -> None:
    frame = pd.DataFrame({"a": [1.0, 2, 3], "y": [1.0, None, 3]})
    with pytest.raises(DataError, match="row 2, column 'y': the value is missing"):
        learnt(frame)
    plan = learnt(frame, missing="mean").plan
    rows = plan.training(frame)
    assert (rows.y.tolist(), rows.kept.tolist()) == ([1, 3], [0, 2])
    assert plan.encode(frame.drop(columns="y")).X.tolist() == [[1], [2], [3]]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_blocks_of_any_size_teach_the_same(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, values = learnt(FRAME, missing="flag").plan, numbers(FRAME, missing="flag")
    monkeypatch.setattr(table, "BLOCK", size)
    parts = learnt(FRAME, missing="flag").plan
    assert parts.inputs == whole.inputs
    np.testing.assert_allclose(numbers(FRAME, missing="flag"), values, rtol=1e-14)


def test_a_plan_survives_json_to_the_bit() -> None:
    frame = FRAME.assign(size=[0.1, 1 / 3, 1e300, -5e-324], kind=["a", "b", "c", "a"])
    plan = learnt(
        frame, missing="flag", date_parts=("month", "year-cycle"), rare="pool", max_categories=2
    ).plan
    again = Preprocessing.from_json(plan.to_json())
    assert again == plan
    np.testing.assert_array_equal(again.encode(frame).X, plan.encode(frame).X)


def test_odd_json_is_a_value_error() -> None:
    good = learnt(FRAME, missing="flag").plan.to_json()
    chance = random.Random(0)
    odd: list[Any] = [None, True, 0, -1, "x", [], {}, [1], float("inf"), "number", 10**400]
    refused = 0
    for _ in range(400):
        body = json.loads(good)
        place: Any = body
        while True:
            key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if not (isinstance(place[key], dict | list) and place[key]) or chance.random() < 0.3:
                break
            place = place[key]
        place[key] = chance.choice(odd)
        try:
            Preprocessing.from_json(json.dumps(body)).encode(FRAME)
        except (ValueError, DataError):
            refused += 1
    assert refused > 300
    for text in ("", "[]", "[" * 100_000, good[:-5], "3"):
        with pytest.raises(ValueError):
            Preprocessing.from_json(text)


def test_categories_have_a_limit_that_can_be_moved() -> None:
    frame = pd.DataFrame({"c": [f"w{n % 30:02}" for n in range(90)] + ["w00"], "y": np.arange(91.0)})
    with pytest.raises(
        DataError, match=r"'c' has 30 different texts, the most are 20; .*--drop 'c'.*--rare pool.*--max-cat"
    ):
        learnt(frame)
    assert len(learnt(frame, max_categories=30).plan.inputs) == 30
    plan = learnt(frame, rare="pool", max_categories=3).plan
    assert plan.inputs == ("c=w00", "c=w01", "c=(other)")
    np.testing.assert_array_equal(plan.encode(frame).X.sum(axis=0), [4, 3, 84])


def test_numbers_can_be_names_and_two_names_are_one_number() -> None:
    frame = pd.DataFrame({"a": [1, 2, 1], "b": ["no", "yes", "no"], "y": [1.0, 2, 3]})
    assert learnt(frame, categories=("a",)).plan.inputs == ("a=2", "b=yes")
    np.testing.assert_array_equal(numbers(frame, categories=("a",)), [[0, 0], [1, 1], [0, 0]])


def test_a_new_name_is_refused_or_none_of_those_known() -> None:
    plan = learnt(pd.DataFrame({"c": ["a", "b", "c"], "y": [1.0, 2, 3]})).plan
    new = pd.DataFrame({"c": ["b", "d"]})
    with pytest.raises(
        DataError, match=r"row 12, column 'c': 'd' is none of its categories .*--unseen other"
    ):
        plan.encode(new, first_row=10)
    assert plan.ruled(unseen="other").encode(new).X.tolist() == [[0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("texts", "asked", "days"),
    [
        (["2021-03-01", "2021-03-04"], {}, [0, 3]),
        (["2021-03-01 12:00", "2021-03-02 00:00"], {}, [0, 0.5]),
        (["2021-03-01T12:00:00+02:00", "2021-03-01T22:00:00Z"], {}, [0, 0.5]),
        (["2021/03/01", "2021/03/04"], {}, [0, 3]),
        (["01.03.2021", "31.03.2021"], {}, [0, 30]),
        (["03/31/2021", "03/01/2021"], {}, [30, 0]),
        (["01/03/2021", "02/03/2021"], {"date_order": "day"}, [0, 1]),
        (["01/03/2021", "02/03/2021"], {"date_order": "month"}, [0, 31]),
        (["1 Mar 2021", "4 Mar 2021"], {}, [0, 3]),
        (["March 1, 2021", "March 4, 2021"], {}, [0, 3]),
    ],
)
def test_dates_are_days_since_the_first(texts: list[str], asked: dict[str, Any], days: list[float]) -> None:
    frame = pd.DataFrame({"d": texts, "y": [1.0, 2.0]})
    np.testing.assert_array_equal(numbers(frame, **asked)[:, 0], days)


def test_days_and_months_are_not_guessed() -> None:
    frame = pd.DataFrame({"d": ["01/03/2021", "02/03/2021"], "y": [1.0, 2.0]})
    with pytest.raises(
        DataError, match=r"row 1, column 'd': '01/03/2021' may begin with .* --date-order day or month"
    ):
        learnt(frame)


def test_parts_of_a_date() -> None:
    when = pd.to_datetime(["2021-03-01 06:00", "2024-12-29 18:00"])
    frame = pd.DataFrame({"d": when, "y": [1.0, 2.0]})
    parts = ("year", "month", "day", "weekday", "hour", "day-cycle")
    values = numbers(frame, date_parts=parts)
    np.testing.assert_array_equal(values[:, 1:6], [[2021, 3, 1, 0, 6], [2024, 12, 29, 6, 18]])
    np.testing.assert_allclose(values[:, 6:], [[1, 0], [-1, 0]], atol=1e-9)
    week = numbers(frame, date_parts=("week-cycle",))[:, 1:]
    angles = 2 * np.pi * np.array([0.25, 6.75]) / 7  # the week begins on Monday
    np.testing.assert_allclose(week, np.column_stack([np.sin(angles), np.cos(angles)]), atol=1e-9)


@pytest.mark.parametrize(
    ("column", "asked", "complaint"),
    [
        (["1", "2", "x", "3"], {}, r"row 3, column 'a': 'x' is not a number; .* --na 'x', .* --drop 'a', .* --categories"),
        ([1, 2, np.inf, 3], {}, r"row 3, column 'a': inf is not finite; .* --na inf"),
        ([1, 2, 3, 4], {"drop": ("b",)}, "has no column 'b'; did you mean|has no column 'b'"),
        ([1, 2, 3, 4], {"inputs": ("y",)}, "'y' is the target and cannot be an input too"),
        ([1, 2, 3, 4], {"categories": ("y",)}, "the target 'y' cannot be a category"),
        ([1, 2, 3, 4], {"drop": ("a",)}, "has no column beside the target 'y'"),
        ([None] * 4, {"missing": "mean"}, "'a' is left out, as none of its cells has a value"),
        (["k"] * 4, {}, "'a' is left out, as it is 'k' in every row"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_with_what_helps(column: list[Any], asked: Any, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        learnt(pd.DataFrame({"a": column, "y": [1.0, 2, 3, 5]}), **asked)


def test_markers_of_missing_cells_hold_for_numbers_too() -> None:
    frame = pd.DataFrame({"a": [1.0, -999, 3, np.inf], "y": [1.0, 2, 3, 4]})
    assert numbers(frame, na=("-999", "inf"), missing="mean")[:, 0].tolist() == [1, 2, 3, 2]


def test_a_mean_of_huge_numbers_is_finite() -> None:
    frame = pd.DataFrame({"a": [1.7e308, 1.7e308, -1.7e308, None], "y": [1.0, 2, 3, 4]})
    assert np.isfinite(numbers(frame, missing="mean")).all()


def test_columns_are_found_by_name_and_what_lacks_is_told() -> None:
    plan = learnt(pd.DataFrame({"a": [1.0, 5], "b": [2.0, 7], "y": [1.0, 2]})).plan
    assert plan.encode(pd.DataFrame({"b": [4], "z": ["w"], "a": [3]})).X.tolist() == [[3, 4]]
    with pytest.raises(DataError, match="has no column 'b'"):
        plan.encode(pd.DataFrame({"a": [1]}))
    with pytest.raises(DataError, match="more than one column 'a'"):
        plan.encode(pd.DataFrame([[1, 2, 3]], columns=["a", "a", "b"]))


@pytest.mark.parametrize(
    "asked",
    [
        {"date_parts": ("week",)},
        {"max_categories": 1},
        {"delimiter": ";;"},
        {"inputs": ()},
        {"inputs": ("a", "a")},
    ],
)
def test_choices_that_make_no_sense_are_told(asked: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="--"):
        Choices(**asked)
