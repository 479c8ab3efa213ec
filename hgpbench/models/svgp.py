"""The stochastic variational sparse GP with constant noise."""

from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from hgpbench.fitting.batches import Batches
from hgpbench.fitting.checks import check_at_least
from hgpbench.fitting.collapsed import fit_sparse, start_sparse
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.minibatch import (
    FEW_STEPS,
    FIRST_POINTS,
    FIRST_ROWS,
    Precision,
    check_options,
    fit_by_batches,
    place,
)
from hgpbench.fitting.placement import inducing_points
from hgpbench.fitting.start import N_RESTARTS, Start, told
from hgpbench.gp.stochastic import Method
from hgpbench.gp.tasks import Run
from hgpbench.models.base import Array, Callback, Copies, Estimator
from hgpbench.prediction import Prediction

FIRST_STEPS = 30  # of L-BFGS on the sample: enough for a guess


class SVGP(Estimator):
    """Variational sparse GP with constant noise, by mini-batches and natural gradients.

    q(f_m) is a free normal distribution, so a random batch of b rows estimates the bound and its gradient,
    and O(b m^2 + m^3) a step does not depend on n. ``X`` may be an HDF5 dataset, which is read by blocks of
    rows: memory does not grow with n then. First values come from a sparse GP on a sample of 5,000 rows.

    Cost: O(b m^2 + m^3) a step, whatever n, so O(n m^2) a pass over the rows; O(m^2) a test row.

    Parameters
    ----------
    n_inducing : int, default=300
        Inducing points m; all distinct rows where they are fewer. Their positions X_m are optimised.
    batch_size : int, default=1000
        Rows ``|B|`` of a mini-batch.
    max_iter : int, default=1000
        Steps, one batch each.
    optimizer : {"ngd+adam", "adam"}, default="ngd+adam"
        Natural gradients for q(f_m) and Adam for the rest, or Adam for everything.
    step_size : float, default=0.1
        Size gamma of the natural steps, reached log-linearly from 1e-4 over the first five; at most 1.
    learning_rate : float, default=0.01
        Adam's step.
    cooling : float, default=1
        Share of the steps, the last ones, over which both sizes shrink along a cosine, which averages over
        batches what constant sizes leave as noise; 0 for the paper's constant ones.
    precision : {"double", "mixed"}, default="double"
        Mixed: the largest products in single precision; quicker, and less exact than that of a batch.
    tol : float, default=0
        Stop when the bound, averaged over a pass, gains no more than this share of itself; 0 for never.
    holdout : float, default=0
        Share of the rows kept from training, on which ``scores_`` are measured along the way.
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
        Seed of inducing points, batches and held-out rows.

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
    scores_ : array of shape (k, 3)
        Iteration, seconds, mean log density of held-out rows; empty without ``holdout``.
    kernel_ : str
        The kernel in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The bound and how it was reached; see ``hgpbench.models.base``. Bounds of the trace are estimated from
        one batch each, the last one, ``elbo_``, from all rows, or from a tenth of ``max_iter`` batches.
    """

    blockwise = True
    reference = "Hensman, Fusi and Lawrence (2013), Gaussian processes for big data"

    def __init__(
        self,
        n_inducing: int = 300,
        batch_size: int = 1000,
        max_iter: int = 1000,
        optimizer: Method = "ngd+adam",
        step_size: float = 0.1,
        learning_rate: float = 0.01,
        cooling: float = 1.0,
        precision: Precision = "double",
        tol: float = 0.0,
        holdout: float = 0.0,
        n_restarts: int = N_RESTARTS,
        kernel: Choice = "se",
        n_jobs: int | None = None,
        copies: Copies | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_inducing = n_inducing
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.optimizer = optimizer
        self.step_size = step_size
        self.learning_rate = learning_rate
        self.cooling = cooling
        self.precision = precision
        self.tol = tol
        self.holdout = holdout
        self.n_restarts = n_restarts
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.copies = copies
        self.standardize = standardize
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        callback: Callback | None = None,
        checkpoint: Path | None = None,
    ) -> Self:
        """Learn from ``X`` (n, d) and ``y`` (n,); ``callback(step, total, bound)`` hears each step.

        A ``checkpoint`` file keeps the state of a long fit, given a seed; where there is one of the same data
        and parameters, the fit continues from it and ends with the same bits.
        """
        self._checkpoint = checkpoint
        return super().fit(X, y, callback=callback)

    def _check_params(self) -> None:
        check_kernels(kernel=self.kernel)
        check_at_least("n_inducing", self.n_inducing, 1)
        check_options(self)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        reporter = partial(self._reporter, callback)
        families = self._families
        self._fit = fit_by_batches(
            self, X, y, self._scaling, self._first_values, reporter, self._checkpoint, families
        )
        self._keep(self._fit.result, self._fit.n)
        self._tell(self._fit.values)
        self.scores_, self.resumed_seconds_ = self._fit.scores, self._fit.resumed_seconds
        self.starts_ = told(self._fit.tried)

    def smaller(self, n: int, kept: int) -> dict[str, object]:
        """Steps to tell kernels apart by: their cost does not depend on the rows."""
        return {"max_iter": min(self.max_iter, FEW_STEPS)}

    def _first_values(self, batches: Batches, rng: np.random.Generator, run: Run) -> Start:
        """Kernel and noise from a sparse GP on a sample; inducing points by k-means on a larger one."""
        X, y = batches.sample(FIRST_ROWS, rng)
        Xm = inducing_points(X, min(self.n_inducing, FIRST_POINTS), rng)
        family = self._families.f
        start = start_sparse("vfe", X, y, Xm, rng, n_restarts=self.n_restarts, run=run, family=family)
        sparse = fit_sparse("vfe", X, y, start.values, max_iter=FIRST_STEPS, run=run, family=family)
        values = {
            "s2_kf": sparse.values["s2_k"],
            "ell_f": sparse.values["ell"],
            "Xm": place(batches, self.n_inducing, rng),
            "sigma2": sparse.values["sigma2"],
        }
        return Start(values, start.evaluations + sparse.result.evaluations, start.tried)

    def _moments(self, X: Array) -> Prediction:
        return self._fit.prediction(X, self.n_jobs)
