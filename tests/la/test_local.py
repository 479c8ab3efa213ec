"""Distances among neighbours: numpy's and numba's find the same, and what a plain formula finds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.la import elementwise, local_products, local_sums

COMPILED = elementwise.compiled
needs_numba = pytest.mark.skipif(COMPILED is None, reason="the extra 'jit' is not installed")


@pytest.fixture(params=["numpy", pytest.param("numba", marks=needs_numba)])
def way(request, monkeypatch):
    monkeypatch.setattr(elementwise, "compiled", COMPILED if request.param == "numba" else None)
    return request.param


@pytest.fixture
def problem():
    rng = np.random.default_rng(2)
    X, points = rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
    return X, rng.integers(0, 40, (5, 7)), points


def test_products(way, problem):
    X, near, points = problem
    X.flags.writeable = False
    A, q = local_products(X, near, points)
    for s, rows in enumerate(near):
        Z = X[rows]
        assert_allclose(A[s], -0.5 * ((Z[:, None] - Z[None]) ** 2).sum(axis=2), rtol=1e-13, atol=1e-15)
        assert_allclose(q[s], -0.5 * ((Z - points[s]) ** 2).sum(axis=1), rtol=1e-13)


def test_sums_read_the_strictly_lower_triangle_alone(way, problem):
    X, near, points = problem
    rng = np.random.default_rng(3)
    D, Dq = rng.normal(size=(5, 7, 7)), rng.normal(size=(5, 7))
    left, right = rng.normal(size=(5, 3, 7)), rng.normal(size=(5, 2, 7))
    expected = np.zeros(3)
    for s, rows in enumerate(near):
        for i in range(7):
            expected += left[s, 2, i] * Dq[s, i] * (X[rows[i]] - points[s]) ** 2
            for j in range(i):
                W = (left[s, 0, i] * right[s, 0, j] + left[s, 1, i] * right[s, 1, j]) * D[s, i, j]
                expected += W * (X[rows[i]] - X[rows[j]]) ** 2
    D[:, *np.triu_indices(7)] = np.inf if way == "numba" else 1e3
    assert_allclose(local_sums(X, near, points, (D, Dq), left, right), expected, rtol=1e-12)


def test_far_rows_lose_no_digits(way):
    X = 1e9 + np.arange(4.0)[:, None]
    A, _ = local_products(X, np.arange(4)[None], X[:1])
    assert_allclose(A[0, 3], [-4.5, -2.0, -0.5, 0.0], rtol=1e-15)
