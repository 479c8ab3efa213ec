"""f from neighbouring rows against the exact GP, and the pieces in which it is computed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from hgpbench.fitting.threads import runner
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
    mu, s2 = Neighbourhood(kernel, X, y, r, 100).moments(Xs)
    assert_allclose(mu, Ksn @ np.linalg.solve(A, y), rtol=1e-9)
    assert_allclose(s2, 1.2 * (1 + 1e-6) - np.sum(Ksn * np.linalg.solve(A, Ksn.T).T, axis=1), rtol=1e-9)


def test_neighbours_are_the_nearest_in_lengthscales() -> None:
    X, y = draw(200)
    kernel, (Xs, _) = SEARD(1.0, np.array([0.2, 5.0])), draw(5, seed=6)
    mu, s2 = Neighbourhood(kernel, X, y, np.full(200, 0.1), 10).moments(Xs)
    for i, point in enumerate(Xs):
        near = np.argsort(np.sum(((X - point) / kernel.ell) ** 2, axis=1))[:10]
        alone = Neighbourhood(kernel, X[near], y[near], np.full(10, 0.1), 10).moments(point[None])
        assert_allclose((mu[i], s2[i]), np.ravel(alone), rtol=1e-9)


def test_pieces_and_threads_change_no_bit() -> None:
    X, y = draw(300)
    near = Neighbourhood(SEARD(1.0, np.array([0.4, 0.7])), X, y, np.full(300, 0.1), 12)
    Xs, _ = draw(500, seed=1)
    whole = near.moments(Xs)
    with runner(3) as run:
        for chunk in (0, 100_000):
            assert_array_equal(near.moments(Xs, chunk, run), whole)


def test_left_out_rows_choose_number_and_scale() -> None:
    """The choice has the largest density of left-out rows, by conditioning on the others one by one."""
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.uniform(-3, 3, (150, 2)), np.zeros((9, 2))])  # and nine copies of a row
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X))
    kernel, r = SEARD(1.0, np.array([0.5, 2.0])), rng.uniform(0.05, 0.2, len(X))
    rows = np.r_[rng.choice(150, 40, replace=False), 150:159]
    counts, scales = (3, 8, 30), (0.5, 1.4, 2.5)

    def density(K: int, scale: float) -> float:
        total, scaled = 0.0, SEARD(1.0, scale * kernel.ell)
        for i in rows:
            rest = np.delete(np.arange(len(X)), i)
            mu, s2 = Neighbourhood(scaled, X[rest], y[rest], r[rest], K).moments(X[i : i + 1])
            total += norm.logpdf(y[i], mu[0], np.sqrt(s2[0] + r[i]))
        return total

    near = Neighbourhood(kernel, X, y, r, 30)
    chosen = set()
    for offered in (counts, counts[:2], counts[:1]):
        for offered_scales in (scales, scales[:2], scales[:1], ()):
            near.choose(offered, offered_scales, rows)
            assert max(offered, key=lambda K: density(K, 1.0)) == near.K
            assert max({1.0, *offered_scales}, key=lambda scale: density(near.K, scale)) == near.scale
            chosen.add(near.scale)
    assert len(chosen) > 1
    Xs, _ = draw(20, seed=8)
    scaled = Neighbourhood(SEARD(1.0, near.scale * kernel.ell), X, y, r, near.K)
    assert_allclose(near.moments(Xs), scaled.moments(Xs), rtol=1e-9)


def test_no_more_neighbours_than_other_rows() -> None:
    X = np.arange(6.0)[:, None]
    near = Neighbourhood(SEARD(1.0, np.ones(1)), X, np.sin(X[:, 0]), np.full(6, 0.1), 50)
    near.choose((50, 100), (), np.arange(6))
    assert near.K == 5
