"""The variational sparse heteroscedastic GP."""

from typing import get_args

import numpy as np

from hgpbench.fitting.checks import check_at_least, check_choice, check_jobs
from hgpbench.fitting.placement import inducing_points
from hgpbench.fitting.vshgp import Optimizer, Problem
from hgpbench.models.base import Array, Callback, Estimator
from hgpbench.prediction import Prediction


class VSHGP(Estimator):
    """Variational sparse GP whose log noise variance is a second sparse GP: the bound F_V.

    y = f(x) + N(0, e^g(x)); O(n (m^2 + u^2)) an iteration. The predictive distribution is a normal mixture.

    Cost: O(n (m^2 + u^2)) an iteration; O(m^2 + u^2) a test row.

    Parameters
    ----------
    n_inducing_f : int, default=100
        Inducing points m of f; all distinct rows where they are fewer. Their positions X_m are optimised.
    n_inducing_g : int, default=100
        Inducing points u of the log noise variance g, likewise X_u.
    optimizer : {"natural", "lbfgs", "paper"}, default="natural"
        "natural": natural steps on q(g_u) inside L-BFGS on all else, and "lbfgs": L-BFGS on everything, both
        from initial values that sparse GPs on y and on its log squared residuals give. "paper": conjugate
        gradients from the authors' fixed values, three tenths of the line searches on Lambda alone.
    max_iter : int, default=100
        Most iterations (line searches of "paper") on F_V.
    initial_lengthscale : float or None, default=None
        Lengthscale of f and of g that "paper" starts from, in the units of the inputs; None for the authors'
        0.5 and 0.2 standard deviations. The other recipes find their own.
    n_jobs : int or None, default=None
        Threads; their number changes no bit of the result. None for as many as BLAS may use.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the initial inducing points (k-means).

    Attributes
    ----------
    lengthscales_f_, lengthscales_g_ : arrays of shape (d,)
        Lengthscales l_i of f and of g.
    signal_var_f_, signal_var_g_ : float
        Signal variances sigma^2_s of f and of g (a log variance, so without units).
    noise_mean_ : float
        Prior mean mu_0 of g, the log noise variance.
    inducing_f_, inducing_g_ : arrays of shape (m, d) and (u, d)
        Inducing inputs X_m and X_u.
    lam_ : array of shape (n,)
        Variational parameters, the diagonal of Lambda_nn.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The bound F_V and how it was reached (evaluations include the initial sparse GPs'); see
        ``hgpbench.models.base``.
    """

    reference = "Liu, Ong and Cai (2020), Large-scale heteroscedastic regression via Gaussian process"

    def __init__(
        self,
        n_inducing_f: int = 100,
        n_inducing_g: int = 100,
        optimizer: Optimizer = "natural",
        max_iter: int = 100,
        initial_lengthscale: float | None = None,
        n_jobs: int | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_inducing_f = n_inducing_f
        self.n_inducing_g = n_inducing_g
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.initial_lengthscale = initial_lengthscale
        self.n_jobs = n_jobs
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("n_inducing_f", self.n_inducing_f, 1)
        check_at_least("n_inducing_g", self.n_inducing_g, 1)
        check_choice("optimizer", self.optimizer, get_args(Optimizer))
        check_at_least("max_iter", self.max_iter, 1)
        check_jobs(self.n_jobs)
        if self.initial_lengthscale is not None:
            check_at_least("initial_lengthscale", self.initial_lengthscale, np.finfo(float).tiny, float)
            if self.optimizer != "paper":
                raise ValueError('initial_lengthscale is for optimizer="paper": the others find their own')

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, rng = self._scaling, np.random.default_rng(self.random_state)
        inputs, start = scaling.inputs(X), self.initial_lengthscale
        problem = Problem(
            inputs,
            scaling.target(y),
            inducing_points(inputs, self.n_inducing_f, rng),
            inducing_points(inputs, self.n_inducing_g, rng),
            ell=None if start is None else np.full(X.shape[1], start) / scaling.x_scale,
        )
        report = self._reporter(callback, len(y))
        self._fit = problem.fit(self.optimizer, self.max_iter, report, self.n_jobs)
        self._keep(self._fit.result, len(y))
        self._tell(self._fit.values)

    def _moments(self, X: Array) -> Prediction:
        return self._fit.prediction(X, self.n_jobs)
