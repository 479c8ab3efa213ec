"""Numbers about the noise: each against a case whose answer is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hgpbench import metrics
from hgpbench.bench.record import Arrays
from hgpbench.prediction import Prediction
from hgpbench.report.facts import facts


@pytest.fixture
def arrays() -> Arrays:
    """The truth itself as the prediction, with a small uncertainty of f that follows the noise."""
    x = np.linspace(-2, 2, 300)
    mean, noise = np.sin(3 * x), np.exp(x - 2)
    y = mean + np.sqrt(noise) * np.random.default_rng(0).standard_normal(x.size)
    extras = {"truth_mean": mean, "truth_noise_var": noise}
    return Arrays(np.arange(x.size), y, Prediction.gaussian(mean, 0.25 * noise, noise), None, extras)


def of(arrays: Arrays) -> dict[str, float]:
    return facts(arrays, train_mean=0.0, train_var=1.0)


def test_the_truth_is_near_itself(arrays) -> None:
    found = of(arrays)
    assert found["mean_error"] == 0
    assert found["var_correlation"] == pytest.approx(1)
    assert found["var_log_error"] == pytest.approx(math.log(1.25))
    assert found["latent_share"] == pytest.approx(0.2)
    assert found["latent_correlation"] == pytest.approx(1)
    assert (
        found["noise_var"]
        == found["truth_noise_var"]
        == pytest.approx(np.mean(arrays.extras["truth_noise_var"]))
    )
    assert found["noise_spread"] == pytest.approx(np.std(np.linspace(-2, 2, 300)))


def test_a_variance_that_is_too_small_throughout_is_told_by_its_sign(arrays) -> None:
    less = replace(arrays.prediction, var=0.5 * arrays.extras["truth_noise_var"])
    assert of(replace(arrays, prediction=less))["var_log_bias"] == pytest.approx(math.log(0.5))
    assert of(arrays)["var_log_bias"] == pytest.approx(math.log(1.25))


def test_the_variance_of_f_is_told_in_terms_of_the_targets(arrays) -> None:
    expected = 0.25 * np.mean(arrays.extras["truth_noise_var"])
    assert of(arrays)["latent_var"] == pytest.approx(expected)
    assert facts(arrays, train_mean=0.0, train_var=2.0)["latent_var"] == pytest.approx(expected / 2)


def test_a_jump_is_told_from_a_slope(arrays) -> None:
    x = np.linspace(-2, 2, 300)
    arrays.extras["X_test"] = x[:, None]
    smooth = of(arrays)["bend"]
    assert smooth == pytest.approx(9 * (x[1] - x[0]) ** 2, rel=0.01)
    jumping = replace(arrays, prediction=replace(arrays.prediction, mean=np.sin(3 * x) + 0.2 * (x > 0.5)))
    assert of(jumping)["bend"] == pytest.approx(0.2, abs=smooth)
    arrays.extras["X_test"] = (x**3)[:, None]
    assert "bend" not in of(arrays)


def test_scores_of_the_truth_are_a_floor_without_uncertainty_of_f(arrays) -> None:
    exact = replace(arrays.prediction, var=arrays.prediction.noise_var)
    assert of(arrays)["truth_msll"] == pytest.approx(metrics.msll_gaussian(arrays.y, exact, 0.0, 1.0))
    assert of(arrays)["truth_smse"] == pytest.approx(metrics.smse(arrays.y, exact, 0.0, 1.0))


def test_a_constant_variance_follows_nothing(arrays) -> None:
    flat = Prediction.gaussian(np.zeros(300), np.full(300, 0.1), 0.3)
    found = of(replace(arrays, prediction=flat))
    assert found["var_correlation"] == found["latent_correlation"] == 0
    assert found["var_spread"] == pytest.approx(0, abs=1e-12)
    assert found["mean_error"] == pytest.approx(
        np.mean(np.sin(3 * np.linspace(-2, 2, 300)) ** 2) / np.var(np.sin(3 * np.linspace(-2, 2, 300)))
    )


def test_what_cannot_be_said_is_absent(arrays) -> None:
    assert of(replace(arrays, extras={})).keys() == {"var_spread", "noise_var", "noise_spread", "latent_var"}
    silent = replace(arrays.prediction, noise_var=np.zeros(300))
    assert of(replace(arrays, prediction=silent, extras={})).keys() == {"var_spread", "latent_var"}
    still = {"truth_mean": np.zeros(300), "truth_noise_var": np.ones(300)}
    assert "mean_error" not in of(replace(arrays, extras=still))


def test_a_running_mean_explains_nothing_of_the_cycle(arrays) -> None:
    years = np.arange(391.0)
    slow, cycle = np.sin(years / 60), 0.3 * np.sin(2 * np.pi * years / 11)
    y = slow + cycle + 0.05 * np.random.default_rng(0).standard_normal(391)
    running = np.convolve(np.pad(y, 15, mode="edge"), np.full(31, 1 / 31), mode="valid")
    series = replace(arrays, y=y, extras={"X_test": years[::-1, None]})

    def share(mean) -> float:
        prediction = Prediction.gaussian(mean[::-1].copy(), np.zeros(391), 1.0)
        return of(replace(series, y=y[::-1].copy(), prediction=prediction))["cycle"]

    assert share(slow + cycle) > 0.95
    assert share(slow + 0.5 * cycle) == pytest.approx(0.75, abs=0.03)
    assert share(running) < 0.2
    assert np.var(y - running) / np.var(y) < 0.2  # which SMSE would take for a good fit
    uneven = replace(series, extras={"X_test": years[:, None] ** 2})
    assert "cycle" not in of(replace(uneven, prediction=Prediction.gaussian(y, np.zeros(391), 1.0)))
