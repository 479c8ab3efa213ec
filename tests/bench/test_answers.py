"""Predictions are believed where they make sense, and odd remarks cost no fit."""

import json
from typing import Any

import numpy as np
import pytest

from hgpbench.bench import answers
from hgpbench.bench.execute import outcome
from hgpbench.errors import FitError
from hgpbench.models import ExactGP
from hgpbench.prediction import Prediction

ROWS = 3
ONES = np.ones(ROWS)


class Foreign:
    def __init__(self, mean: Any, std: Any) -> None:
        self._said = mean, std

    def predict(self, X: Any, return_std: bool) -> Any:
        return self._said


class Own:
    def __init__(self, said: Any) -> None:
        self._said = said

    def predict_dist(self, X: Any) -> Any:
        return self._said


@pytest.mark.parametrize(
    ("mean", "std", "complaint"),
    [
        (ONES, -ONES, "std is negative at 3"),
        (ONES + 1j, ONES, "mean is complex"),
        (ONES, ONES * 1j, "std is complex"),
        (np.ma.masked_array(ONES, [0, 1, 0]), ONES, "mean is masked at 1"),
        (ONES, np.ma.masked_array(ONES, [1, 1, 0]), "std is masked at 2"),
        (ONES[:2], ONES, r"mean has shape \(2,\), not \(3,\)"),
        (ONES[:, None], ONES, r"mean has shape \(3, 1\)"),
        (["a", "b", "c"], ONES, "mean is of type"),
        (np.array([object()] * 3), ONES, "mean is of type object"),
        (ONES * np.nan, ONES, "mean is not finite at 3 of 3"),
    ],
)
def test_what_a_foreign_regressor_predicts_is_checked(mean: Any, std: Any, complaint: str) -> None:
    with pytest.raises(FitError, match=complaint):
        answers.predict(Foreign(mean, std), np.zeros((ROWS, 1)))


@pytest.mark.parametrize("name", ["noise_var", "f_var", "g_var", "var"])
def test_no_variance_is_negative(name: str) -> None:
    moments = dict.fromkeys(("mean", "var", "noise_var", "f_mean", "f_var", "g_mean", "g_var"), ONES)
    answers.predict(Own(Prediction(**moments)), np.zeros((ROWS, 1)))
    with pytest.raises(FitError, match=r"negative at 3|not positive"):
        answers.predict(Own(Prediction(**{**moments, name: -ONES})), np.zeros((ROWS, 1)))


@pytest.mark.parametrize("said", [None, (ONES, ONES), {"mean": ONES}])
def test_what_is_no_prediction_is_said_to_be_none(said: Any) -> None:
    with pytest.raises(FitError, match="not a Prediction"):
        answers.predict(Own(said), np.zeros((ROWS, 1)))


def test_whole_numbers_and_lists_are_numbers() -> None:
    found = answers.predict(Foreign([1, 2, 3], np.ma.masked_array(ONES)), np.zeros((ROWS, 1)))
    assert found.mean.dtype == found.var.dtype == np.float64
    assert type(found.var) is np.ndarray


class Fitted:
    def __init__(self, **learned: Any) -> None:
        self.__dict__.update({f"{name}_": value for name, value in learned.items()})


@pytest.mark.parametrize(
    ("odd", "kept"),
    [
        (np.array([1, 2]), None),
        (np.array([7]), 7),
        (np.float32(0.5), 0.5),
        (object(), None),
        (float("nan"), None),
        (float("-inf"), None),
        (10**400, None),
        ([1], None),
        (True, True),
        ("x" * 10**6, "x" * 200),
        (1j, None),
    ],
)
def test_an_odd_remark_is_left_out(odd: Any, kept: Any) -> None:
    told = outcome(Fitted(n_iter=odd, outcome=odd, jitter=odd, elbo=odd, log_jacobian=odd))
    json.dumps(told, allow_nan=False)
    assert told["iterations"] == told["outcome"] == told["jitter"] == kept


def test_the_record_has_the_starts_that_were_tried_and_how_kernels_predicted() -> None:
    X = np.linspace(0.0, 3.0, 40)[:, None]
    told = outcome(ExactGP(max_iter=5, kernel="auto", random_state=0).fit(X, np.sin(X[:, 0])))
    json.dumps(told, allow_nan=False)
    assert told["starts"][0].keys() == {"lengthscale", "noise", "bound", "climbed"}
    assert sum(start["climbed"] is not None for start in told["starts"]) == 3
    assert told["kernels"]["kernel"].keys() == {"se", "matern12", "matern32", "matern52"}


@pytest.mark.parametrize(
    ("odd", "kept"),
    [
        ("many", None),
        ([1, 2], None),
        ([{"a": float("-inf"), 3: 2, "b" * 999: "x"}], [{"a": None, "3": 2.0, "b" * 200: None}]),
        ([{}] * 10**4, [{}] * 100),
    ],
)
def test_odd_starts_are_cut_or_left_out(odd: Any, kept: Any) -> None:
    told = outcome(Fitted(starts=odd, kernel_densities=odd))
    json.dumps(told, allow_nan=False)
    assert told["starts"] == kept
    assert told["kernels"] is None
