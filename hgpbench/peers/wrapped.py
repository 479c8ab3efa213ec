"""A noise variance for any regressor that predicts a mean: the four usual ways."""

import copy
import math
from typing import Any, Literal, get_args

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from hgpbench.errors import FitError
from hgpbench.fitting.checks import check_at_least, check_choice
from hgpbench.models.base import Array, Callback
from hgpbench.peers import noise as variances
from hgpbench.peers.base import Peer, out_of_fold, set_apart
from hgpbench.prediction import Prediction

Noise = Literal["residual", "cv-residual", "conformal", "two-stage"]
NOISES: tuple[Noise, ...] = get_args(Noise)
LEVEL = 0.9  # of the interval that the conformal width is exact for
CALIBRATION_SHARE = 0.25
LEAST = 1e-12  # variance, of a target of unit variance


class WithNoise(Peer):
    """A regressor for the mean, and a normal about it.

    Cost: that of the regressor: one fit, and ``n_folds`` more for residuals out of sample, one more for two
    stages.

    Parameters
    ----------
    regressor : object
        Anything with ``fit(X, y)`` and ``predict(X)``; copies of it are fitted.
    noise : {"residual", "cv-residual", "conformal", "two-stage"}, default="two-stage"
        "residual": constant, the mean squared residual of the training rows, too small where the regressor
        over-fits. "cv-residual": the same of rows left out in turn. "conformal": constant, so that the
        central 90 % interval holds as many rows of a quarter set apart as split-conformal prediction asks
        for. "two-stage": a second copy of the regressor for the log of squared left-out residuals.
    n_folds : int, default=5
        Folds by which residuals are out of sample.
    random_state : int or None, default=None
        Seed of the folds, and of the rows set apart.
    """

    reference = "Lei et al. (2018), Distribution-free predictive inference for regression"

    def __init__(
        self,
        regressor: Any = None,
        noise: Noise = "two-stage",
        n_folds: int = 5,
        random_state: int | None = None,
    ) -> None:
        self.regressor = regressor
        self.noise = noise
        self.n_folds = n_folds
        self.random_state = random_state

    def _check_params(self) -> None:
        check_choice("noise", self.noise, NOISES)
        check_at_least("n_folds", self.n_folds, 2)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        rng = np.random.default_rng(self.random_state)
        inputs, target = self._scaling.inputs(X), self._scaling.target(y)
        self._shape: Any = None
        if self.noise == "conformal":
            train, rest = set_apart(len(y), rng, CALIBRATION_SHARE)
            self._mean = self._fitted(inputs[train], target[train])
            self._var = _conformal(target[rest] - _predicted(self._mean, inputs[rest]))
            return
        self._mean = self._fitted(inputs, target)
        if self.noise == "residual":
            residuals = target - _predicted(self._mean, inputs)
        else:
            residuals = target - out_of_fold(self._predictor, inputs, target, self.n_folds, rng)
        self._var = max(float(np.mean(residuals**2)), LEAST)
        if self.noise == "two-stage":
            self._second_stage(inputs, residuals, rng)

    def _second_stage(self, X: Array, residuals: Array, rng: np.random.Generator) -> None:
        """The log variance, its level and strength by rows that the regression for it has not seen."""
        squares = variances.log_squares(residuals)
        shape = out_of_fold(self._predictor, X, squares, self.n_folds, rng)
        self._belief = variances.believed(residuals, shape)
        self._shape = self._fitted(X, squares)

    def _moments(self, X: Array) -> Prediction:
        mean = _predicted(self._mean, X)
        if self._shape is None:
            return Prediction.gaussian(mean, np.zeros(len(X)), self._var)
        noise = np.maximum(self._belief.variance(_predicted(self._shape, X)), LEAST)
        return Prediction.gaussian(mean, np.zeros(len(X)), noise)

    def _fitted(self, X: Array, y: Array) -> Any:
        """A fitted copy of the regressor."""
        regressor = self.regressor
        fresh = clone(regressor) if hasattr(regressor, "get_params") else copy.deepcopy(regressor)
        fresh.fit(X, y)
        return fresh

    def _predictor(self, X: Array, y: Array) -> Any:
        model = self._fitted(X, y)
        return lambda Z: _predicted(model, Z)


def _predicted(model: Any, X: Array) -> Array:
    """Means (n,) of a regressor, which may give a column."""
    found = np.asarray(model.predict(X), dtype=np.float64)
    if found.shape not in {(len(X),), (len(X), 1)}:
        raise FitError(f"the regressor's mean has shape {found.shape}, not ({len(X)},)")
    return found.reshape(-1)


def _conformal(residuals: Array) -> float:
    """The variance of a normal whose central interval holds the residuals that a conformal one would."""
    n = len(residuals)
    rank = min(n, math.ceil((n + 1) * LEVEL))
    width = float(np.sort(np.abs(residuals))[rank - 1])
    return max((width / float(norm.ppf(0.5 + LEVEL / 2))) ** 2, LEAST)
