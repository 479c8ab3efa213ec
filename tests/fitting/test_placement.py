"""First inducing points: rows of the data, distinct, spread, repeatable."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import pairwise_distances

from hgpbench.fitting import placement
from hgpbench.fitting.placement import inducing_points


def place(X: np.ndarray, m: int, seed: int = 0) -> np.ndarray:
    return inducing_points(X, m, np.random.default_rng(seed))


def is_row_of(points: np.ndarray, X: np.ndarray) -> bool:
    return {tuple(row) for row in points} <= {tuple(row) for row in X}


def test_they_are_distinct_rows():
    X = np.random.default_rng(1).normal(size=(500, 3))
    points = place(X, 40)
    assert points.shape == (40, 3)
    assert is_row_of(points, X)
    assert len(np.unique(points, axis=0)) == 40


def test_they_cover_the_data_better_than_random_rows():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1000, 2))
    random = X[rng.choice(1000, 30, replace=False)]

    def error(points: np.ndarray) -> float:
        return float((pairwise_distances(X, points).min(axis=1) ** 2).mean())

    assert error(place(X, 30)) < 0.75 * error(random)


def test_one_seed_repeats_whatever_the_order_of_rows():
    X = np.random.default_rng(3).normal(size=(300, 2))
    order = np.random.default_rng(4).permutation(300)
    assert_array_equal(place(X, 20), place(X, 20))
    assert_array_equal(place(X, 20), place(X[order], 20))
    assert not np.array_equal(place(X, 20), place(X, 20, seed=1))


def test_units_of_columns_do_not_matter():
    X = np.random.default_rng(5).normal(size=(300, 2))
    units = np.array([1.0, 2.0**40])
    assert_array_equal(place(X * units, 20), place(X, 20) * units)


@pytest.mark.parametrize("m", [12, 40])
def test_fewer_rows_than_points_give_all_distinct_rows(m):
    rows = np.random.default_rng(6).normal(size=(12, 2))
    points = place(np.repeat(rows, 3, axis=0), m)
    assert_array_equal(points, np.unique(rows, axis=0))


def test_shared_nearest_rows_are_replaced():
    X = np.concatenate([np.linspace(0, 1e-9, 30), [1.0, 2.0]])[:, None]
    points = place(X, 25)
    assert len(np.unique(points, axis=0)) == 25
    assert is_row_of(points, X)


def test_only_a_sample_of_many_rows_is_clustered(monkeypatch):
    seen: list[int] = []

    class Counting(placement.KMeans):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(len(X))
            return super().fit(X, sample_weight=sample_weight)

    monkeypatch.setattr(placement, "KMeans", Counting)
    X = np.random.default_rng(7).normal(size=(60_000, 2))
    assert is_row_of(place(X, 10), X)
    assert seen == [placement.FEWEST_ROWS]
