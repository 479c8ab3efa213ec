"""What a latent process keeps from one call to the next, and when it must not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp import collapsed, noise
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.latent import Latent

N, M = 30, 8
RNG = np.random.default_rng(0)
X, WEIGHTS = RNG.normal(size=(N, 2)), RNG.uniform(0.5, 2.0, N)
KERNEL = SEARD(1.3, np.array([0.8, 1.1]))


def projected(kernel=KERNEL) -> Latent:
    latent = Latent(N, M)
    latent.project(kernel, X, X[:M])
    return latent


@pytest.fixture
def grams(monkeypatch):
    """How often V^T diag(weights) V was formed."""
    calls, gram = [], Latent.gram

    def counted(self, weights, out):
        calls.append(weights)
        return gram(self, weights, out)

    monkeypatch.setattr(Latent, "gram", counted)
    return calls


def test_the_same_weights_are_conditioned_on_once(grams):
    latent = projected()
    first = latent.condition(WEIGHTS)
    assert latent.condition(WEIGHTS.copy()) == first
    assert len(grams) == 1


def test_factors_grow_into_conditions(grams):
    latent, other = projected(), projected()
    assert latent.factor(WEIGHTS) == latent.condition(WEIGHTS) == latent.factor(WEIGHTS)
    assert len(grams) == 1
    other.condition(WEIGHTS)
    assert_array_equal(latent.M, other.M)
    latent.factor(2.0 * WEIGHTS)
    latent.condition(2.0 * WEIGHTS)
    assert not np.array_equal(latent.M, other.M)


def test_explained_variances():
    latent = projected()
    latent.condition(WEIGHTS)
    V = latent.V
    B = np.eye(M) + V.T @ (WEIGHTS[:, None] * V)
    expected = np.diag(V @ (np.eye(M) - np.linalg.inv(B)) @ V.T)
    assert_allclose(latent.explained(), expected, rtol=1e-11)
    assert_allclose(latent.apply(latent.M), expected, rtol=1e-9)


def test_weights_that_changed_in_place_are_other_weights():
    latent, weights = projected(), WEIGHTS.copy()
    before = latent.condition(weights)
    weights[3] *= 2.0
    assert latent.condition(weights) == projected().condition(weights) != before


def test_another_kernel_or_other_weights_between_are_seen():
    other = SEARD(0.7, np.array([1.5, 0.6]))
    latent = projected()
    latent.condition(WEIGHTS)
    latent.condition(2.0 * WEIGHTS)
    assert latent.condition(WEIGHTS) == projected().condition(WEIGHTS)
    latent.project(other, X, X[:M])
    assert latent.condition(WEIGHTS) == projected(other).condition(WEIGHTS)


@pytest.mark.parametrize("way_back", ["vfe", "fitc", "noise"])
def test_what_the_way_back_uses_up_is_made_again(way_back):
    y = np.sin(X[:, 0])

    def there_and_back(latent):
        if way_back == "noise":
            q = noise.moments(latent, WEIGHTS, -1.0)
            return noise.pullback(latent, WEIGHTS, -1.0, q, 0.1 * y, WEIGHTS, tied=True).grad.dZ
        return collapsed.evaluate(latent, WEIGHTS, y, way_back).grad.dZ

    latent = projected()
    first = there_and_back(latent)
    assert_array_equal(there_and_back(latent), first)
