"""Standardisation inside an estimator."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.columns import CHUNK
from hgpbench.models.scaling import Scaling


def test_scaled_data_have_zero_mean_and_unit_variance():
    rng = np.random.default_rng(0)
    X, y = rng.normal(3, 50, size=(200, 3)), rng.gamma(2, size=200)
    found = Scaling.of(X, y, standardize=True)
    Z, t = found.inputs(X), found.target(y)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z.std(axis=0), 1)
    assert_allclose([t.mean(), t.std()], [0, 1], atol=1e-12)
    assert_allclose(found.undo_inputs(Z), X)


def test_a_constant_column_keeps_its_unit():
    X = np.column_stack([np.arange(5.0), np.full(5, 1e9), np.full(5, 0.1)])
    found = Scaling.of(X, np.arange(5.0), standardize=True)
    assert_allclose(found.x_scale[1:], 1.0)
    assert_allclose(found.inputs(X)[:, 1:], 0.0, atol=1e-6)


def test_extreme_columns_neither_overflow_nor_vanish():
    column = np.arange(1.0, 6.0)
    X = np.column_stack([1e300 * column, 1e-300 * column])
    found = Scaling.of(X, column, standardize=True)
    expected = (column - 3) / np.sqrt(2)
    assert_allclose(found.inputs(X), np.column_stack([expected, expected]), atol=1e-12)


def test_the_jacobian_turns_a_density_of_scaled_targets_into_one_of_targets():
    y = np.array([2.0, 4.0, 9.0])
    found = Scaling.of(np.zeros((3, 1)), y, standardize=True)
    assert found.log_jacobian(3) == pytest.approx(-3 * np.log(np.std(y)))
    assert Scaling.of(np.zeros((3, 1)), y, standardize=False).log_jacobian(3) == 0.0


def test_chunks_of_rows_add_up():
    rng = np.random.default_rng(1)
    X, y = rng.normal(7.0, 3.0, size=(2 * CHUNK + 11, 2)), rng.normal(size=2 * CHUNK + 11)
    found = Scaling.of(X, y, standardize=True)
    assert_allclose(found.x_shift, X.mean(axis=0), rtol=1e-12)
    assert_allclose(found.x_scale, X.std(axis=0), rtol=1e-12)


def test_learning_it_makes_no_copy_of_the_data():
    n = 400_000
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(n, 6)), rng.normal(size=n)
    tracemalloc.start()
    Scaling.of(X, y, standardize=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * X.nbytes
