"""The variational sparse GP with constant noise."""

import numpy as np

from hgpbench.fitting.checks import check_at_least, check_jobs
from hgpbench.fitting.collapsed import fit_from_guess
from hgpbench.models.base import Array, Callback, Estimator
from hgpbench.prediction import Prediction


class VSGP(Estimator):
    """Variational sparse GP with constant noise: the collapsed bound, by L-BFGS.

    O(n m^2) an iteration. The bound lies below the exact evidence, and more inducing points raise it.

    Cost: O(n m^2) an iteration; O(m^2) a test row.

    Parameters
    ----------
    n_inducing : int, default=100
        Inducing points m; all distinct rows where they are fewer. Their positions X_m are optimised.
    max_iter : int, default=200
        Most iterations of L-BFGS.
    n_jobs : int or None, default=None
        Threads; their number changes no bit of the result. None for as many as BLAS may use.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the initial inducing points (k-means).

    Attributes
    ----------
    lengthscales_f_ : array of shape (d,)
        Lengthscales l_i of f.
    signal_var_f_ : float
        Signal variance sigma^2_s of f.
    noise_var_ : float
        Noise variance sigma^2_eps.
    inducing_f_ : array of shape (m, d)
        Inducing inputs X_m.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The bound and how it was reached; see ``hgpbench.models.base``.
    """

    reference = "Titsias (2009), Variational learning of inducing variables in sparse Gaussian processes"

    def __init__(
        self,
        n_inducing: int = 100,
        max_iter: int = 200,
        n_jobs: int | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_inducing = n_inducing
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("n_inducing", self.n_inducing, 1)
        check_at_least("max_iter", self.max_iter, 1)
        check_jobs(self.n_jobs)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        self._fit = fit_from_guess(
            "vfe",
            self._scaling.inputs(X),
            self._scaling.target(y),
            self.n_inducing,
            np.random.default_rng(self.random_state),
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            callback=self._reporter(callback, len(y)),
        )
        self._keep(self._fit.result, len(y))
        self._tell(self._fit.values)

    def _moments(self, X: Array) -> Prediction:
        return self._fit.prediction(X, self.n_jobs)
