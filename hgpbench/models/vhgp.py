"""The variational heteroscedastic GP without sparsity."""

import numpy as np

from hgpbench.errors import Refusal
from hgpbench.fitting.checks import check_at_least, check_jobs
from hgpbench.fitting.vshgp import INDUCING, Problem
from hgpbench.models.base import Array, Callback, Estimator
from hgpbench.prediction import Prediction

MOST_ROWS = 3_000


class VHGP(Estimator):
    """Variational heteroscedastic GP on all training points: VSHGP with X_m = X_u = X.

    y = f(x) + N(0, e^g(x)). Cubic in the rows: it refuses more than 3,000 of them.

    Cost: O(n^3) an iteration and O(n^2) memory; O(n^2) a test row.

    Parameters
    ----------
    max_iter : int, default=100
        Most iterations on the bound: natural steps on q(g) inside L-BFGS on all else.
    n_jobs : int or None, default=None
        Threads; their number changes no bit of the result. None for as many as BLAS may use.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.

    Attributes
    ----------
    lengthscales_f_, lengthscales_g_ : arrays of shape (d,)
        Lengthscales l_i of f and of g.
    signal_var_f_, signal_var_g_ : float
        Signal variances sigma^2_s of f and of g (a log variance, so without units).
    noise_mean_ : float
        Prior mean mu_0 of g, the log noise variance.
    lam_ : array of shape (n,)
        Variational parameters, the diagonal of Lambda_nn.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The bound and how it was reached; see ``hgpbench.models.base``.
    """

    reference = "Lazaro-Gredilla and Titsias (2011), Variational heteroscedastic Gaussian process regression"

    def __init__(self, max_iter: int = 100, n_jobs: int | None = None, standardize: bool = True) -> None:
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.standardize = standardize

    def _check_params(self) -> None:
        check_at_least("max_iter", self.max_iter, 1)
        check_jobs(self.n_jobs)

    def _check_size(self, n: int, d: int) -> None:
        if n > MOST_ROWS:
            raise Refusal(
                f"vhgp: {n:,} training rows are too many for a GP on all of them (at most {MOST_ROWS:,}); "
                "take a smaller split or the sparse model vshgp"
            )

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling = self._scaling
        inputs = scaling.inputs(X)
        points = np.unique(inputs, axis=0)  # a repeated row would only make the kernel matrix singular
        problem = Problem(inputs, scaling.target(y), points, points, move_inducing=False)
        report = self._reporter(callback, len(y))
        self._fit = problem.fit("natural", self.max_iter, report, self.n_jobs)
        self._keep(self._fit.result, len(y))
        self._tell({name: value for name, value in self._fit.values.items() if name not in INDUCING})

    def _moments(self, X: Array) -> Prediction:
        return self._fit.prediction(X, self.n_jobs)
