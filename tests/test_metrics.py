"""Scores against closed forms, quadrature and invariances."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from hgpbench.metrics import METRICS, score
from hgpbench.prediction import Prediction


def problem(seed: int = 0, n: int = 300, mixture: bool = True) -> tuple[np.ndarray, Prediction]:
    rng = np.random.default_rng(seed)
    f_mean, f_var, g_mean = rng.normal(size=n), rng.uniform(0.01, 0.2, n), rng.normal(-1.0, 0.7, n)
    g_var = rng.uniform(0.05, 0.8, n)
    g = g_mean + np.sqrt(g_var) * rng.standard_normal(n)
    y = f_mean + np.sqrt(f_var + np.exp(g)) * rng.standard_normal(n)
    if mixture:
        return y, Prediction.mixture(f_mean, f_var, g_mean, g_var)
    return y, Prediction.gaussian(f_mean, f_var, np.exp(g_mean))


def test_trivial_predictor_scores_as_declared() -> None:
    y = np.random.default_rng(0).normal(3.0, 2.0, 500)
    mean, var = float(np.mean(y)), float(np.var(y))
    prediction = Prediction(np.full(500, mean), np.full(500, var), np.full(500, var))
    found = score(y, prediction, mean, var)
    assert found["smse"] == pytest.approx(METRICS["smse"].trivial, abs=1e-12)
    assert found["msll"] == METRICS["msll"].trivial
    assert found["msll_gaussian"] == METRICS["msll_gaussian"].trivial


def test_normal_scores_match_closed_forms() -> None:
    y, prediction = problem(mixture=False)
    found = score(y, prediction, 0.2, 1.7)
    law, trivial = stats.norm(prediction.mean, np.sqrt(prediction.var)), stats.norm(0.2, math.sqrt(1.7))
    inside = np.abs(y - prediction.mean) <= stats.norm.ppf(0.975) * np.sqrt(prediction.var)
    expected = {
        "smse": np.mean((y - prediction.mean) ** 2) / np.var(y),
        "rmse": np.sqrt(np.mean((y - prediction.mean) ** 2)),
        "nlpd": -np.mean(law.logpdf(y)),
        "msll": np.mean(trivial.logpdf(y) - law.logpdf(y)),
        "msll_gaussian": np.mean(trivial.logpdf(y) - law.logpdf(y)),
        "coverage95": np.mean(inside),
        "width95": np.mean(law.ppf(0.975) - law.ppf(0.025)),
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-10), name


def test_crps_matches_its_defining_integral() -> None:
    y, prediction = problem(n=4)

    def at(i: int) -> float:
        one = Prediction.mixture(*(getattr(prediction, name)[i : i + 1] for name in MOMENTS))
        below = integrate.quad(lambda t: one.cdf(np.array([t]))[0] ** 2, -30, y[i], epsabs=1e-9, limit=200)[0]
        above = integrate.quad(
            lambda t: (1 - one.cdf(np.array([t]))[0]) ** 2, y[i], 30, epsabs=1e-9, limit=200
        )[0]
        return below + above

    expected = np.mean([at(i) for i in range(4)])
    assert METRICS["crps"].function(y, prediction, 0.0, 1.0) == pytest.approx(expected, rel=1e-6)


MOMENTS = ("f_mean", "f_var", "g_mean", "g_var")


def test_the_two_msll_differ_by_the_shape_of_the_density_only() -> None:
    y, prediction = problem()
    found = score(y, prediction, 0.0, 2.0)
    as_normal = score(y, Prediction(prediction.mean, prediction.var, prediction.noise_var), 0.0, 2.0)
    assert found["msll_gaussian"] == as_normal["msll"]
    # the data come from the mixture, so its own density must win on average (n = 300, g_var up to 0.8)
    assert found["msll"] < found["msll_gaussian"] - 0.01


def test_mixture_coverage_is_nominal_for_its_own_draws_and_agrees_with_its_quantiles() -> None:
    y, prediction = problem(n=20_000)
    found = METRICS["coverage95"].function(y, prediction, 0.0, 1.0)
    assert found == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 20_000))
    inside = (y >= prediction.quantile(0.025)) & (y <= prediction.quantile(0.975))
    assert found == np.mean(inside)


@pytest.mark.parametrize("mixture", [False, True])
def test_units_change_exactly_the_scores_that_carry_them(mixture: bool) -> None:
    y, prediction = problem(mixture=mixture)
    before = score(y, prediction, 0.1, 1.5)
    after = score(7.0 - 3.0 * y, prediction.rescale(7.0, -3.0), 7.0 - 3.0 * 0.1, 9.0 * 1.5)
    for name, metric in METRICS.items():
        expected = before[name] * 3.0 if metric.in_units else before[name]
        if name == "nlpd":
            expected += math.log(3.0)
        assert after[name] == pytest.approx(expected, rel=1e-8), name


def test_constant_targets_leave_the_standardised_scores_undefined() -> None:
    y = np.full(5, 2.0)
    found = score(y, Prediction(y, np.ones(5), np.ones(5)), 2.0, 0.0)
    assert math.isnan(found["smse"])
    assert math.isnan(found["msll"])
    assert found["rmse"] == 0.0


def test_registry_names_agree_and_directions_are_complete() -> None:
    for name, metric in METRICS.items():
        assert metric.name == name
        assert (metric.target is not None) == (metric.direction == "target")
