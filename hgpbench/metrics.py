"""Scores of a prediction, in the user's units: pure functions, each with its direction and its trivial value.

Every score is a number computed from the test targets, the stored Prediction, and the mean and variance of
the *training* targets, which make the trivial predictor N(train_mean, train_var).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hgpbench.prediction import Prediction

Array = NDArray[np.float64]
Direction = Literal["lower", "target", "none"]


def smse(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """Mean squared error over the variance of the test targets (Rasmussen & Williams, section 2.5)."""
    spread = float(np.var(y))
    return _mse(y, prediction) / spread if spread > 0 else float("nan")


def rmse(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """Root mean squared error of the predictive mean."""
    return float(np.sqrt(_mse(y, prediction)))


def nlpd(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """Mean negative log predictive density, exact: of the mixture where the model has one."""
    return -float(np.mean(prediction.logpdf(y)))


def msll(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """Mean standardised log loss with the exact density: NLPD minus that of the trivial predictor."""
    if train_var <= 0:  # a constant training target: the trivial predictor has no density
        return float("nan")
    trivial = _normal(np.full_like(y, train_mean), np.full_like(y, train_var))
    return -float(np.mean(prediction.logpdf(y) - trivial.logpdf(y)))


def msll_gaussian(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """The paper's MSLL: as if the predictive were N(mean, var), whatever the model says."""
    return msll(y, _normal(prediction.mean, prediction.var), train_mean, train_var)


def crps(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """Mean continuous ranked probability score."""
    return float(np.mean(prediction.crps(y)))


def coverage95(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """Share of the test targets inside the central 95 % interval."""
    # By the distribution function rather than the two quantiles: the same event without a root search.
    below = prediction.cdf(y)
    return float(np.mean((below >= 0.025) & (below <= 0.975)))


def width95(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """Mean width of the central 95 % interval."""
    # Normals and mixtures of normals with one mean are symmetric, so one root search serves both ends.
    return 2.0 * float(np.mean(prediction.quantile(0.975) - prediction.quantile(0.5)))


@dataclass(frozen=True)
class Metric:
    """One score: what to call it, which way is better, and what N(train_mean, train_var) gets."""

    name: str
    title: str
    direction: Direction
    function: Callable[[Array, Prediction, float, float], float]
    trivial: float | None = None  # score of the trivial predictor, where it is known beforehand
    target: float | None = None  # the value to be near to, where direction is "target"
    in_units: bool = False  # whether it carries the unit of the target


# A narrow interval is a virtue only at the right coverage, so width has no direction of its own.
METRICS: dict[str, Metric] = {
    "smse": Metric("smse", "SMSE", "lower", smse, trivial=1.0),
    "msll": Metric("msll", "MSLL", "lower", msll, trivial=0.0),
    "msll_gaussian": Metric("msll_gaussian", "MSLL (Gaussian)", "lower", msll_gaussian, trivial=0.0),
    "rmse": Metric("rmse", "RMSE", "lower", rmse, in_units=True),
    "nlpd": Metric("nlpd", "NLPD", "lower", nlpd),
    "crps": Metric("crps", "CRPS", "lower", crps, in_units=True),
    "coverage95": Metric("coverage95", "95 % coverage", "target", coverage95, target=0.95),
    "width95": Metric("width95", "95 % width", "none", width95, in_units=True),
}


def score(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> dict[str, float]:
    """Every metric by name."""
    return {name: metric.function(y, prediction, train_mean, train_var) for name, metric in METRICS.items()}


def _mse(y: Array, prediction: Prediction) -> float:
    return float(np.mean((y - prediction.mean) ** 2))


def _normal(mean: Array, var: Array) -> Prediction:
    """A plain normal predictive; no score asks how its variance divides into signal and noise."""
    return Prediction(mean, var, noise_var=var)
