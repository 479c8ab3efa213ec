"""Scores of a prediction, in the user's units: pure functions, each with its direction and its trivial value.

Every score is a number computed from the test targets, the stored Prediction, and the mean and variance of
the *training* targets, which make the trivial predictor N(train_mean, train_var).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def coverage(y: Array, prediction: Prediction, train_mean: float, train_var: float, *, percent: int) -> float:
    """Share of the test targets inside the central interval of so many per cent."""
    # By the distribution function rather than the two quantiles: the same event without a root search.
    below, tail = prediction.cdf(y), (100 - percent) / 200
    if np.any(np.isnan(below)):  # a comparison would count it as a target outside
        return math.nan
    return float(np.mean((below >= tail) & (below <= 1 - tail)))


def calibration(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """Calibration error: mean over the levels of ``|share of the targets covered - level|``."""
    covered = [coverage(y, prediction, train_mean, train_var, percent=percent) for percent in LEVELS]
    return float(np.mean(np.abs(np.array(covered) - np.array(LEVELS) / 100)))


def width95(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """Mean width of the central 95 % interval."""
    return 2.0 * float(np.mean(_half_width95(prediction)))


def interval95(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> float:
    """Interval score of the central 95 % interval (Gneiting & Raftery, 2007, eq. 43) over the trivial one's.

    As with the SMSE, the ratio has no unit and is 1 for the trivial predictor, on whatever data.
    """
    if train_var <= 0:
        return math.nan
    trivial = _normal(np.full_like(y, train_mean), np.full_like(y, train_var))
    return _interval_score95(y, prediction) / _interval_score95(y, trivial)


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
    skill: str = "smse"  # the score in which a model has to beat the trivial predictor before this one counts


LEVELS = (*range(10, 100, 10), 95)
"""Per cent of the central intervals whose coverage is counted."""

MARGIN = 0.01
"""By how much a model must beat the trivial predictor; in SMSE, the share of the variance it explains."""

# A narrow interval is a virtue only at the right coverage, so width has no direction of its own. Coverage and
# calibration ask for no knowledge at all: N(train_mean, train_var) has both, so they count beside the SMSE.
METRICS: dict[str, Metric] = {
    "smse": Metric("smse", "SMSE", "lower", smse, trivial=1.0),
    "msll": Metric("msll", "MSLL", "lower", msll, trivial=0.0, skill="msll"),
    "msll_gaussian": Metric(
        "msll_gaussian", "MSLL (Gaussian)", "lower", msll_gaussian, trivial=0.0, skill="msll_gaussian"
    ),
    "rmse": Metric("rmse", "RMSE", "lower", rmse, in_units=True),
    "nlpd": Metric("nlpd", "NLPD", "lower", nlpd, skill="msll"),
    "crps": Metric("crps", "CRPS", "lower", crps, in_units=True),
    "calibration": Metric("calibration", "calibration error", "lower", calibration),
    "interval95": Metric(
        "interval95", "interval score", "lower", interval95, trivial=1.0, skill="interval95"
    ),
    "width95": Metric("width95", "95 % width", "none", width95, in_units=True),
    **{
        f"coverage{percent}": Metric(
            f"coverage{percent}",
            f"{percent} % coverage",
            "target",
            partial(coverage, percent=percent),
            target=percent / 100,
        )
        for percent in LEVELS
    },
}


def score(y: Array, prediction: Prediction, train_mean: float, train_var: float) -> dict[str, float]:
    """Every metric by name."""
    asked = Remembering.of(prediction)
    return {name: metric.function(y, asked, train_mean, train_var) for name, metric in METRICS.items()}


def beats_trivial(metric: str, value: float) -> bool:
    """Whether a score tells of more than the mean and variance of the training targets do."""
    trivial = METRICS[metric].trivial
    return trivial is not None and value < trivial - MARGIN


def fails(smse: float) -> bool:
    """Whether an SMSE is no better than the trivial predictor's; of a constant target nothing can be said."""
    return not math.isnan(smse) and not beats_trivial("smse", smse)


class Remembering(Prediction):
    """A prediction that works out an answer once: many scores ask for the same density, cdf and quantile."""

    @classmethod
    def of(cls, prediction: Prediction) -> "Remembering":
        """The same prediction; itself where it remembers already."""
        return prediction if isinstance(prediction, cls) else cls(**prediction.arrays())

    def logpdf(self, y: ArrayLike) -> Array:
        """Log density of the targets ``y``."""
        return self._once("logpdf", y, super().logpdf)

    def cdf(self, y: ArrayLike) -> Array:
        """Probability of a target not above ``y``."""
        return self._once("cdf", y, super().cdf)

    def quantile(self, q: ArrayLike) -> Array:
        """The q-quantiles."""
        return self._once("quantile", q, super().quantile)

    @cached_property
    def _answers(self) -> dict[str, list[tuple[ArrayLike, Array]]]:
        return {}

    def _once(self, question: str, about: ArrayLike, answer: Callable[[ArrayLike], Array]) -> Array:
        known = self._answers.setdefault(question, [])
        for before, answered in known:
            if before is about or (isinstance(about, float) and before == about):
                return answered
        known.append((about, answer(about)))
        return known[-1][1]


def _mse(y: Array, prediction: Prediction) -> float:
    return float(np.mean((y - prediction.mean) ** 2))


def _normal(mean: Array, var: Array) -> Prediction:
    """A plain normal predictive; no score asks how its variance divides into signal and noise."""
    return Prediction(mean, var, noise_var=var)


def _half_width95(prediction: Prediction) -> Array:
    """Half the width of the central 95 % interval at each point."""
    # Normals and mixtures of normals with one mean are symmetric, so one root search serves both ends.
    return prediction.quantile(0.975) - prediction.quantile(0.5)


def _interval_score95(y: Array, prediction: Prediction) -> float:
    """Mean width of the interval plus 2/0.05 times the distance by which a target lies outside."""
    half = _half_width95(prediction)
    outside = np.maximum(np.abs(y - prediction.quantile(0.5)) - half, 0.0)
    return float(np.mean(2 * half + 2 / 0.05 * outside))
