"""SE-ARD against its definition; its pullback against central differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp.kernels import SEARD
from tests.gp.reference import kernel as dense_kernel
from tests.gp.reference import relative_error

RNG_SEED = 3


@pytest.fixture
def inputs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(RNG_SEED)
    return rng.normal(size=(30, 4)), rng.normal(size=(9, 4))


KERNEL = SEARD(1.7, np.array([0.5, 1.0, 2.0, 30.0]))


def test_cross_is_the_definition(inputs):
    X, Z = inputs
    assert_allclose(KERNEL.cross(X, Z), dense_kernel(X, Z, 1.7, KERNEL.ell), rtol=1e-13)


def test_gram_is_symmetric_with_an_exact_diagonal(inputs):
    X, _ = inputs
    K = KERNEL.gram(X)
    assert_array_equal(np.diag(K), 1.7)
    assert_allclose(K, K.T, rtol=1e-13)
    assert_array_equal(KERNEL.diag(3), [1.7, 1.7, 1.7])


def test_a_common_shift_of_all_inputs_costs_no_precision(inputs):
    X, Z = inputs
    X, Z = np.round(X, 3), np.round(Z, 3)
    far = 1e6 * np.ones(4)
    assert_allclose(KERNEL.cross(X + far, Z + far), KERNEL.cross(X, Z), rtol=1e-8)


def test_results_land_in_out(inputs):
    X, Z = inputs
    out = np.empty((30, 9))
    assert KERNEL.cross(X, Z, out=out) is out
    assert_array_equal(out, KERNEL.cross(X, Z))


def differences(value, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    grad = np.empty_like(x)
    for index in np.ndindex(x.shape):
        move = np.zeros_like(x)
        move[index] = step
        grad[index] = (value(x + move) - value(x - move)) / (2 * step)
    return grad


def test_pullback_matches_central_differences(inputs):
    X, Z = inputs
    dK = np.random.default_rng(RNG_SEED + 1).normal(size=(30, 9))
    found = KERNEL.pullback(X, Z, KERNEL.cross(X, Z), dK)

    def value(s2_k: float, ell: np.ndarray, Z: np.ndarray) -> float:
        return float(np.sum(dK * dense_kernel(X, Z, s2_k, ell)))

    by_s2 = differences(lambda s: value(float(s[0]), KERNEL.ell, Z), np.array([1.7]))
    assert found.ds2_k == pytest.approx(by_s2[0], rel=1e-8)
    assert relative_error(found.dell, differences(lambda ell: value(1.7, ell, Z), KERNEL.ell)) < 1e-8
    assert relative_error(found.dZ, differences(lambda Z: value(1.7, KERNEL.ell, Z), Z)) < 1e-8


def test_symmetric_pullback_sees_both_sides(inputs):
    _, Z = inputs
    A = np.random.default_rng(RNG_SEED + 2).normal(size=(9, 9))
    dK = A + A.T
    found = KERNEL.gather_sym(KERNEL.augment(Z, Z.mean(axis=0)), dK * KERNEL.gram(Z))

    def value(ell: np.ndarray, Z: np.ndarray) -> float:
        return float(np.sum(dK * dense_kernel(Z, Z, 1.7, ell)))

    assert found.ds2_k == pytest.approx(value(KERNEL.ell, Z) / 1.7, rel=1e-12)
    assert relative_error(found.dell, differences(lambda ell: value(ell, Z), KERNEL.ell)) < 1e-8
    assert relative_error(found.dZ, differences(lambda Z: value(KERNEL.ell, Z), Z)) < 1e-8


def test_gather_adds_up_what_comes_from_both_matrices(inputs):
    X, Z = inputs
    rng = np.random.default_rng(RNG_SEED + 3)
    W, Y = rng.normal(size=(len(X), len(Z))), np.asfortranarray(rng.normal(size=(len(Z), len(Z))))
    Y += Y.T
    shift = Z.mean(axis=0)
    X_aug, Z_aug = KERNEL.augment(X, shift), KERNEL.augment(Z, shift)
    sums = W.sum(axis=1), W.T @ X_aug
    both = KERNEL.gather(X_aug, Z_aug, *sums, KERNEL.sums_sym(Z_aug, Y))
    apart = KERNEL.gather(X_aug, Z_aug, *sums) + KERNEL.gather_sym(Z_aug, Y)
    assert both.ds2_k == pytest.approx(apart.ds2_k, rel=1e-12)
    assert_allclose(both.dell, apart.dell, rtol=1e-11, atol=1e-11)
    assert_allclose(both.dZ, apart.dZ, rtol=1e-11, atol=1e-11)


def test_pullback_leaves_its_arguments_unless_told(inputs):
    X, Z = inputs
    K, dK = KERNEL.cross(X, Z), np.ones((30, 9))
    KERNEL.pullback(X, Z, K, dK)
    assert_array_equal(dK, 1.0)
    KERNEL.pullback(X, Z, K, dK, out=dK)
    assert_array_equal(dK, K)


def test_gradients_add_up(inputs):
    X, Z = inputs
    K = KERNEL.cross(X, Z)
    one = KERNEL.pullback(X, Z, K, np.ones_like(K))
    both = one + one
    assert both.ds2_k == 2 * one.ds2_k
    assert_array_equal(both.dell, 2 * one.dell)
    assert_array_equal(both.dZ, 2 * one.dZ)
