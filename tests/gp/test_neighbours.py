"""A latent function from neighbouring rows, against the exact GP and dense formulas."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.fitting.threads import runner
from hgpbench.gp import neighbours
from hgpbench.gp.kernels import KERNELS, SEARD, KernelName
from hgpbench.gp.neighbours import Neighbourhood
from tests.models.zoo import draw


@pytest.mark.parametrize("name", KERNELS)
def test_all_rows_as_neighbours_give_the_exact_gp(name: KernelName) -> None:
    X, y = draw(40)
    X[7] = X[30]
    r = np.random.default_rng(3).uniform(0.05, 0.5, 40)
    kernel, (Xs, _) = KERNELS[name](1.2, np.array([0.9, 1.6])), draw(15, seed=4)
    A = kernel.cross(X, X) + np.diag(r + 1.2e-6)
    Ksn = kernel.cross(Xs, X)
    mu, s2 = Neighbourhood.of(kernel, X, y, r, 100, mean=0.3).moments(Xs)
    assert_allclose(mu, 0.3 + Ksn @ np.linalg.solve(A, y - 0.3), rtol=1e-9)
    assert_allclose(s2, 1.2 * (1 + 1e-6) - np.sum(Ksn * np.linalg.solve(A, Ksn.T).T, axis=1), rtol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_left_out_moments_are_those_of_refits(name: KernelName) -> None:
    """n fits without one row each; two rows are copies, and a row's copy is not itself."""
    X, y = draw(30)
    X[4] = X[19]
    r = np.random.default_rng(1).uniform(0.05, 0.5, 30)
    kernel = KERNELS[name](0.8, np.array([0.7, 1.1]))
    rows = np.array([4, 0, 19, 29])
    mu, s2 = Neighbourhood.of(kernel, X, y, r, 12).left_out(rows)
    for place, row in enumerate(rows):
        rest = np.delete(np.arange(30), row)
        alone = Neighbourhood.of(kernel, X[rest], y[rest], r[rest], 12)
        assert_allclose((mu[place], s2[place]), np.ravel(alone.moments(X[row : row + 1])), rtol=1e-9)


def test_neighbours_are_the_nearest_in_lengthscales() -> None:
    X, y = draw(200)
    kernel, (Xs, _) = SEARD(1.0, np.array([0.2, 5.0])), draw(5, seed=6)
    mu, s2 = Neighbourhood.of(kernel, X, y, np.full(200, 0.1), 10).moments(Xs)
    for i, point in enumerate(Xs):
        near = np.argsort(np.sum(((X - point) / kernel.ell) ** 2, axis=1))[:10]
        alone = Neighbourhood.of(kernel, X[near], y[near], np.full(10, 0.1), 10).moments(point[None])
        assert_allclose((mu[i], s2[i]), np.ravel(alone), rtol=1e-9)


def test_threads_and_pickling_change_no_bit() -> None:
    X, y = draw(300)
    near = Neighbourhood.of(SEARD(1.0, np.array([0.4, 0.7])), X, y, np.full(300, 0.1), 12)
    Xs, _ = draw(3000, seed=1)
    whole = near.moments(Xs)
    with runner(3) as run:
        assert_array_equal(near.moments(Xs, run), whole)
    assert_array_equal(pickle.loads(pickle.dumps(near)).moments(Xs), whole)
    assert_array_equal(near.moments(Xs[1234:1235]), np.array(whole)[:, 1234:1235])


@pytest.mark.parametrize("distance", [1e2, 1e8, 1e16, 1e100])
def test_far_points_get_the_prior(distance: float) -> None:
    X, y = draw(60)
    near = Neighbourhood.of(SEARD(1.3, np.array([0.5, 0.5])), X, y, np.full(60, 0.1), 20)
    mu, s2 = near.moments(np.array([[distance, -distance]]))
    assert_allclose((mu[0], s2[0]), (0.0, 1.3), rtol=1e-5)


def test_points_that_are_among_the_rows_are_told() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    near = Neighbourhood.of(KERNELS["se"](1.0, np.array([0.3, 7.0, 1.1])), X, X[:, 0], np.ones(200), 5)
    points = np.vstack([X[17], X[17] + [0.0, 0.0, 1e-9], X[3]])
    np.testing.assert_array_equal(near.holds(points), [True, False, True])


@pytest.mark.parametrize("name", KERNELS)
def test_others_tell_every_row_whatever_the_targets(
    name: KernelName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "BLOCK", 12 * 30)  # 30 rows at a time
    X, y = draw(200)
    r, other = np.random.default_rng(1).uniform(0.05, 0.5, 200), np.cos(y)
    rows, kernel = np.arange(3, 160), KERNELS[name](0.8, np.array([0.7, 1.1]))
    near = Neighbourhood.of(kernel, X, y, r, 12, mean=0.4)
    others = near.others(rows)
    for targets in (y, other):
        mu, s2 = Neighbourhood.of(kernel, X, targets, r, 12, mean=0.4).left_out(rows)
        assert_allclose(others.means(targets), mu, rtol=1e-9)
        assert_array_equal(others.s2, s2)
    with runner(3) as run:
        assert_array_equal(near.others(rows, run).means(y), others.means(y))
