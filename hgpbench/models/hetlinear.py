"""Two ridge regressions: one for the mean, one for the log noise variance."""

from dataclasses import replace

import numpy as np

from hgpbench.columns import chunks
from hgpbench.fitting.ridge import Ridge
from hgpbench.gp.scatter import MEAN_LOG_CHI2
from hgpbench.models.base import Array, Callback, Estimator
from hgpbench.prediction import Prediction
from hgpbench.scaling import Scaling

FLOOR = 1e-10  # of the mean noise variance, under the squared residuals: a zero has no logarithm


class HetLinear(Estimator):
    """Ridge regression for the mean, a second one for the log of its squared residuals.

    The simplest heteroscedastic model. A squared residual is the noise variance times a chi-squared variable,
    whose logarithm has mean -1.27: the second ridge is raised by as much, or by what makes the training
    residuals likeliest. Strengths maximise the evidence. Rows are visited in chunks, so two million of them
    need no second copy of the inputs.

    Cost: O(n d^2 + d^3) for each of two ridges, by chunks of rows; O(d^2) a test row.

    Parameters
    ----------
    calibrate : bool, default=True
        Set the level of the noise by maximum likelihood, standardised squared residuals being one on average;
        otherwise by the mean of the log chi-squared variable, which holds for normal residuals only.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise both ridges act on the inputs as they are.

    Attributes
    ----------
    coef_, intercept_ : array of shape (d,), float
        Coefficients of the mean in the user's units.
    noise_coef_, noise_intercept_ : array of shape (d,), float
        Coefficients of the log noise variance in the user's units.
    ridge_, noise_ridge_ : float
        Strengths chosen, per row of the scaled problem.
    """

    reference = (
        "Harvey (1976), Estimating regression models with multiplicative heteroscedasticity, Econometrica 44"
    )

    def __init__(self, calibrate: bool = True, standardize: bool = True) -> None:
        self.calibrate = calibrate
        self.standardize = standardize

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling = self._scaling
        target = scaling.target(y)
        self._mean = Ridge.fit(X, target, scaling)
        log_squares = _log_squares(X, target, self._mean, scaling)
        shape = Ridge.fit(X, log_squares, scaling)
        fitted = np.concatenate([shape.mean(scaling.inputs(X[rows])) for rows in chunks(len(X))])
        # With variances e^(c + fitted), the log likelihood is largest where e^c is the mean of the ratios.
        rise = np.log(np.mean(np.exp(log_squares - fitted))) if self.calibrate else -MEAN_LOG_CHI2
        self._log_noise = replace(shape, level=shape.level + rise)
        # Beyond the rows seen, a log-linear noise variance soon overflows: it goes no further than theirs.
        self._range = fitted.min() + rise, fitted.max() + rise
        self._describe()

    def _describe(self) -> None:
        """Both regressions in the user's units."""
        scaling, mean, log_noise = self._scaling, self._mean, self._log_noise
        self.ridge_, self.noise_ridge_ = mean.strength, log_noise.strength
        self.coef_, self.intercept_ = mean.coefficients(scaling, scaling.y_shift, scaling.y_scale)
        shift = 2.0 * float(np.log(scaling.y_scale))
        self.noise_coef_, self.noise_intercept_ = log_noise.coefficients(scaling, shift, 1.0)

    def _moments(self, X: Array) -> Prediction:
        log_noise = np.clip(self._log_noise.mean(X), *self._range)
        return Prediction.gaussian(*self._mean.moments(X), np.exp(log_noise))


def _log_squares(X: Array, t: Array, mean: Ridge, scaling: Scaling) -> Array:
    """Logarithms (n,) of the squared residuals of ``mean``.

    Residuals may vanish: squares count as at least ``FLOOR`` of their mean. Where the noise is normal and its
    variance r times the mean, that raises the mean of the logarithms by 1.6 sqrt(FLOOR / r): hardly ever.
    """
    log_squares = np.empty(len(t))
    least = FLOOR * mean.noise
    for rows in chunks(len(t)):
        residual = t[rows] - mean.mean(scaling.inputs(X[rows]))
        log_squares[rows] = np.log(np.maximum(residual**2, least))
    return log_squares
