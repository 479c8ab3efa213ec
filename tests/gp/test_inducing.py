"""The prior through inducing points against dense matrices, for every kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp.inducing import Inducing
from hgpbench.gp.kernels import KERNELS
from hgpbench.la import JITTER

RNG = np.random.default_rng(0)
X, Z, ELL = RNG.normal(size=(20, 3)), RNG.normal(size=(6, 3)), np.array([0.7, 1.1, 2.0])


@pytest.fixture(params=KERNELS)
def kernel(request):
    return KERNELS[request.param](1.4, ELL)


def dense(kernel, Z=Z):
    return kernel.cross(Z, Z) + JITTER * kernel.s2_k * np.eye(len(Z))


def project(prior, X=X):
    K, V = np.empty((len(X), len(prior.Z))), np.empty((len(X), len(prior.Z)))
    D = prior.kernel.beside(K)
    prior.project(prior.augment(X), K, D, V)
    return K, V, D


def test_kmm_and_the_prior_variances_carry_the_same_nugget(kernel):
    prior = Inducing.of(kernel, Z)
    assert prior.jitter == JITTER
    assert prior.kd == pytest.approx(1.4 * (1 + JITTER), rel=1e-15)
    assert_allclose(prior.Kmm, dense(kernel), rtol=1e-12)
    assert_allclose(prior.Linv @ prior.Kmm @ prior.Linv.T, np.eye(6), atol=1e-9)


def test_whitened_covariances_have_qnn_as_their_product(kernel):
    K, V, _ = project(Inducing.of(kernel, Z))
    assert_allclose(K, kernel.cross(X, Z), rtol=1e-13)
    assert_allclose(V @ V.T, K @ np.linalg.solve(dense(kernel), K.T), rtol=1e-8, atol=1e-10)


def test_memory_may_be_used_again(kernel):
    Kmm, Linv = (np.full((6, 6), np.nan, order="F") for _ in range(2))
    Dmm = kernel.beside(Kmm)
    prior, fresh = Inducing.of(kernel, Z, Kmm=Kmm, Dmm=Dmm, Linv=Linv), Inducing.of(kernel, Z)
    assert prior.Kmm is Kmm
    assert prior.Linv is Linv
    assert prior.Dmm is Dmm
    assert_array_equal(prior.Dmm, fresh.Dmm)


def test_repeated_points_take_more_jitter_and_say_so(kernel):
    doubled = Inducing.of(kernel, np.repeat(Z, 2, axis=0), jitter=0.0)
    assert 0.0 < doubled.jitter <= 1e-6
    assert doubled.kd == kernel.s2_k * (1.0 + doubled.jitter)


def test_own_sums_pull_the_derivative_of_a_cholesky_factor_back(kernel):
    """Of sum(dV * V), V = Knm L^-T at held Knm: H = dV^T V need not be symmetric."""
    dV = np.random.default_rng(1).normal(size=(20, 6))

    def value(kernel, Z):
        L = np.linalg.cholesky(dense(kernel, Z))
        return float(np.sum(dV * np.linalg.solve(L, K.T).T))

    prior = Inducing.of(kernel, Z)
    K, V, _ = project(prior)
    # The derivative of the factor sees the lower triangle of dV^T V, mirrored, with its sign.
    low = np.asfortranarray(dV.T @ V)
    zero, spare = np.zeros((6, 6), order="F"), np.empty((6, 6), order="F")
    grad = kernel.gather_own(prior.Z_aug, prior.own_sums(low, zero, spare=spare))
    step = 1e-6
    for i in range(3):
        move = step * np.eye(3)[i]
        above, below = (value(type(kernel)(1.4, ELL + sign * move), Z) for sign in (1, -1))
        assert grad.dell[i] == pytest.approx((above - below) / (2 * step), rel=1e-6, abs=1e-9)
        for j in (0, 5):
            shifted = np.zeros_like(Z)
            shifted[j, i] = step
            slope = (value(kernel, Z + shifted) - value(kernel, Z - shifted)) / (2 * step)
            assert grad.dZ[j, i] == pytest.approx(slope, rel=1e-5, abs=1e-7)
    above, below = (value(type(kernel)(1.4 + sign * step, ELL), Z) for sign in (1, -1))
    assert grad.ds2_k == pytest.approx((above - below) / (2 * step), rel=1e-6)
