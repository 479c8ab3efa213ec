"""Predictions on a grid: those of the model, in the user's units, and never the cost of a run."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.bench import record
from hgpbench.bench.curve import POINTS, curve
from hgpbench.bench.record import Arrays
from hgpbench.data.source import Fold
from hgpbench.errors import RecordError
from hgpbench.models import VSHGP, Linear
from hgpbench.prediction import Prediction
from hgpbench.scaling import Scaling


def fold_of(d: int) -> Fold:
    rng = np.random.default_rng(0)
    X, Xs = rng.uniform(-3, 3, (60, d)), rng.uniform(-4, 2, (9, d))
    y = 100 + 10 * X[:, 0] + rng.standard_normal(60)
    return Fold(X_train=X, y_train=y, X_test=Xs, y_test=np.zeros(9), test_index=np.arange(9))


def test_the_grid_spans_training_and_test_rows() -> None:
    fold = fold_of(1)
    model = VSHGP(8, 4, max_iter=2).fit(fold.X_train, fold.y_train)
    told = curve(model, fold, None)
    grid = told.pop("grid")
    assert grid.shape == (POINTS,)
    assert (grid[0], grid[-1]) == (fold.X_test.min(), fold.X_train.max())
    expected = model.predict_dist(grid[:, None]).arrays()
    assert told.keys() == {f"grid_{name}" for name in expected}
    for name, values in expected.items():
        assert_array_equal(told[f"grid_{name}"], values)


def test_a_model_of_scaled_rows_is_asked_for_scaled_rows() -> None:
    fold = fold_of(1)
    scaling = Scaling.of(fold.X_train, fold.y_train)
    model = Linear(standardize=False).fit(scaling.inputs(fold.X_train), scaling.target(fold.y_train))
    told = curve(model, fold, scaling)
    assert_allclose(told["grid_mean"], 100 + 10 * told["grid"], atol=1.0)


@pytest.mark.parametrize("answer", [RuntimeError("once is enough"), np.zeros(3), None])
def test_a_model_that_cannot_answer_again_loses_its_curve_only(answer: object) -> None:
    class Once:
        def predict(self, X, return_std):
            if isinstance(answer, Exception):
                raise answer
            return answer

    assert curve(Once(), fold_of(1), None) == {}


def test_more_inputs_have_no_curve() -> None:
    fold = fold_of(2)
    assert curve(Linear().fit(fold.X_train, fold.y_train), fold, None) == {}


@pytest.mark.parametrize(
    "spoilt", [{"grid_var": np.ones(3)}, {"grid": np.ones((2, 2))}, {"grid": np.array([0.0, np.nan])}]
)
def test_a_curve_that_does_not_fit_its_grid_is_no_record(tmp_path, spoilt: dict[str, np.ndarray]) -> None:
    ones = np.ones(4)
    values = {"X_test": ones[:, None], "grid": np.arange(2.0), "grid_mean": np.ones(2)}
    arrays = Arrays(np.arange(4), ones, Prediction(ones, ones, ones), None, values)
    done = record.Record("done", None, "e", "a", "m", {}, 0, "i", {}, {})
    record.write(tmp_path, done, arrays)
    assert_array_equal(record.read_arrays(tmp_path).extras["grid"], [0.0, 1.0])
    record.write(tmp_path, done, replace(arrays, extras=values | spoilt))
    with pytest.raises(RecordError, match="grid"):
        record.read_arrays(tmp_path)
