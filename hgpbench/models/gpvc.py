"""Basis functions with variable covariances, shared by the mean and the log noise (GPz)."""

from typing import get_args

import numpy as np

from hgpbench.gp.basis import Kind, spherical
from hgpbench.gp.basis_evidence import ETA_RATE, ETA_SHAPE, BasisProblem, positive
from hgpbench.gp.optim import lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.models.base import Array, Callback, Estimator, check_at_least, check_choice, ensure_started
from hgpbench.models.initial import Values
from hgpbench.models.placement import inducing_points
from hgpbench.prediction import Prediction


class GPVC(Estimator):
    """Bayesian linear model in basis functions with variable covariances and input-dependent noise.

    y = phi(x)^T w + N(0, 1 / beta(x)) with log beta(x) = b + phi(x)^T v: w is integrated out with a relevance
    for each weight, all else maximises the evidence times the prior of v, by L-BFGS. O(n m_b^2) an iteration.

    Centres start at k-means of the rows (the authors': drawn in the box of the principal axes), lengthscales
    at the authors' rule from the distances to them. The prior of v is proper, where the authors' is not and
    they stop early by held-out rows: see ``hgpbench.gp.basis_evidence``.

    Parameters
    ----------
    n_basis : int, default=100
        Basis functions m_b; one at each distinct row where they are fewer. Their centres are optimised.
    kind : {"GL", "VL", "GD", "VD", "GC", "VC"}, default="VC"
        Global or variable (each function its own) lengthscale, diagonal or full covariance.
    linear_mean : bool, default=True
        Add the inputs and a constant to the basis of the mean, as the authors do.
    heteroscedastic : bool, default=True
        Learn v; otherwise the noise is constant.
    max_iter : int, default=100
        Most iterations of L-BFGS.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the initial centres (k-means).

    Attributes
    ----------
    centres_ : array of shape (m_b, d)
        Centres p_j of the basis functions.
    relevances_ : array of shape (m_b,) or (m_b + d + 1,)
        Prior precisions alpha_j of the weights, of the standardised problem.
    noise_mean_ : float
        Log noise variance away from all centres, from b.
    noise_weights_ : array of shape (m_b,)
        Weights v_j of the log noise precision.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The log joint density of y and v, and how it was reached; see ``hgpbench.models.base``.
    """

    reference = (
        "Almosallam, Jarvis and Roberts (2016), GPz: non-stationary sparse Gaussian processes, MNRAS 462"
    )

    def __init__(
        self,
        n_basis: int = 100,
        kind: Kind = "VC",
        linear_mean: bool = True,
        heteroscedastic: bool = True,
        max_iter: int = 100,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_basis = n_basis
        self.kind = kind
        self.linear_mean = linear_mean
        self.heteroscedastic = heteroscedastic
        self.max_iter = max_iter
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("n_basis", self.n_basis, 1)
        check_choice("kind", self.kind, get_args(Kind))
        check_at_least("max_iter", self.max_iter, 1)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, rng = self._scaling, np.random.default_rng(self.random_state)
        inputs, target = scaling.inputs(X), scaling.target(y)
        first = self._first_values(inputs, target, inducing_points(inputs, self.n_basis, rng))
        problem = BasisProblem(inputs, target, len(first["P"]), self.kind, linear=self.linear_mean)
        layout = Layout.of(first, positive=positive(self.kind, list(first)))
        report = self._reporter(callback, len(y))
        result = lbfgs(
            objective(problem.evidence, layout), layout.pack(first), max_iter=self.max_iter, callback=report
        )
        self._keep(ensure_started(result), len(y))
        values = layout.unpack(result.x)
        self._posterior = problem.posterior(values)
        self.centres_ = scaling.undo_inputs(values["P"])
        self.relevances_ = values["alpha"]
        self.noise_mean_ = 2.0 * float(np.log(scaling.y_scale)) - float(values["b"])
        self.noise_weights_ = self._posterior.v

    def _first_values(self, X: Array, y: Array, P: Array) -> Values:
        """Noise as large as the target, weights of its size, widths by the authors' rule."""
        (m, d), variance = P.shape, float(np.var(y))
        k = m + d + 1 if self.linear_mean else m
        values = {
            "P": P,
            "gamma": spherical(self.kind, _widths(X, P), d),
            "alpha": np.full(k, 1.0 / variance),
            "b": np.asarray(-np.log(variance)),
        }
        if self.heteroscedastic:
            values |= {"v": np.zeros(m), "eta": np.full(m, (ETA_SHAPE + 0.5) / ETA_RATE)}
        return values

    def _moments(self, X: Array) -> Prediction:
        return Prediction.gaussian(*self._posterior.moments(X))


def _widths(X: Array, P: Array) -> Array:
    """First lengthscales (m,): gamma_j^2 = 2 m^(1/d) / mean_n |x_n - p_j|^2, without the distances."""
    m, d = P.shape
    centre = X.mean(axis=0)
    mean_squares = np.sum((X - centre) ** 2, axis=1).mean() + np.sum((P - centre) ** 2, axis=1)
    # All rows alike leave no distance: any width will do.
    mean_squares = np.where(mean_squares > 0.0, mean_squares, 1.0)
    return np.sqrt(0.5 * mean_squares * m ** (-1.0 / d))
