"""Kernels against their definitions; their pullbacks against central differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.gp.kernels import KERNELS, own_sums, sums_of
from tests.gp.reference import DEFINITIONS, relative_error

RNG_SEED = 3


@pytest.fixture
def inputs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(RNG_SEED)
    return rng.normal(size=(30, 4)), rng.normal(size=(9, 4))


ELL = np.array([0.5, 1.0, 2.0, 30.0])


@pytest.fixture(params=KERNELS)
def name(request):
    return request.param


@pytest.fixture
def kernel(name):
    return KERNELS[name](1.7, ELL)


@pytest.fixture
def definition(name):
    """The kernel by its definition, of (X, Z, s2_k, ell)."""
    return DEFINITIONS[name]


def augmented(kernel, *inputs):
    shift = inputs[-1].mean(axis=0)
    return [kernel.augment(X, shift) for X in inputs]


def test_cross_is_the_definition(kernel, definition, inputs):
    X, Z = inputs
    assert_allclose(kernel.cross(X, Z), definition(X, Z, 1.7, ELL), rtol=1e-12)


def test_covariances_at_distances(kernel, definition, inputs):
    X, Z = inputs
    q = (((X[:, None] - Z) / ELL) ** 2).sum(axis=-1)
    assert_allclose(kernel.at(q), definition(X, Z, 1.7, ELL), rtol=1e-12)
    assert kernel.at(np.zeros(1)) == pytest.approx(1.7, rel=1e-15)


def test_slopes_are_derivatives_by_squared_distances(kernel, inputs):
    X_aug, Z_aug = augmented(kernel, *inputs)
    _, D = kernel.matrices(X_aug, Z_aug)
    q = (((inputs[0][:, None] - inputs[1]) / ELL) ** 2).sum(axis=-1)
    assert_allclose(D, -2.0 * (kernel.at(q + 1e-6) - kernel.at(q - 1e-6)) / 2e-6, rtol=1e-7)


def test_the_squared_exponential_needs_no_memory_for_slopes(inputs):
    kernel, K = KERNELS["se"](1.7, ELL), np.zeros((3, 3))
    assert kernel.beside(K) is K
    assert KERNELS["matern32"](1.7, ELL).beside(K) is not K


def test_equal_inputs_are_at_distance_zero(kernel):
    """Whatever round-off does to distances of inputs that lie hundreds of lengthscales from their middle."""
    X = 300.0 * np.random.default_rng(RNG_SEED).normal(size=(200, 4))
    doubled = np.concatenate([X, X])
    (X_aug,) = augmented(kernel, doubled)
    K, D = kernel.matrices(X_aug, X_aug)
    same = np.equal.outer(np.arange(400) % 200, np.arange(400) % 200)
    assert_allclose(K[same], kernel.s2_k, rtol=1e-9 if type(kernel) is KERNELS["se"] else 0.0)
    assert_allclose(K, K.T, rtol=1e-9, atol=1e-15)
    assert np.isfinite(D).all()
    np.linalg.cholesky(K + 1e-6 * kernel.s2_k * np.eye(400))


def test_the_slope_at_the_cusp_is_zero():
    kernel = KERNELS["matern12"](1.7, ELL)
    A, D = np.array([0.0, -1e-12]), np.empty(2)
    kernel.fill(A, D)
    assert D[0] == 0.0
    assert D[1] == pytest.approx(1.7 / np.sqrt(2e-12), rel=1e-5)


def test_a_common_shift_of_all_inputs_costs_no_precision(kernel, inputs):
    X, Z = inputs
    X, Z = np.round(X, 3), np.round(Z, 3)
    far = 1e6 * np.ones(4)
    assert_allclose(kernel.cross(X + far, Z + far), kernel.cross(X, Z), rtol=1e-8)


def test_covariances_are_the_same_without_slopes(kernel, inputs):
    K, _ = kernel.matrices(*augmented(kernel, *inputs))
    assert_allclose(kernel.cross(*inputs), K, rtol=1e-15)


def differences(value, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    grad = np.empty_like(x)
    for index in np.ndindex(x.shape):
        move = np.zeros_like(x)
        move[index] = step
        grad[index] = (value(x + move) - value(x - move)) / (2 * step)
    return grad


def test_pullback_matches_central_differences(kernel, definition, inputs):
    X, Z = inputs
    dK = np.random.default_rng(RNG_SEED + 1).normal(size=(30, 9))
    X_aug, Z_aug = augmented(kernel, X, Z)
    grad = kernel.gather(X_aug, Z_aug, sums_of(X_aug, dK.copy(), *kernel.matrices(X_aug, Z_aug)))

    def value(s2_k: float, ell: np.ndarray, Z: np.ndarray) -> float:
        return float(np.sum(dK * definition(X, Z, s2_k, ell)))

    by_s2 = differences(lambda s: value(float(s[0]), ELL, Z), np.array([1.7]))
    assert grad.ds2_k == pytest.approx(by_s2[0], rel=1e-8)
    assert relative_error(grad.dell, differences(lambda ell: value(1.7, ell, Z), ELL)) < 1e-8
    assert relative_error(grad.dZ, differences(lambda Z: value(1.7, ELL, Z), Z)) < 1e-8


def own(kernel, Z_aug, dK):
    """Sums of a symmetric dK, of which the upper triangle is spoilt: nobody may read it."""
    K, D = kernel.matrices(Z_aug, Z_aug)
    spoilt = np.asfortranarray(np.where(np.tri(len(dK), dtype=bool), dK, np.nan))
    return own_sums(Z_aug, spoilt, K.T, K.T if D is K else D.T)


def test_symmetric_pullback_sees_both_sides(kernel, definition, inputs):
    _, Z = inputs
    A = np.random.default_rng(RNG_SEED + 2).normal(size=(9, 9))
    dK = A + A.T
    (Z_aug,) = augmented(kernel, Z)
    grad = kernel.gather_own(Z_aug, own(kernel, Z_aug, dK))

    def value(ell: np.ndarray, Z: np.ndarray) -> float:
        return float(np.sum(dK * definition(Z, Z, 1.7, ell)))

    assert grad.ds2_k == pytest.approx(value(ELL, Z) / 1.7, rel=1e-12)
    assert relative_error(grad.dell, differences(lambda ell: value(ell, Z), ELL)) < 1e-8
    assert relative_error(grad.dZ, differences(lambda Z: value(ELL, Z), Z)) < 1e-8


def test_gather_adds_up_what_comes_from_both_matrices(kernel, inputs):
    X, Z = inputs
    rng = np.random.default_rng(RNG_SEED + 3)
    dK, A = rng.normal(size=(len(X), len(Z))), rng.normal(size=(len(Z), len(Z)))
    X_aug, Z_aug = augmented(kernel, X, Z)
    sums = sums_of(X_aug, dK, *kernel.matrices(X_aug, Z_aug))
    of_Z = own(kernel, Z_aug, A + A.T)
    both = kernel.gather(X_aug, Z_aug, sums, of_Z)
    one, other = kernel.gather(X_aug, Z_aug, sums), kernel.gather_own(Z_aug, of_Z)
    assert both.ds2_k == pytest.approx(one.ds2_k + other.ds2_k, rel=1e-12)
    assert_allclose(both.dell, one.dell + other.dell, rtol=1e-11, atol=1e-11)
    assert_allclose(both.dZ, one.dZ + other.dZ, rtol=1e-11, atol=1e-11)
