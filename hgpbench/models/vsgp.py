"""The variational sparse GP with constant noise."""

import numpy as np

from hgpbench.fitting.checks import check_at_least, check_jobs, check_optional
from hgpbench.fitting.collapsed import fit_from_grid
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.start import N_RESTARTS, told
from hgpbench.models.base import Array, Callback, Copies, Estimator
from hgpbench.prediction import Prediction


class VSGP(Estimator):
    """Variational sparse GP with constant noise: the collapsed bound, by L-BFGS.

    O(n m^2) an iteration. The bound lies below the exact evidence, and more inducing points raise it.

    Cost: O(n m^2) an iteration; O(m^2) a test row.

    Parameters
    ----------
    n_inducing : int or None, default=None
        Inducing points m; all distinct rows where they are fewer. None for sqrt(3e9 / n) of them, but at
        least 100 and at most 500. Their positions X_m are optimised.
    max_iter : int, default=200
        Most iterations of L-BFGS.
    n_restarts : int, default=3
        Of a grid of first values, how many of the best are climbed from for some iterations; the best of all
        goes on. 0 for the best of the grid as it is.
    kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="se"
        Kernel of f: squared exponential, or Matern with nu = 1/2 (the roughest), 3/2 or 5/2; "auto" for the
        one with which a smaller fit predicts left-out training rows best.
    n_jobs : int or None, default=None
        Threads; their number changes no bit of the result. None for as many as BLAS may use.
    copies : {"once", "each"} or None, default=None
        Training rows that agree in inputs and target, where targets are so fine that this is no chance:
        "once" to learn from them once, "each" for as many observations as there are rows, as in the paper.
        None for once where they are more than a tenth of the rows.
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
    kernel_ : str
        The kernel in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The bound and how it was reached; see ``hgpbench.models.base``.
    """

    reference = "Titsias (2009), Variational learning of inducing variables in sparse Gaussian processes"

    def __init__(
        self,
        n_inducing: int | None = None,
        max_iter: int = 200,
        n_restarts: int = N_RESTARTS,
        kernel: Choice = "se",
        n_jobs: int | None = None,
        copies: Copies | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_inducing = n_inducing
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.copies = copies
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_optional("n_inducing", self.n_inducing, 1)
        check_kernels(kernel=self.kernel)
        check_at_least("max_iter", self.max_iter, 1)
        check_at_least("n_restarts", self.n_restarts, 0)
        check_jobs(self.n_jobs)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        self._fit = fit_from_grid(
            "vfe",
            self._scaling.inputs(X),
            self._scaling.target(y),
            self.n_inducing,
            np.random.default_rng(self.random_state),
            max_iter=self.max_iter,
            n_restarts=self.n_restarts,
            n_jobs=self.n_jobs,
            callback=self._reporter(callback, len(y)),
            family=self._families.f,
        )
        self._keep(self._fit.result, len(y))
        self._tell(self._fit.values)
        self.starts_ = told(self._fit.tried)

    def _moments(self, X: Array) -> Prediction:
        return self._fit.prediction(X, self.n_jobs)
