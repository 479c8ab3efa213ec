"""The nearest-neighbour GP with constant noise."""

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hgpbench.cluster import check_given
from hgpbench.fitting import nearest
from hgpbench.fitting.ascent import Ascent
from hgpbench.fitting.checkpoint import open_checkpoint
from hgpbench.fitting.checks import check_at_least, check_choice, check_jobs, check_optional
from hgpbench.fitting.journal import Journal
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.nearest import FIRST_NEIGHBORS, Signal, Task
from hgpbench.fitting.ridge import MEAN_KINDS, MeanFunction, MeanKind
from hgpbench.fitting.start import N_RESTARTS, told
from hgpbench.fitting.threads import runner
from hgpbench.models.base import Array, Callback, Estimator
from hgpbench.models.copies import predicted
from hgpbench.prediction import Prediction


class NNGP(Estimator):
    """f at a point from the rows nearest to it, by exact conditioning, with constant noise.

    Kernel, lengthscales and noise maximise the log density of training rows, each predicted from its
    nearest others. Nearest in lengthscales; found exactly, by a k-d tree.

    Cost: O(b K^3) an iteration, for samples of b rows, 8,000 at most; O(K^3) a test row beside the search.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Rows K that a prediction looks at. None for 50, doubled, up to 400, while left-out rows gain by it.
    kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="auto"
        Kernel of f: squared exponential, or Matern with nu = 1/2 (the roughest), 3/2 or 5/2; "auto" for the
        one that predicts left-out training rows best.
    mean : {"zero", "linear"}, default="zero"
        Mean of f: zero, or linear, by ridge regression before the GP.
    max_iter : int, default=20
        Most iterations of L-BFGS in each of two rounds, on samples of 4,000 and 8,000 rows.
    n_restarts : int, default=3
        Of a grid of first values, how many of the best are climbed from for some iterations; the best of all
        goes on. 0 for the best of the grid as it is.
    n_jobs : int or None, default=None
        Threads; their number changes no bit of the result. None for as many as BLAS may use.
    cluster : str, Client or None, default=None
        Cluster of Dask whose workers predict where rows are many, each with a copy of the model: its address,
        "local:N" for N workers here, or a Client of ``dask.distributed``. A fit learns from samples, by
        threads here. It changes no bit of the result.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the samples.

    Attributes
    ----------
    lengthscales_f_ : array of shape (d,)
        Lengthscales l_i of f.
    signal_var_f_ : float
        Signal variance sigma^2_s of f.
    noise_var_ : float
        Noise variance sigma^2_eps.
    n_neighbors_ : int
        Rows that a prediction looks at.
    kernel_ : str
        The kernel in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The leave-one-out log density, as a sample of the rows has it, and how it was reached; see
        ``hgpbench.models.base``.
    """

    stochastic = True
    reference = "Vecchia (1988); Allison et al. (2023), Leveraging locality and robustness"

    def __init__(
        self,
        n_neighbors: int | None = None,
        kernel: Choice = "auto",
        mean: MeanKind = "zero",
        max_iter: int = 20,
        n_restarts: int = N_RESTARTS,
        n_jobs: int | None = None,
        cluster: Any = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.mean = mean
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.n_jobs = n_jobs
        self.cluster = cluster
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_kernels(kernel=self.kernel)
        check_choice("mean", self.mean, MEAN_KINDS)
        check_optional("n_neighbors", self.n_neighbors, 1)
        check_at_least("max_iter", self.max_iter, 1)
        check_at_least("n_restarts", self.n_restarts, 0)
        check_jobs(self.n_jobs)
        check_given(self.cluster)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        callback: Callback | None = None,
        checkpoint: Path | None = None,
    ) -> Self:
        """Learn from ``X`` (n, d) and ``y`` (n,); ``callback(step, total, bound)`` hears each step.

        A ``checkpoint`` file keeps what a long fit has found, given a seed; where there is one of the same
        problem, the fit goes on from it and ends with the same bits.
        """
        self._checkpoint = checkpoint
        return super().fit(X, y, callback=callback)

    def _choose_kernels(self, X: Array, y: Array) -> None:
        """They are chosen as f is learned."""

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, n = self._scaling, len(y)
        inputs, target = scaling.inputs(X), scaling.target(y)
        self._mean = MeanFunction.fit(self.mean, X, target, scaling)
        target -= self._mean(inputs)
        checkpoint = open_checkpoint(self._checkpoint, self.get_params(), inputs, target)
        journal = Journal(checkpoint)
        ascent = Ascent(n, self.max_iter, self._reporter(callback, n), journal.recall)
        with runner(self.n_jobs) as run:
            task = Task.of(inputs, target, np.random.default_rng(self.random_state), run, journal.recall)
            found = self._signal(task, ascent)
        self._f, self._noise = found.neighbourhood(task), float(found.values["sigma2"])
        self.resumed_seconds_ = checkpoint.seconds
        ascent.aside += found.evaluations
        self._keep(ascent.result, n)
        self.starts_, self.kernel_, self.n_neighbors_ = told(found.tried), found.kernel, min(found.K, n)
        self._tell(found.values)

    def _signal(self, task: Task, ascent: Ascent) -> Signal:
        K = self.n_neighbors or FIRST_NEIGHBORS
        found, _, densities = nearest.best_of(
            nearest.asked(self.kernel),
            lambda kernel: nearest.begun(task, kernel, K, self.n_restarts, self.max_iter),
            lambda signal: signal.judged(task, task.judged),
        )
        self.kernel_densities_ = {"kernel": densities} if densities else {}
        return nearest.refined(task, found, self.n_neighbors, ascent)

    def predict_seen(self, inputs: Array) -> Prediction:
        """As any estimator's; by copies of this one on the cluster, where the rows are many."""
        return predicted(self, self.cluster, inputs, super().predict_seen)

    def _moments(self, X: Array) -> Prediction:
        with runner(self.n_jobs) as run:
            prediction = Prediction.gaussian(*self._f.moments(X, run), self._noise)
        return self._mean.add_to(prediction, X)
