"""Basis functions against their definition, one kind against another, and their pullback."""

from typing import get_args

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp.gpz import Basis, Kind, axis_aligned, gamma_shape
from hgpbench.gp.params import Bound
from tests.gp.reference import central_differences, relative_error

KINDS = get_args(Kind)
N, M, D = 30, 5, 3


def draw(kind: Kind, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs away from the origin, centres among them, and a gamma without any symmetry."""
    rng = np.random.default_rng(seed)
    X, P = 2.0 + rng.normal(size=(N, D)), 2.0 + rng.normal(size=(M, D))
    gamma = rng.uniform(0.4, 1.2, gamma_shape(kind, M, D))
    return X, P, gamma * rng.choice([-1.0, 1.0], gamma.shape) if kind[1] == "C" else gamma


def factor(kind: Kind, gamma: np.ndarray, j: int) -> np.ndarray:
    """Gamma_j as a full matrix."""
    own = gamma[j] if kind[0] == "V" else gamma
    return own if kind[1] == "C" else own * np.eye(D)


def evaluate(kind: Kind, X: np.ndarray, P: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Phi by its definition, one function after another."""
    columns = [((X - P[j]) @ factor(kind, gamma, j).T) ** 2 for j in range(len(P))]
    return np.exp(-0.5 * np.stack([column.sum(axis=1) for column in columns], axis=1))


@pytest.mark.parametrize("kind", KINDS)
def test_values_match_the_definition(kind):
    X, P, gamma = draw(kind)
    assert_allclose(Basis(kind, P, gamma).evaluate(X), evaluate(kind, X, P, gamma), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_round_functions_are_the_same_in_every_kind(kind):
    X, P, _ = draw(kind)
    found = Basis(kind, P, axis_aligned(kind, np.full((M, D), 0.6))).evaluate(X)
    assert_allclose(found, Basis("GL", P, np.asarray(0.6)).evaluate(X), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_axis_aligned_functions_keep_what_the_kind_can_hold(kind):
    X, P, _ = draw(kind)
    slopes = np.random.default_rng(2).uniform(0.3, 1.5, (M, D))
    gamma = axis_aligned(kind, slopes)
    assert gamma.shape == gamma_shape(kind, M, D)
    if kind[0] == "G":
        slopes = np.tile(slopes.mean(axis=0), (M, 1))
    if kind[1] == "L":
        slopes = np.tile(slopes.mean(axis=1, keepdims=True), D)
    expected = np.exp(-0.5 * (((X[:, None] - P) * slopes) ** 2).sum(axis=-1))
    assert_allclose(Basis(kind, P, gamma).evaluate(X), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["P", "gamma"])
def test_pullback_matches_central_differences(kind, name):
    X, P, gamma = draw(kind)
    dPhi = np.random.default_rng(1).normal(size=(N, M))

    def functional(values) -> Bound:
        return Bound(float(np.sum(dPhi * Basis(kind, values["P"], values["gamma"]).evaluate(X))), {}, 0.0)

    basis = Basis(kind, P, gamma)
    dC = basis.features(X).T @ (dPhi * basis.evaluate(X))
    found = dict(zip(("P", "gamma"), basis.pullback(dC), strict=True))[name]
    values = {"P": P, "gamma": gamma}
    assert found.shape == values[name].shape
    assert relative_error(found, central_differences(functional, values, name)) < 1e-8


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_far_from_the_origin_do_not_cancel(kind):
    X, P, gamma = draw(kind)
    there = Basis(kind, P, gamma).evaluate(X)
    assert_allclose(Basis(kind, P + 1e6, gamma).evaluate(X + 1e6), there, rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_is_one_at_its_centre_and_vanishes_far_away(kind):
    _, P, gamma = draw(kind)
    basis = Basis(kind, P, gamma)
    assert_allclose(np.diag(basis.evaluate(P)), 1.0, rtol=1e-12)
    far = P + 1e3 * np.ones(D)
    assert_array_equal(np.diag(basis.evaluate(far)), 0.0)
