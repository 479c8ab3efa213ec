"""The fully independent training conditional: a sparse GP with constant noise."""

import numpy as np

from hgpbench.fitting.calibration import robust_variance
from hgpbench.fitting.checks import check_at_least, check_jobs, check_optional
from hgpbench.fitting.collapsed import fit_from_grid
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.start import N_RESTARTS, told
from hgpbench.models.base import Array, Callback, Copies, Estimator
from hgpbench.prediction import Prediction

JUDGED_ROWS = 20_000  # training rows whose residuals suffice
FLOOR = 0.5  # of their variance


class FITC(Estimator):
    """Sparse GP with the fully independent training conditional and constant noise, by L-BFGS.

    O(n m^2) an iteration. What the inducing points leave unexplained counts as noise of each point, so the
    evidence of this approximate prior is no bound on that of the exact GP. It may even take all noise for
    unexplained and none for noise: then y is called certain next to inducing points, where it is not.

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
    noise_floor : bool, default=True
        Predict y with no less variance than half of what the residuals of the training rows have, robustly:
        their median square over that of a normal variable. Next to inducing points it may be called certain
        otherwise, as in the paper, and single rows cost 160 nats; where what the points leave unexplained is
        that large, nothing is added.
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
        Noise variance sigma^2_eps, as it was learned.
    noise_floor_ : float
        The least variance of y that is predicted; zero without ``noise_floor``.
    inducing_f_ : array of shape (m, d)
        Inducing inputs X_m.
    kernel_ : str
        The kernel in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The approximate evidence and how it was reached; see ``hgpbench.models.base``.
    """

    reference = "Snelson and Ghahramani (2006), Sparse Gaussian processes using pseudo-inputs"

    def __init__(
        self,
        n_inducing: int | None = None,
        max_iter: int = 200,
        n_restarts: int = N_RESTARTS,
        kernel: Choice = "se",
        noise_floor: bool = True,
        n_jobs: int | None = None,
        copies: Copies | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_inducing = n_inducing
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.kernel = kernel
        self.noise_floor = noise_floor
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
        inputs, target = self._scaling.inputs(X), self._scaling.target(y)
        self._fit = fit_from_grid(
            "fitc",
            inputs,
            target,
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
        self._floor = FLOOR * self._residual_variance(inputs, target) if self.noise_floor else 0.0
        self.noise_floor_ = self._floor * self._scaling.y_scale**2

    def _residual_variance(self, X: Array, y: Array) -> float:
        """A variance of the residuals at training rows that a few large ones do not move.

        Left-out residuals are no better a guide: inducing points lie where they explain the very rows.
        """
        rows = slice(None, None, -(-len(y) // JUDGED_ROWS))
        return robust_variance(y[rows] - self._fit.prediction(X[rows], self.n_jobs).mean)

    def _moments(self, X: Array) -> Prediction:
        return self._fit.prediction(X, self.n_jobs, self._floor)
