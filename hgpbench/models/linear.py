"""Ridge regression with constant noise, by chunks of rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from hgpbench.models.base import Array, Callback, Estimator
from hgpbench.models.scaling import Scaling, chunks
from hgpbench.prediction import Prediction

STRENGTHS: NDArray[np.float64] = 10.0 ** np.arange(-8.0, 3.01, 0.5)
"""Ridge strengths tried, as multiples of the number of rows (so that they mean the same at any n).

The least keeps the noise variance above 1e-8 of the target's, even of one that is exactly linear."""


class Linear(Estimator):
    """Bayesian ridge regression with constant noise; the strength maximises the evidence.

    Weights w ~ N(0, sigma^2_eps / ridge I) and a free intercept. Where rows are few the evidence is the safer
    guide: generalised cross-validation takes as many inputs as rows for a perfect fit. The predictive
    variance is that of the noise plus that of the weights and of the intercept. Rows are visited in chunks,
    twice, so two million of them need no second copy of the data.

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
        scaling, n = self._scaling, len(y)
        normal = _NormalEquations.of(X, y, scaling)
        self.ridge_ = normal.choose_strength()
        self._weights, self._noise = normal.solve(self.ridge_)
        self._centre, self._level, self._n = normal.x_mean, normal.y_mean, n
        # Posterior covariance of the weights over sigma^2, as a square root: (e + ridge)^-1/2 on each axis.
        self._spread = normal.axes / np.sqrt(normal.eigenvalues + n * self.ridge_)
        self.noise_var_ = scaling.y_scale**2 * self._noise
        self.coef_ = scaling.y_scale * self._weights / scaling.x_scale
        mean = scaling.undo_inputs(normal.x_mean)
        self.intercept_ = float(scaling.y_shift + scaling.y_scale * normal.y_mean - mean @ self.coef_)

    def _moments(self, X: Array) -> Prediction:
        f_mean, f_var = np.empty(len(X)), np.empty(len(X))
        for rows in chunks(len(X)):
            Z = X[rows] - self._centre
            f_mean[rows] = self._level + Z @ self._weights
            leverage = np.sum((Z @ self._spread) ** 2, axis=1) + 1.0 / self._n
            f_var[rows] = self._noise * leverage
        return Prediction.gaussian(f_mean, f_var, self._noise)


@dataclass(frozen=True, eq=False)
class _NormalEquations:
    """The centred least-squares problem on the principal axes of its inputs."""

    n: int
    x_mean: Array  # (d,)
    y_mean: float
    eigenvalues: Array  # (d,), of the centred Gram matrix; zero where it is singular
    axes: Array  # (d, d), columns
    weights: Array  # (d,), least squares on those axes; zero where the eigenvalue is
    rss: float  # of that solution

    @classmethod
    def of(cls, X: Array, y: Array, scaling: Scaling) -> "_NormalEquations":
        """One pass for the products, one for the residuals: the difference of squares would cancel."""
        n, d = X.shape
        x_mean, y_mean = scaling.inputs(X.mean(axis=0)), float(scaling.target(y).mean())
        gram, moment = np.zeros((d, d)), np.zeros(d)
        for rows in chunks(n):
            Z, t = scaling.inputs(X[rows]) - x_mean, scaling.target(y[rows]) - y_mean
            gram += Z.T @ Z
            moment += Z.T @ t
        e, axes = eigh(gram)
        seen = e > max(n, d) * np.finfo(float).eps * max(e[-1], np.finfo(float).tiny)
        e = np.where(seen, e, 0.0)
        weights = np.where(seen, axes.T @ moment, 0.0) / np.where(seen, e, 1.0)
        coefficients, rss = axes @ weights, 0.0
        for rows in chunks(n):
            t = scaling.target(y[rows]) - y_mean - (scaling.inputs(X[rows]) - x_mean) @ coefficients
            rss += float(t @ t)
        return cls(n, x_mean, y_mean, e, axes, weights, rss)

    def choose_strength(self) -> float:
        """The strength with the largest evidence; w is integrated out, the noise variance maximised."""
        return float(max(STRENGTHS, key=self._log_evidence))

    def solve(self, strength: float) -> tuple[Array, float]:
        """Ridge coefficients (d,) and the noise variance."""
        weights = self.axes @ ((1.0 - self._shrinkage(strength)) * self.weights)
        return weights, self._noise(strength)

    def _log_evidence(self, strength: float) -> float:
        """log p(y | strength) at the best noise variance, up to a constant."""
        logdet = float(np.log1p(self.eigenvalues / (self.n * strength)).sum())
        noise = max(self._noise(strength), np.finfo(float).tiny)
        return -0.5 * ((self.n - 1) * float(np.log(noise)) + logdet)

    def _shrinkage(self, strength: float) -> Array:
        return self.n * strength / (self.eigenvalues + self.n * strength)

    def _noise(self, strength: float) -> float:
        """y^T (I + X X^T / ridge)^-1 y / (n - 1): least squares' residuals plus what the prior takes back."""
        penalised = self.rss + float(self.eigenvalues @ (self.weights**2 * self._shrinkage(strength)))
        return penalised / (self.n - 1)
