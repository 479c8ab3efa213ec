"""Residuals of which only the scale varies: densities by integration, modes by search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from hgpbench.gp.scatter import (
    MEAN_LOG_CHI2,
    VAR_LOG_CHI2,
    first_responses,
    log_density,
    modes,
    reserved,
    responses,
)


@pytest.mark.parametrize("s2", [1e-8, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("z", [0.0, 0.4, -2.0, 6.0])
def test_the_density_is_the_integral(z: float, s2: float) -> None:
    def integrand(u: float) -> float:
        return norm.pdf(z, scale=np.exp(0.5 * (0.7 + np.sqrt(s2) * u))) * norm.pdf(u)

    expected = np.log(quad(integrand, -12, 12, epsabs=0, epsrel=1e-11, limit=400)[0])
    found = log_density(np.array([z]), np.array([0.7]), np.array([s2]))[0]
    assert_allclose(found, expected, atol=1e-5 if abs(z) < 5 else 5e-4)


def test_its_derivatives() -> None:
    rng = np.random.default_rng(0)
    z, mu, s2 = rng.normal(size=20), rng.normal(size=20), rng.uniform(0.2, 3.0, 20)
    _, dmu, ds2 = log_density(z, mu, s2)
    step = 1e-5
    by_mu = log_density(z, mu + step, s2)[0] - log_density(z, mu - step, s2)[0]
    by_s2 = log_density(z, mu, s2 + step)[0] - log_density(z, mu, s2 - step)[0]
    assert_allclose(dmu, by_mu / (2 * step), rtol=1e-6, atol=1e-8)
    assert_allclose(ds2, by_s2 / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("z", [1e-9, 0.1, 1.0, 5.0, 300.0])
@pytest.mark.parametrize(("mu", "s2"), [(0.0, 1.0), (-3.0, 0.01), (2.0, 9.0)])
def test_modes_maximise(z: float, mu: float, s2: float) -> None:
    def loss(g: float) -> float:
        return 0.5 * (g + z * z * np.exp(-g)) + 0.5 * (g - mu) ** 2 / s2

    found = modes(np.array([z]), np.array([mu]), np.array([s2]))[0]
    best = minimize_scalar(loss, bracket=(found - 1, found + 1), tol=1e-12)
    assert found == pytest.approx(best.x, abs=1e-6)


@pytest.mark.parametrize("z", [0.0, 1e-300, 1e100])
def test_modes_of_the_extreme_are_finite(z: float) -> None:
    found = modes(np.full(3, z), np.array([-50.0, 0.0, 50.0]), np.array([1e-6, 1.0, 1e4]))
    assert np.isfinite(responses(np.full(3, z), found)[:2]).all() or z > 1e50
    assert np.isfinite(found).all()


def test_responses_tell_the_scale_without_bias() -> None:
    z = np.exp(0.5 * 0.8) * np.random.default_rng(1).normal(size=200_000)
    assert first_responses(z).mean() == pytest.approx(0.8, abs=0.02)
    assert first_responses(z).var() == pytest.approx(VAR_LOG_CHI2, rel=0.02)
    assert responses(z, np.full(len(z), 0.8)).mean() == pytest.approx(0.8, abs=0.02)
    assert responses(z, np.full(len(z), 0.8)).var() == pytest.approx(2.0, rel=0.03)
    assert np.log(np.random.default_rng(2).chisquare(1, 200_000)).mean() == pytest.approx(
        MEAN_LOG_CHI2, abs=0.02
    )


def test_zeros_have_responses() -> None:
    assert np.isfinite(first_responses(np.array([0.0, 1.0, -2.0]))).all()


def test_a_reserved_density_is_the_mixture_it_says() -> None:
    rng = np.random.default_rng(6)
    z, mu, s2, v = (
        2.0 * rng.normal(size=30),
        rng.normal(size=30),
        rng.uniform(0.1, 2, 30),
        rng.uniform(0.5, 2, 30),
    )
    values = {"level": np.array(0.3), "width": np.array(1.4), "odds": np.array(0.25), "rare": np.array(3.0)}
    usual = np.exp(log_density(z, mu + 0.3, 1.4 * s2)[0])
    expected = np.log(0.8 * usual + 0.2 * norm.pdf(z, scale=np.sqrt(3.0 / v))).sum()
    found = reserved(z, mu, s2, v, values)
    assert found.value == pytest.approx(expected, rel=1e-12)
    for name, value in values.items():
        up, down = (reserved(z, mu, s2, v, values | {name: value + step}).value for step in (1e-5, -1e-5))
        assert float(found.grads[name]) == pytest.approx((up - down) / 2e-5, rel=1e-6)
