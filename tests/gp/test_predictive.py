"""The predictive distribution against numerical integration."""

import tracemalloc

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

from hgpbench.gp import predictive

# (s2_f, mu_g, s2_g) and the error of the log density the module promises for it
CASES = [
    (0.0, -1.0, 0.0, 1e-11),
    (0.3, -1.0, 0.2, 1e-10),
    (0.0, 0.5, 1.0, 1e-9),
    (0.1, -2.0, 4.0, 1e-5),
    (0.0, -3.0, 9.0, 1e-3),
]
MU = 0.7


def dense_logpdf(y: float, s2_f: float, mu_g: float, s2_g: float) -> float:
    """log of the integral over g by a fine rectangle rule in logarithms, far into both tails of g."""
    x, h = np.linspace(-30.0, 60.0, 300_001, retstep=True)
    s2 = s2_f + np.exp(mu_g + np.sqrt(s2_g) * x)
    return float(logsumexp(norm.logpdf(y, MU, np.sqrt(s2)) + norm.logpdf(x)) + np.log(h))


def points(s2_f: float, mu_g: float, s2_g: float) -> tuple[np.ndarray, ...]:
    return tuple(np.array([value]) for value in (MU, s2_f, mu_g, s2_g))


def at(function, y, s2_f: float, mu_g: float, s2_g: float) -> float:
    return float(function(y, *points(s2_f, mu_g, s2_g))[0])


@pytest.mark.parametrize(("s2_f", "mu_g", "s2_g", "error"), CASES)
def test_log_density_is_the_integral_over_g(s2_f, mu_g, s2_g, error):
    scale = np.sqrt(s2_f + np.exp(mu_g))
    for z in (0.0, 0.5, -1.0, 2.0, -4.0, 8.0, 15.0, 30.0):
        y = MU + z * scale
        found = at(predictive.mixture_logpdf, y, s2_f, mu_g, s2_g)
        assert found == pytest.approx(dense_logpdf(y, s2_f, mu_g, s2_g), rel=0, abs=error * max(1, abs(z)))


@pytest.mark.parametrize(("s2_f", "mu_g", "s2_g", "error"), CASES)
def test_density_integrates_to_the_cdf_and_to_one(s2_f, mu_g, s2_g, error):
    scale = np.sqrt(s2_f + np.exp(mu_g))

    def density(z: float) -> float:
        return scale * np.exp(at(predictive.mixture_logpdf, MU + scale * z, s2_f, mu_g, s2_g))

    below = sum(
        quad(density, a, b, epsabs=1e-11, limit=200)[0] for a, b in [(-np.inf, -3), (-3, 0), (0, 0.8)]
    )
    above = sum(quad(density, a, b, epsabs=1e-11, limit=200)[0] for a, b in [(0.8, 4), (4, np.inf)])
    assert below + above == pytest.approx(1.0, abs=1e-8)
    assert at(predictive.mixture_cdf, MU + 0.8 * scale, s2_f, mu_g, s2_g) == pytest.approx(below, abs=1e-8)


@pytest.mark.parametrize(("s2_f", "mu_g", "s2_g", "error"), CASES)
def test_cdf_is_the_integral_over_g(s2_f, mu_g, s2_g, error):
    x, h = np.linspace(-12.0, 12.0, 100_001, retstep=True)
    s = np.sqrt(s2_f + np.exp(mu_g + np.sqrt(s2_g) * x))
    for y in (-3.0, 0.2, MU, 1.0, 2.5):
        dense = h * np.sum(norm.cdf(y, MU, s) * norm.pdf(x))
        assert at(predictive.mixture_cdf, y, s2_f, mu_g, s2_g) == pytest.approx(dense, abs=error)


@pytest.mark.parametrize(("s2_f", "mu_g", "s2_g", "error"), CASES)
def test_crps_is_the_integral_of_the_squared_cdf_error(s2_f, mu_g, s2_g, error):
    def squared(y: float, above: bool) -> float:
        return (at(predictive.mixture_cdf, y, s2_f, mu_g, s2_g) - above) ** 2

    far = 60 * np.sqrt(s2_f + np.exp(mu_g + s2_g / 2))
    for y in (MU, 1.3, -2.0):
        below = sum(quad(squared, a, b, (False,), limit=400)[0] for a, b in [(MU - far, y - 1), (y - 1, y)])
        above = sum(quad(squared, a, b, (True,), limit=400)[0] for a, b in [(y, y + 1), (y + 1, MU + far)])
        assert at(predictive.mixture_crps, y, s2_f, mu_g, s2_g) == pytest.approx(below + above, rel=2e-5)


@pytest.mark.parametrize("q", [1e-12, 1e-3, 0.025, 0.3, 0.499999, 0.5, 0.6, 0.74, 0.76, 0.975, 1 - 1e-9])
def test_quantile_inverts_the_cdf(q):
    rng = np.random.default_rng(0)
    n = 500
    scale = 10.0 ** rng.uniform(-6, 6, n)
    latent = (
        np.zeros(n),
        scale**2 * rng.uniform(0, 1, n),
        np.log(scale**2) + rng.normal(size=n),
        rng.uniform(0, 12, n),
    )
    y = predictive.mixture_quantile(q, *latent)
    mirrored = predictive.mixture_cdf(-y, *latent)
    np.testing.assert_allclose(predictive.mixture_cdf(y, *latent), q, rtol=1e-11)
    np.testing.assert_allclose(mirrored, 1 - q, rtol=1e-11 if q < 0.5 else 1e-6)


def test_quantiles_rise_with_the_level_and_reach_infinity():
    levels = np.concatenate([[0], 10.0 ** np.arange(-15, -1), np.linspace(0.02, 0.98, 200), [1 - 1e-9, 1]])
    rng = np.random.default_rng(1)
    latent = rng.normal(size=7), rng.uniform(0, 1, 7), rng.normal(size=7), rng.uniform(0, 9, 7)
    found = predictive.mixture_quantile(levels, *latent)
    assert found.shape == (len(levels), 7)
    assert np.all(np.diff(found, axis=0) > 0)
    assert np.all(np.isneginf(found[0]))
    assert np.all(np.isposinf(found[-1]))


def test_without_spread_of_g_the_mixture_is_the_normal():
    rng = np.random.default_rng(2)
    mu, s2_f, mu_g = rng.normal(size=(3, 40))
    s2_f, y, s2_g = np.exp(s2_f), rng.normal(size=40), np.zeros(40)
    s2 = s2_f + np.exp(mu_g)
    for mixture, normal in [
        (predictive.mixture_logpdf, predictive.normal_logpdf),
        (predictive.mixture_cdf, predictive.normal_cdf),
        (predictive.mixture_crps, predictive.normal_crps),
    ]:
        np.testing.assert_allclose(
            mixture(y, mu, s2_f, mu_g, s2_g), normal(y, mu, s2), rtol=1e-12, atol=1e-14
        )
    q = [0.01, 0.3, 0.9]
    np.testing.assert_allclose(
        predictive.mixture_quantile(q, mu, s2_f, mu_g, s2_g),
        predictive.normal_quantile(q, mu, s2),
        rtol=1e-11,
    )


RARE = (0.2, 7.0)  # a share, and its variance


@pytest.mark.parametrize(("s2_f", "mu_g", "s2_g", "error"), CASES)
def test_one_component_more_is_the_mixture_of_both(s2_f, mu_g, s2_g, error):
    eps, s2_e = RARE
    alone, normal = points(s2_f, mu_g, s2_g), (np.array([MU]), np.array([s2_e]))
    y = np.array([-4.0, 0.3, MU, 1.1, 9.0])
    usual, rare = predictive.mixture_logpdf(y, *alone), predictive.normal_logpdf(y, *normal)
    np.testing.assert_allclose(
        np.exp(predictive.mixture_logpdf(y, *alone, *RARE)),
        (1 - eps) * np.exp(usual) + eps * np.exp(rare),
        rtol=1e-12,
    )
    usual, rare = predictive.mixture_cdf(y, *alone), predictive.normal_cdf(y, *normal)
    found = predictive.mixture_cdf(y, *alone, *RARE)
    np.testing.assert_allclose(found, (1 - eps) * usual + eps * rare, rtol=1e-12)
    for q in (1e-6, 0.025, 0.4, 0.9):
        there = predictive.mixture_quantile(q, *alone, *RARE)
        np.testing.assert_allclose(predictive.mixture_cdf(there, *alone, *RARE), q, rtol=1e-10)


def test_its_crps_is_the_integral_of_the_squared_cdf_error():
    latent = (*points(0.1, -2.0, 2.0), *RARE)

    def squared(y: float, above: bool) -> float:
        return (float(predictive.mixture_cdf(y, *latent)[0]) - above) ** 2

    below = sum(quad(squared, a, b, (False,), limit=400)[0] for a, b in [(MU - 40, 0.3), (0.3, 1.3)])
    above = sum(quad(squared, a, b, (True,), limit=400)[0] for a, b in [(1.3, 2.3), (2.3, MU + 40)])
    assert float(predictive.mixture_crps(1.3, *latent)[0]) == pytest.approx(below + above, rel=2e-5)


def test_normal_agrees_with_scipy_and_its_crps_with_integration():
    mu, s2 = np.array([0.3]), np.array([1.7])
    assert predictive.normal_logpdf(1.1, mu, s2) == pytest.approx(norm.logpdf(1.1, 0.3, 1.7**0.5))
    assert predictive.normal_cdf(1.1, mu, s2) == pytest.approx(norm.cdf(1.1, 0.3, 1.7**0.5))
    assert predictive.normal_quantile(0.9, mu, s2) == pytest.approx(norm.ppf(0.9, 0.3, 1.7**0.5))
    below = quad(lambda t: norm.cdf(t, 0.3, 1.7**0.5) ** 2, -np.inf, 1.1)[0]
    above = quad(lambda t: norm.sf(t, 0.3, 1.7**0.5) ** 2, 1.1, np.inf)[0]
    assert predictive.normal_crps(1.1, mu, s2) == pytest.approx(below + above, rel=1e-8)


def test_extremes_neither_overflow_nor_underflow():
    latent = points(1e-30, -60.0, 0.01)  # standard deviation about 1e-13
    assert at(predictive.mixture_logpdf, MU + 1.0, 1e-30, -60.0, 0.01) < -1e20
    assert predictive.mixture_logpdf(1e300, *latent) == -np.inf
    assert predictive.mixture_cdf(-1e300, *latent) == 0.0
    assert predictive.mixture_crps(1e300, *latent) == pytest.approx(1e300)
    wide = points(0.0, 400.0, 100.0)
    assert np.isfinite(predictive.mixture_logpdf(0.0, *wide))
    assert np.isfinite(predictive.mixture_quantile(0.975, *wide))


def test_levels_outside_the_unit_interval_are_refused():
    for q in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match=r"\[0, 1\]"):
            predictive.mixture_quantile(q, *points(0.1, 0.0, 1.0))
        with pytest.raises(ValueError, match=r"\[0, 1\]"):
            predictive.normal_quantile(q, np.zeros(1), np.ones(1))


def test_memory_stays_bounded():
    n = 60_000
    rng = np.random.default_rng(3)
    latent = rng.normal(size=n), rng.uniform(0, 1, n), rng.normal(size=n), rng.uniform(0, 4, n)
    tracemalloc.start()
    predictive.mixture_logpdf(0.0, *latent)
    predictive.mixture_crps(0.0, *latent)
    predictive.mixture_quantile(0.975, *latent)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * n * 8  # an (n, ORDER) array alone would be 100 n
