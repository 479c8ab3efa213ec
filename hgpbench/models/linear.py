"""Ridge regression with constant noise, by chunks of rows."""

from hgpbench.fitting.ridge import Ridge
from hgpbench.models.base import Array, Callback, Estimator
from hgpbench.prediction import Prediction


class Linear(Estimator):
    """Bayesian ridge regression with constant noise; the strength maximises the evidence.

    Weights w ~ N(0, sigma^2_eps / ridge I) and a free intercept. The predictive variance is that of the noise
    plus that of the weights and of the intercept. Rows are visited in chunks, twice, so two million of them
    need no second copy of the data.

    Cost: O(n d^2 + d^3) once, by chunks of rows; O(d^2) a test row.

    Parameters
    ----------
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the ridge acts on the inputs as they are.

    Attributes
    ----------
    coef_, intercept_ : array of shape (d,), float
        Coefficients in the user's units.
    noise_var_ : float
        Noise variance sigma^2_eps, from the penalised residuals.
    ridge_ : float
        Strength chosen, per row of the scaled problem.
    """

    reference = "MacKay (1992), Bayesian interpolation, Neural Computation 4(3)"

    def __init__(self, standardize: bool = True) -> None:
        self.standardize = standardize

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling = self._scaling
        self._ridge = ridge = Ridge.fit(X, scaling.target(y), scaling)
        self.ridge_ = ridge.strength
        self.noise_var_ = scaling.y_scale**2 * ridge.noise
        self.coef_, self.intercept_ = ridge.coefficients(scaling, scaling.y_shift, scaling.y_scale)

    def _moments(self, X: Array) -> Prediction:
        return Prediction.gaussian(*self._ridge.moments(X), self._ridge.noise)
