"""Bayesian ridge regression on scaled inputs, by chunks of rows: linear models, and the mean of f.

The mean of f that a GP is a deviation from is zero as in the paper, or linear: fitted by ridge regression on
the training rows before the GP, which then models what is left. With thousands of rows its own uncertainty is
negligible beside the GP's, and is neglected.
"""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hgpbench.columns import Array, chunks
from hgpbench.la import eigen
from hgpbench.prediction import Prediction
from hgpbench.scaling import Scaling

MeanKind = Literal["zero", "linear"]
MEAN_KINDS: tuple[MeanKind, ...] = get_args(MeanKind)
STRENGTHS: NDArray[np.float64] = 10.0 ** np.arange(-8.0, 3.01, 0.5)
"""Ridge strengths tried, as multiples of the number of rows (so that they mean the same at any n).

The least keeps the noise variance above 1e-8 of the target's, even of one that is exactly linear."""


@dataclass(frozen=True, eq=False)
class Ridge:
    """The posterior of weights w ~ N(0, noise / (n strength) I) and of a free intercept.

    The strength maximises the evidence. Where rows are few that is the safer guide: generalised
    cross-validation takes as many inputs as rows for a perfect fit.
    """

    strength: float
    noise: float
    centre: Array  # (d,), mean of the scaled inputs
    level: float  # mean of the target
    weights: Array  # (d,)
    n: int
    spread: Array  # (d, d), square root of the posterior covariance of the weights over the noise

    @classmethod
    def fit(cls, X: Array, t: Array, scaling: Scaling) -> "Ridge":
        """Fit targets ``t`` (n,) on the rows of ``X`` (n, d), which ``scaling`` scales chunk by chunk."""
        normal = _NormalEquations.of(X, t, scaling)
        strength = float(max(STRENGTHS, key=normal.log_evidence))
        weights, noise = normal.solve(strength)
        spread = normal.axes / np.sqrt(normal.eigenvalues + normal.n * strength)
        return cls(strength, noise, normal.x_mean, normal.t_mean, weights, normal.n, spread)

    def coefficients(self, scaling: Scaling, shift: float, scale: float) -> tuple[Array, float]:
        """Slopes (d,) and intercept for inputs in the user's units, of the target times scale plus shift."""
        slopes = scale * self.weights / scaling.x_scale
        centre = scaling.undo_inputs(self.centre)
        return slopes, float(shift + scale * self.level - centre @ slopes)

    def mean(self, Z: Array) -> Array:
        """Posterior mean at scaled inputs ``Z`` (s, d)."""
        return self.level + (Z - self.centre) @ self.weights

    def moments(self, Z: Array) -> tuple[Array, Array]:
        """Posterior mean and variance at scaled inputs ``Z`` (s, d), each (s,)."""
        f_mean, f_var = np.empty(len(Z)), np.empty(len(Z))
        for rows in chunks(len(Z)):
            f_mean[rows] = self.mean(Z[rows])
            leverage = np.sum(((Z[rows] - self.centre) @ self.spread) ** 2, axis=1) + 1.0 / self.n
            f_var[rows] = self.noise * leverage
        return f_mean, f_var


@dataclass(frozen=True, eq=False)
class MeanFunction:
    """A mean of scaled targets at scaled inputs; zero without a ``ridge``."""

    ridge: Ridge | None = None

    @classmethod
    def fit(cls, kind: MeanKind, X: Array, target: Array, scaling: Scaling) -> "MeanFunction":
        """The mean of this kind for training rows ``X`` in the user's units and scaled targets."""
        return cls(Ridge.fit(X, target, scaling) if kind == "linear" else None)

    def __call__(self, X: Array) -> Array:
        """The mean at scaled inputs (n, d)."""
        mean = np.zeros(len(X))
        if self.ridge is not None:
            for rows in chunks(len(X)):
                mean[rows] = self.ridge.mean(X[rows])
        return mean

    def add_to(self, prediction: Prediction, X: Array) -> Prediction:
        """The prediction of the target from that of its deviation, at scaled inputs."""
        mean = self(X)
        f_mean = None if prediction.f_mean is None else prediction.f_mean + mean
        return replace(prediction, mean=prediction.mean + mean, f_mean=f_mean)


@dataclass(frozen=True, eq=False)
class _NormalEquations:
    """The centred least-squares problem on the principal axes of its inputs."""

    n: int
    x_mean: Array  # (d,)
    t_mean: float
    eigenvalues: Array  # (d,), of the centred Gram matrix; zero where it is singular
    axes: Array  # (d, d), columns
    weights: Array  # (d,), least squares on those axes; zero where the eigenvalue is
    rss: float  # of that solution

    @classmethod
    def of(cls, X: Array, t: Array, scaling: Scaling) -> "_NormalEquations":
        """One pass for the products, one for the residuals: the difference of squares would cancel."""
        n, d = X.shape
        x_mean, t_mean = scaling.inputs(X.mean(axis=0)), float(t.mean())
        gram, moment = np.zeros((d, d)), np.zeros(d)
        for rows in chunks(n):
            Z = scaling.inputs(X[rows]) - x_mean
            gram += Z.T @ Z
            moment += Z.T @ (t[rows] - t_mean)
        e, axes = eigen(gram)
        seen = e > max(n, d) * np.finfo(float).eps * max(e[-1], np.finfo(float).tiny)
        e = np.where(seen, e, 0.0)
        weights = np.where(seen, axes.T @ moment, 0.0) / np.where(seen, e, 1.0)
        coefficients, rss = axes @ weights, 0.0
        for rows in chunks(n):
            residual = t[rows] - t_mean - (scaling.inputs(X[rows]) - x_mean) @ coefficients
            rss += float(residual @ residual)
        return cls(n, x_mean, t_mean, e, axes, weights, rss)

    def solve(self, strength: float) -> tuple[Array, float]:
        """Ridge coefficients (d,) and the noise variance."""
        weights = self.axes @ ((1.0 - self._shrinkage(strength)) * self.weights)
        return weights, self._noise(strength)

    def log_evidence(self, strength: float) -> float:
        """log p(t | strength) at the best noise variance, up to a constant; w is integrated out."""
        logdet = float(np.log1p(self.eigenvalues / (self.n * strength)).sum())
        noise = max(self._noise(strength), np.finfo(float).tiny)
        return -0.5 * ((self.n - 1) * float(np.log(noise)) + logdet)

    def _shrinkage(self, strength: float) -> Array:
        return self.n * strength / (self.eigenvalues + self.n * strength)

    def _noise(self, strength: float) -> float:
        """t^T (I + X X^T / ridge)^-1 t / (n - 1): least squares' residuals plus what the prior takes back."""
        penalised = self.rss + float(self.eigenvalues @ (self.weights**2 * self._shrinkage(strength)))
        return penalised / (self.n - 1)
