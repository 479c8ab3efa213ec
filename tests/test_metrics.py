"""Scores against closed forms, quadrature and invariances."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from hgpbench.gp import predictive
from hgpbench.metrics import LEVELS, METRICS, Remembering, beats_trivial, fails, score
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
    assert found["interval95"] == METRICS["interval95"].trivial


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
        "interval95": np.mean(interval_score(y, law.ppf(0.025), law.ppf(0.975)))
        / np.mean(interval_score(y, trivial.ppf(0.025), trivial.ppf(0.975))),
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


def interval_score(y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """As it is defined: the width, and 2/alpha times the distance below or above."""
    return (high - low) + 2 / 0.05 * (low - y) * (y < low) + 2 / 0.05 * (y - high) * (y > high)


def test_interval_score_of_a_mixture_is_its_definition_at_quantiles_found_by_bisection() -> None:
    y, prediction = problem(n=30)
    y[:4] += [9.0, -9.0, 3.0, -3.0]  # some outside, on both sides

    def quantile(level: float, i: int) -> float:
        one = Prediction.mixture(*(getattr(prediction, name)[i : i + 1] for name in MOMENTS))
        return optimize.brentq(lambda t: one.cdf(np.array([t]))[0] - level, -60, 60, xtol=1e-12)

    low, high = (np.array([quantile(level, i) for i in range(30)]) for level in (0.025, 0.975))
    reach = stats.norm(0.3, 1.2)
    expected = np.mean(interval_score(y, low, high)) / np.mean(interval_score(y, *reach.ppf([0.025, 0.975])))
    found = METRICS["interval95"].function(y, prediction, 0.3, 1.44)
    assert found == pytest.approx(expected, rel=1e-9)


def spread(n: int, scale: float) -> tuple[np.ndarray, Prediction]:
    """Targets at even quantiles of N(1, 4), and a normal whose standard deviation is wrong by a factor."""
    y = stats.norm(1.0, 2.0).ppf((np.arange(n) + 0.5) / n)
    return y, Prediction(np.full(n, 1.0), np.full(n, (2 * scale) ** 2), np.full(n, 1.0))


@pytest.mark.parametrize("scale", [0.25, 0.7, 1.0, 1.4, 3.0])
def test_coverage_and_calibration_error_have_their_analytic_values(scale: float) -> None:
    y, prediction = spread(20_000, scale)
    found = score(y, prediction, 1.0, 4.0)
    levels = np.array(LEVELS) / 100
    covered = 2 * stats.norm.cdf(scale * stats.norm.ppf((1 + levels) / 2)) - 1
    assert [found[f"coverage{percent}"] for percent in LEVELS] == pytest.approx(covered, abs=2e-4)
    assert found["calibration"] == pytest.approx(np.mean(np.abs(covered - levels)), abs=2e-4)


def test_calibration_error_of_the_true_distribution_falls_with_the_root_of_the_rows() -> None:
    rng, means = np.random.default_rng(5), []
    for n in (100, 10_000):
        law = Prediction(np.zeros(n), np.ones(n), np.ones(n))
        errors = [METRICS["calibration"].function(rng.standard_normal(n), law, 0.0, 1.0) for _ in range(60)]
        means.append(np.mean(errors) * math.sqrt(n))
    assert means == pytest.approx([0.32, 0.32], abs=0.08)  # four standard errors of a mean of 60


def test_a_mixture_is_calibrated_where_the_normal_of_its_moments_is_not() -> None:
    rng = np.random.default_rng(3)
    n = 5_000
    y = np.exp(rng.normal(0.0, 1.0, n)) ** 0.5 * rng.standard_normal(n)  # log variances of variance one
    zero, one = np.zeros(n), np.ones(n)
    mixture = Prediction.mixture(zero, zero, zero, one)
    normal = Prediction(mixture.mean, mixture.var, mixture.noise_var)
    errors = [METRICS["calibration"].function(y, each, 0.0, 1.0) for each in (mixture, normal)]
    assert errors[0] < 1 / math.sqrt(n)
    assert errors[1] > 0.05


def test_the_interval_score_is_least_at_the_true_scale() -> None:
    scores = {s: METRICS["interval95"].function(*spread(4_000, s), 1.0, 4.0) for s in (0.6, 0.9, 1, 1.1, 2)}
    assert min(scores, key=scores.__getitem__) == 1
    assert scores[1] == pytest.approx(1.0, abs=1e-12)


def test_what_is_not_a_number_is_not_counted_as_outside() -> None:
    y, prediction = problem(n=50)
    y[7] = np.nan
    found = score(y, prediction, 0.0, 1.0)
    assert all(math.isnan(found[name]) for name in ("calibration", "interval95", "coverage10", "coverage95"))


def test_all_scores_together_search_for_a_root_once(monkeypatch: pytest.MonkeyPatch) -> None:
    y, prediction = problem(n=40)
    alone = {name: metric.function(y, prediction, 0.0, 1.0) for name, metric in METRICS.items()}
    asked: list[str] = []
    for name in ("mixture_cdf", "mixture_logpdf", "_upper_offset"):
        plain = getattr(predictive, name)
        monkeypatch.setattr(predictive, name, lambda *a, n=name, f=plain: (asked.append(n), f(*a))[1])
    remembering = Remembering.of(prediction)
    assert score(y, remembering, 0.0, 1.0) == alone
    assert sorted(asked) == ["_upper_offset", "mixture_cdf", "mixture_logpdf"]
    assert np.array_equal(remembering.cdf(y), prediction.cdf(y))
    assert not np.array_equal(remembering.cdf(y + 1), remembering.cdf(y))
    assert np.array_equal(remembering.quantile(0.9), prediction.quantile(0.9))


@pytest.mark.parametrize(
    ("metric", "value", "beats"),
    [
        ("smse", 0.98, True),
        ("smse", 0.99, False),
        ("smse", 40.0, False),
        ("msll", -0.02, True),
        ("msll", 0.0, False),
        ("interval95", 0.5, True),
        ("interval95", 1.0, False),
        ("smse", math.nan, False),
    ],
)
def test_beating_the_trivial_predictor_takes_a_margin(metric: str, value: float, beats: bool) -> None:
    assert beats_trivial(metric, value) is beats
    if metric == "smse":
        assert fails(value) is (not beats and not math.isnan(value))


def test_constant_targets_leave_the_standardised_scores_undefined() -> None:
    y = np.full(5, 2.0)
    found = score(y, Prediction(y, np.ones(5), np.ones(5)), 2.0, 0.0)
    assert math.isnan(found["smse"])
    assert math.isnan(found["msll"])
    assert math.isnan(found["interval95"])
    assert found["rmse"] == 0.0


def test_registry_names_agree_and_directions_are_complete() -> None:
    for name, metric in METRICS.items():
        assert metric.name == name
        assert (metric.target is not None) == (metric.direction == "target")
        assert METRICS[metric.skill].trivial is not None
