"""Basis functions with variable covariances, shared by the mean and the log noise (GPz)."""

from dataclasses import replace
from typing import get_args

import numpy as np

from hgpbench.fitting.basis import Options, fit_basis
from hgpbench.fitting.basis_choice import FEW_ROWS, MOST_CHOSEN, Choice, choose
from hgpbench.fitting.checks import check_at_least, check_choice
from hgpbench.fitting.start import N_RESTARTS, told
from hgpbench.fitting.values import Values
from hgpbench.gp.gpz import Kind
from hgpbench.models.base import Array, Callback, Copies, Estimator
from hgpbench.prediction import Prediction


class GPVC(Estimator):
    """Bayesian linear model in basis functions with variable covariances and input-dependent noise.

    y = phi(x)^T w + N(0, 1 / beta(x)) with log beta(x) = b + phi(x)^T v: w is integrated out with a relevance
    for each weight, all else maximises the evidence times the prior of v, by L-BFGS. O(n m_b^2) an iteration.

    Where it departs from the authors' release: centres start at k-means of the rows, and some iterations with
    one lengthscale per input come first (``hgpbench.fitting.basis``); the prior of v is proper, where
    theirs is not and they stop early by held-out rows (``hgpbench.gp.gpz``).

    Cost: O(n m_b^2) an iteration and O(n m_b) memory; O(m_b^2) a test row.

    Parameters
    ----------
    n_basis : int or None, default=None
        Basis functions m_b; one at each distinct row where they are fewer. Their centres are optimised. None
        for 100, and with fewer than 5,000 rows for as many of 5, 10, 20, 50 and 100 as predict left-out
        thirds of the rows best; these then also set the level of the noise, which over-fitting makes too
        small, and how far it varies.
    kind : {"GL", "VL", "GD", "VD", "GC", "VC"}, default="VD"
        Global or variable (each function its own) lengthscale, diagonal or full covariance. The authors' "VC"
        is the best of two inputs and many rows; with nine inputs and 10,000 rows it over-fits the noise.
    linear_mean : bool, default=True
        Add the inputs and a constant to the basis of the mean, as the authors do.
    heteroscedastic : bool, default=True
        Learn v; otherwise the noise is constant.
    max_iter : int, default=100
        Most iterations of L-BFGS; many more over-fit the noise.
    n_restarts : int, default=3
        Of the authors' first values and a grid of others, how many of the best are climbed from for some
        iterations; the best of all goes on. 0 for the best as it is.
    copies : {"once", "each"} or None, default=None
        Training rows that agree in inputs and target, where targets are so fine that this is no chance:
        "once" to learn from them once, "each" for as many observations as there are rows, as in the paper.
        None for once where they are more than a tenth of the rows.
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
    noise_strength_ : float
        Share of the log noise's deviations that predictions keep; one unless ``n_basis`` was chosen.
    noise_weights_ : array of shape (m_b,)
        Weights v_j of the log noise precision.
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The log joint density of y and v, and how it was reached (evaluations include those for the initial
        values); see ``hgpbench.models.base``.
    """

    reference = (
        "Almosallam, Jarvis and Roberts (2016), GPz: non-stationary sparse Gaussian processes, MNRAS 462"
    )

    def __init__(
        self,
        n_basis: int | None = None,
        kind: Kind = "VD",
        linear_mean: bool = True,
        heteroscedastic: bool = True,
        max_iter: int = 100,
        n_restarts: int = N_RESTARTS,
        copies: Copies | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_basis = n_basis
        self.kind = kind
        self.linear_mean = linear_mean
        self.heteroscedastic = heteroscedastic
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.copies = copies
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        if self.n_basis is not None:
            check_at_least("n_basis", self.n_basis, 1)
        check_choice("kind", self.kind, get_args(Kind))
        check_at_least("max_iter", self.max_iter, 1)
        check_at_least("n_restarts", self.n_restarts, 0)

    def _matrix_size(self, n: int) -> int:
        return self.n_basis or MOST_CHOSEN

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, rng = self._scaling, np.random.default_rng(self.random_state)
        inputs, target = scaling.inputs(X), scaling.target(y)
        options = Options(self.kind, self.linear_mean, self.heteroscedastic, self.max_iter, self.n_restarts)
        choice = Choice(self.n_basis or MOST_CHOSEN)
        if self.n_basis is None and len(y) < FEW_ROWS:
            choice = choose(inputs, target, options, rng)
        fit = fit_basis(inputs, target, choice.m, options, rng, self._reporter(callback, len(y)))
        evaluations = fit.result.evaluations + choice.evaluations
        self._keep(replace(fit.result, evaluations=evaluations), len(y))
        self._unit, self._posterior, self._correction = fit.unit, fit.posterior, choice.correction
        self.starts_ = told(fit.tried)
        self.noise_strength_ = choice.correction.strength
        self._describe(fit.values)

    def _describe(self, values: Values) -> None:
        """What was learned, in the user's units."""
        scaling, (m, d) = self._scaling, values["P"].shape
        self.centres_ = scaling.undo_inputs(values["P"] * self._unit)
        self.relevances_ = values["alpha"]
        self.relevances_[m : m + d] *= self._unit**2
        away = np.array([np.exp(-float(values["b"])) + self._posterior.floor])
        self.noise_mean_ = 2.0 * float(np.log(scaling.y_scale)) + float(np.log(self._correction.of(away)[0]))
        self.noise_weights_ = self._posterior.v

    def _moments(self, X: Array) -> Prediction:
        mean, f_var, noise = self._posterior.moments(X / self._unit)
        return Prediction.gaussian(mean, f_var, self._correction.of(noise))
