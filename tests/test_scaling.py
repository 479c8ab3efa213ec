"""The one standardisation: right at any magnitude, undone to round-off."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.columns import CHUNK
from hgpbench.prediction import Prediction
from hgpbench.scaling import Scaling


def test_scaled_data_have_zero_mean_and_unit_variance():
    rng = np.random.default_rng(0)
    X, y = rng.normal(3, 50, size=(200, 3)), rng.gamma(2, size=200)
    found = Scaling.of(X, y)
    Z, t = found.inputs(X), found.target(y)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z.std(axis=0), 1)
    assert_allclose([t.mean(), t.std()], [0, 1], atol=1e-12)
    assert_allclose(found.undo_inputs(Z), X)


def test_a_constant_column_keeps_its_unit():
    X = np.column_stack([np.arange(5.0), np.full(5, 1e9), np.full(5, 0.1)])
    found = Scaling.of(X, np.arange(5.0))
    assert_allclose(found.x_scale[1:], 1.0)
    assert_allclose(found.inputs(X)[:, 1:], 0.0, atol=1e-6)


def test_extreme_columns_neither_overflow_nor_vanish():
    column = np.arange(1.0, 6.0)
    X = np.column_stack([1e300 * column, 1e-300 * column])
    found = Scaling.of(X, column)
    expected = (column - 3) / np.sqrt(2)
    assert_allclose(found.inputs(X), np.column_stack([expected, expected]), atol=1e-12)


def test_the_jacobian_turns_a_density_of_scaled_targets_into_one_of_targets():
    y = np.array([2.0, 4.0, 9.0])
    found = Scaling.of(np.zeros((3, 1)), y)
    assert found.log_jacobian(3) == pytest.approx(-3 * np.log(np.std(y)))
    assert Scaling.identity(1).log_jacobian(3) == 0.0


def test_chunks_of_rows_add_up():
    rng = np.random.default_rng(1)
    X, y = rng.normal(7.0, 3.0, size=(2 * CHUNK + 11, 2)), rng.normal(size=2 * CHUNK + 11)
    found = Scaling.of(X, y)
    assert_allclose(found.x_shift, X.mean(axis=0), rtol=1e-12)
    assert_allclose(found.x_scale, X.std(axis=0), rtol=1e-12)


def test_learning_it_makes_no_copy_of_the_data():
    n = 400_000
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(n, 6)), rng.normal(size=n)
    tracemalloc.start()
    Scaling.of(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * X.nbytes


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.mark.parametrize("magnitude", [1.0, 1e300, 1e-300, 1.7e308, 5e-310])
def test_inputs_are_standardised_at_any_magnitude(rng: np.random.Generator, magnitude: float) -> None:
    unit = rng.uniform(-1, 1, (400, 3))
    X = unit * magnitude
    Z = Scaling.of(X, unit[:, 0]).inputs(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(Z.std(axis=0), 1, rtol=1e-6 if magnitude < 1e-307 else 1e-13)
    assert Z.flags.c_contiguous


@pytest.mark.parametrize("magnitude", [1e-120, 1e-12, 1.0, 1e12, 1e120])
def test_target_is_standardised_and_undone(rng: np.random.Generator, magnitude: float) -> None:
    y = magnitude * (3 + rng.standard_normal(200))
    scaling = Scaling.of(rng.standard_normal((200, 1)), y)
    z = scaling.target(y)
    np.testing.assert_allclose([z.mean(), z.std()], [0, 1], atol=1e-13)
    ones = np.ones(200)
    back = scaling.undo(Prediction.gaussian(z, 0.5 * ones, 0.5))
    np.testing.assert_allclose(back.mean, y, rtol=1e-13, atol=1e-14 * magnitude)
    np.testing.assert_allclose(back.var, y.var(), rtol=1e-12)
    assert back.f_var is not None
    np.testing.assert_allclose(back.f_var, 0.5 * y.var(), rtol=1e-12)


@pytest.mark.parametrize("spread", [1e-200, 1e200])
def test_a_target_whose_variance_is_no_double_is_refused(rng: np.random.Generator, spread: float) -> None:
    with pytest.raises(ValueError, match="rescale y"):
        Scaling.of(rng.standard_normal((50, 1)), spread * rng.standard_normal(50))


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3e250, 1e-250])
def test_constant_columns_keep_scale_one(rng: np.random.Generator, value: float) -> None:
    X = np.column_stack([np.full(1000, value), rng.standard_normal(1000)])
    scaling = Scaling.of(X, np.full(1000, 4.2))
    assert scaling.x_scale[0] == 1.0
    assert (scaling.inputs(X)[:, 0] == 0).all()
    assert scaling.y_scale == 1.0
    assert (scaling.target(np.full(1000, 4.2)) == 0).all()


def test_a_column_that_differs_by_rounding_only_counts_as_constant() -> None:
    X = np.where(np.arange(100) % 2, 0.3, 0.1 + 0.2)[:, None]  # 0.30000000000000004
    scaling = Scaling.of(X, np.arange(100.0))
    assert scaling.x_scale[0] == 1.0
    # About zero the rounding would be all that is left, and look like a spread.
    assert (scaling.inputs(X) == 0.0).all()
    np.testing.assert_allclose(scaling.inputs(np.array([[0.3 + 1e-9], [1.3]])), [[1e-9], [1.0]], rtol=1e-6)


def test_a_constant_column_with_one_rounded_value_among_many_is_zero() -> None:
    X = np.full((100_000, 1), 0.3)
    X[7] *= 1 + 1e-13
    scaling = Scaling.of(X, np.arange(100_000.0))
    assert (scaling.inputs(X) == 0.0).all()


def test_a_far_off_mean_costs_the_spread_no_digits(rng: np.random.Generator) -> None:
    small = rng.integers(0, 1000, 500).astype(float)
    near = Scaling.of(small[:, None], small).inputs(small[:, None])
    X = (small + 2.0**40)[:, None]
    far = Scaling.of(X, small).inputs(X)
    # The mean itself is one double, good to 2^-13 here; distances between points are untouched.
    np.testing.assert_allclose(far - far[0], near - near[0], rtol=0, atol=1e-12)


def test_scales_come_from_the_rows_they_were_fitted_on() -> None:
    scaling = Scaling.of(np.array([[0.0], [2.0]]), np.array([10.0, 30.0]))
    np.testing.assert_allclose(scaling.inputs(np.array([[5.0]])), [[4.0]])
    np.testing.assert_allclose(scaling.target(np.array([40.0])), [2.0])
    assert (scaling.x_shift, scaling.y_shift, scaling.y_scale) == ([1.0], 20.0, 10.0)
