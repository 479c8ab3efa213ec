"""The contract of Prediction: moments, their units, and the distribution behind them."""

import numpy as np
import pytest
from scipy.stats import norm

from hgpbench.prediction import Prediction


@pytest.fixture
def latent() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(4)
    return rng.normal(size=9), rng.uniform(0.1, 1, 9), rng.normal(size=9), rng.uniform(0.1, 2, 9)


@pytest.fixture(params=["gaussian", "mixture"])
def prediction(request, latent) -> Prediction:
    f_mean, f_var, g_mean, g_var = latent
    if request.param == "gaussian":
        return Prediction.gaussian(f_mean, f_var, 0.3)
    return Prediction.mixture(f_mean, f_var, g_mean, g_var)


def test_moments_are_those_of_draws(latent):
    rng = np.random.default_rng(5)
    f_mean, f_var, g_mean, g_var = (values[:3] for values in latent)
    prediction = Prediction.mixture(f_mean, f_var, g_mean, g_var)
    g = g_mean + np.sqrt(g_var) * rng.normal(size=(400_000, 3))
    y = f_mean + np.sqrt(f_var + np.exp(g)) * rng.normal(size=g.shape)
    np.testing.assert_allclose(prediction.mean, y.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(prediction.var, y.var(axis=0), rtol=0.06)
    np.testing.assert_allclose(prediction.noise_var, np.exp(g).mean(axis=0), rtol=0.03)
    assert prediction.cdf(f_mean + 0.4) == pytest.approx((y < f_mean + 0.4).mean(axis=0), abs=3e-3)


def test_gaussian_is_the_normal_with_the_sum_of_variances(latent):
    f_mean, f_var, *_ = latent
    prediction = Prediction.gaussian(f_mean, f_var, 0.3)
    normal = norm(f_mean, np.sqrt(f_var + 0.3))
    y = f_mean + 0.7
    np.testing.assert_allclose(prediction.logpdf(y), normal.logpdf(y))
    np.testing.assert_allclose(prediction.cdf(y), normal.cdf(y))
    np.testing.assert_allclose(prediction.quantile(0.1), normal.ppf(0.1))
    assert not prediction.is_mixture


def test_shapes(prediction):
    y = np.linspace(-1, 1, 9)
    assert prediction.logpdf(y).shape == prediction.cdf(0.0).shape == prediction.crps(y).shape == (9,)
    assert prediction.quantile(0.5).shape == (9,)
    assert prediction.quantile([0.1, 0.5, 0.9]).shape == (3, 9)
    assert prediction.logpdf(np.zeros((4, 1))).shape == (4, 9)


def test_rescaling_is_a_change_of_units(prediction):
    shift, scale = -3.0, 1e5
    y = np.linspace(-1, 1, 9)
    moved = prediction.rescale(shift, scale)
    np.testing.assert_allclose(moved.cdf(shift + scale * y), prediction.cdf(y), rtol=1e-9)
    np.testing.assert_allclose(
        moved.logpdf(shift + scale * y), prediction.logpdf(y) - np.log(scale), rtol=1e-9
    )
    np.testing.assert_allclose(moved.crps(shift + scale * y), scale * prediction.crps(y), rtol=1e-9)
    np.testing.assert_allclose(moved.quantile(0.9), shift + scale * prediction.quantile(0.9), rtol=1e-9)
    np.testing.assert_allclose(moved.var, scale**2 * prediction.var)


def test_crps_of_a_sharper_correct_forecast_is_smaller(prediction):
    y = prediction.mean
    wide = prediction.rescale(0.0, 3.0)
    assert np.all(prediction.crps(y) > 0)
    assert np.all(prediction.crps(y) < wide.crps(3.0 * y))


def test_arrays_rebuild_the_prediction(prediction):
    again = Prediction(**prediction.arrays())
    y = np.linspace(-1, 1, 9)
    assert again.is_mixture == prediction.is_mixture
    np.testing.assert_array_equal(again.logpdf(y), prediction.logpdf(y))


def test_intervals_and_frames_are_of_quantiles() -> None:
    mixed = Prediction.mixture(
        *(np.array(each) for each in ([0.0, 1.0], [1.0, 2.0], [0.0, -1.0], [0.5, 0.1]))
    )
    lower, upper = mixed.interval(0.8)
    np.testing.assert_allclose(mixed.cdf(upper) - mixed.cdf(lower), 0.8, rtol=1e-8)
    frame = mixed.to_frame((0.9, 0.1, 0.9))
    assert list(frame) == ["mean", "std", "noise_std", "q0.1", "q0.9"]
    np.testing.assert_allclose(frame["q0.1"], lower, rtol=1e-12)
    np.testing.assert_array_equal(frame["std"] ** 2, np.sqrt(mixed.var) ** 2)
    assert list(mixed.to_frame(())) == ["mean", "std", "noise_std"]
    for level in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            mixed.interval(level)
        with pytest.raises(ValueError, match="between 0 and 1"):
            mixed.to_frame((level,))


def test_a_scaled_prediction_has_the_moments_that_it_tells():
    """y = m + sqrt((f + r) e^h) u with h normal, but m + sqrt(2) u for a fifth: by drawing it."""
    h = np.array([-0.4]), np.array([0.8])
    rare = np.array([0.2]), np.array([2.0])
    prediction = Prediction.scaled(np.array([1.5]), np.array([0.3]), 0.2, h, *rare).rescale(-1.0, 3.0)
    rng = np.random.default_rng(0)
    usual = 0.5 * np.exp(h[0] + np.sqrt(h[1]) * rng.normal(size=400_000))
    variance = np.where(rng.random(400_000) < 0.2, 2.0, usual)
    y = 3.0 * (1.5 + np.sqrt(variance) * rng.normal(size=400_000)) - 1.0
    assert prediction.mean[0] == 3.5
    assert prediction.var[0] == pytest.approx(y.var(), rel=0.01)
    assert prediction.noise_var[0] / prediction.var[0] == pytest.approx(0.4)
    for level in (0.05, 0.3, 0.9):
        assert np.mean(y <= prediction.quantile(level)[0]) == pytest.approx(level, abs=0.003)
    assert prediction.logpdf(4.0)[0] == pytest.approx(np.log(np.mean(np.abs(y - 4.0) < 0.05) / 0.1), abs=0.02)
    other = rng.permutation(y)  # an independent draw
    crps = np.mean(np.abs(y - 4.0)) - 0.5 * np.mean(np.abs(y - other))
    assert prediction.crps(4.0)[0] == pytest.approx(crps, abs=0.01)
