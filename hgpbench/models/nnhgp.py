"""The nearest-neighbour GP with a noise that belongs to its predictions."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hgpbench.cluster import check_given
from hgpbench.fitting import nearest, reserve, scatter, weights
from hgpbench.fitting.ascent import Ascent
from hgpbench.fitting.checkpoint import open_checkpoint
from hgpbench.fitting.checks import check_at_least, check_choice, check_jobs, check_optional
from hgpbench.fitting.journal import Journal
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.nearest import FIRST_NEIGHBORS, Signal, Task
from hgpbench.fitting.reserve import Reserve
from hgpbench.fitting.ridge import MEAN_KINDS, MeanFunction, MeanKind
from hgpbench.fitting.scatter import Residuals, Scatter
from hgpbench.fitting.start import N_RESTARTS, told
from hgpbench.fitting.threads import runner
from hgpbench.gp.kernels import KernelName
from hgpbench.models.base import Array, Callback, Estimator
from hgpbench.models.copies import predicted
from hgpbench.prediction import Prediction

COMPARING: KernelName = "matern32"  # of g, while kernels of f are compared


class NNHGP(Estimator):
    """f at a point from the rows nearest to it, and e^g, by how much such predictions err there.

    y ~ N(mu, (s^2 + sigma^2) e^g) with mu and s^2 from the nearest rows as in NNGP, and g from a second
    nearest-neighbour GP, which is learned from residuals at rows that f has not seen. Rows that were kept
    from both say with what reserve to believe g: its level, its width, and which share of the rows a normal
    of constant variance tells instead; rows whose inputs were seen have a reserve of their own.

    Cost: O(b K^3) an iteration, for samples of b rows, 8,000 at most, and O(K^3) once for each row whose
    residual is learned from; O(K^3 + K_g^3) a test row beside the search.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Rows K that a prediction of f looks at. None for 50, doubled, up to 400, while left-out rows gain.
    n_noise_neighbors : int, default=100
        Rows K_g that a prediction of g looks at.
    kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="auto"
        Kernel of f: squared exponential, or Matern with nu = 1/2 (the roughest), 3/2 or 5/2; "auto" for the
        one that predicts left-out training rows best.
    noise_kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="auto"
        Kernel of g, likewise.
    weights : float or None, default=None
        Power of e^g by which f weighs rows: 0 for all alike, 1 for as much as e^g says. None for what
        left-out rows ask for among 0, 1/2 and 1.
    noise_rows : int, default=100000
        Most rows whose residuals g is learned from; where there are more rows, f weighs all alike.
    mean : {"zero", "linear"}, default="zero"
        Mean of f: zero, or linear, by ridge regression before the GP.
    max_iter : int, default=20
        Most iterations of L-BFGS in each of the rounds.
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
    lengthscales_f_, lengthscales_g_ : arrays of shape (d,)
        Lengthscales l_i of f and of g.
    signal_var_f_, signal_var_g_ : float
        Prior variances of f, its mean over g, and of g (a log variance, so without units).
    noise_mean_ : float
        Prior mean of the log noise variance.
    n_neighbors_ : int
        Rows that a prediction of f looks at.
    rare_share_ : float
        Share of the rows that a normal of constant variance tells instead of g, as rows kept from both f
        and g ask for.
    weights_ : float
        Power of e^g by which f weighs rows.
    kernel_, noise_kernel_ : str
        The kernels in use; ``kernel_densities_`` has the log densities behind "auto", those of f with all
        rows alike: where f weighs them, kernels compete once more.
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The leave-one-out log density, as a sample of the rows has it, and how it was reached: of f with
        constant noise first, then with g; see ``hgpbench.models.base``.
    """

    stochastic = True
    reference = "Vecchia (1988) for f; ours for g (docs/nnhgp.md)"

    def __init__(
        self,
        n_neighbors: int | None = None,
        n_noise_neighbors: int = 100,
        kernel: Choice = "auto",
        noise_kernel: Choice = "auto",
        weights: float | None = None,
        noise_rows: int = 100_000,
        mean: MeanKind = "zero",
        max_iter: int = 20,
        n_restarts: int = N_RESTARTS,
        n_jobs: int | None = None,
        cluster: Any = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_noise_neighbors = n_noise_neighbors
        self.kernel = kernel
        self.noise_kernel = noise_kernel
        self.weights = weights
        self.noise_rows = noise_rows
        self.mean = mean
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.n_jobs = n_jobs
        self.cluster = cluster
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_kernels(kernel=self.kernel, noise_kernel=self.noise_kernel)
        check_choice("mean", self.mean, MEAN_KINDS)
        check_optional("n_neighbors", self.n_neighbors, 1)
        check_at_least("n_noise_neighbors", self.n_noise_neighbors, 1)
        check_at_least("noise_rows", self.noise_rows, 2)
        if self.weights is not None:
            check_at_least("weights", self.weights, 0.0, float)
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
        """They are chosen as f and g are learned."""

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
            f, others = self._signal(task, ascent)
            residuals = Residuals.of(task, f, np.sort(task.order[: self.noise_rows]))
            g = self._scatter(residuals, ascent, task)
            if len(residuals.z) == n:
                task, f, g = self._weighed(task, f, others, residuals, g, ascent)
            self._reserves = reserve.reserves(task, f, g)
        self._f, self._g = f.neighbourhood(task), g.neighbourhood()
        self._noise = float(f.values["sigma2"])
        self.resumed_seconds_ = checkpoint.seconds
        ascent.aside += f.evaluations
        self._keep(ascent.result, n)
        self.starts_, self.n_neighbors_ = told(f.tried), min(f.K, n)
        self.kernel_, self.noise_kernel_ = f.kernel, g.kernel
        self.rare_share_ = self._reserves.new.share
        self._tell(_told(f, g, self._reserves.new))

    def _signal(self, task: Task, ascent: Ascent) -> tuple[Signal, tuple[Signal, ...]]:
        """f, and what it would be with other kernels."""
        K = self.n_neighbors or FIRST_NEIGHBORS
        found, others, densities = nearest.best_of(
            nearest.asked(self.kernel),
            lambda kernel: nearest.begun(task, kernel, K, self.n_restarts, self.max_iter),
            lambda signal: self._judged(task, signal),
        )
        self.kernel_densities_ = {"kernel": densities} if densities else {}
        return nearest.refined(task, found, self.n_neighbors, ascent), others

    def _judged(self, task: Task, signal: Signal) -> tuple[Array, Array]:
        """Densities of left-out rows by this f and a g that is learned from them alone; squared errors."""
        residuals = Residuals.of(task, signal, task.judged)
        found = scatter.begun(residuals, COMPARING, FIRST_NEIGHBORS, task)
        return scatter.densities(residuals, found, task.run), residuals.squares

    def _scatter(self, residuals: Residuals, ascent: Ascent, task: Task) -> Scatter:
        kernels = nearest.asked(self.noise_kernel)
        found, densities = scatter.best_of(residuals, kernels, self.n_noise_neighbors, task)
        if densities:
            self.kernel_densities_["noise_kernel"] = densities
        return scatter.refined(residuals, found, ascent, task)

    def _weighed(
        self,
        task: Task,
        f: Signal,
        others: Sequence[Signal],
        residuals: Residuals,
        g: Scatter,
        ascent: Ascent,
    ) -> tuple[Task, Signal, Scatter]:
        """f and g once more, if left-out rows are predicted better where f knows of g."""
        self.weights_ = 0.0
        better = weights.chosen(task, f, others, g.h, self.weights, self.max_iter)
        if better is None:
            return task, f, g
        power, again = better
        weighed = weights.weighted(task, g.h, power)
        free = self.n_neighbors is None
        again = nearest.with_neighbours(weighed, again) if free else replace(again, K=f.K)
        again = nearest.once_more(weighed, again, task.compared, nearest.AGAIN, ascent, weights.HELD)
        alike = weights.weighted(task, g.h, 0.0)
        if self.weights is None and not weights.improved(alike, f, weighed, again):
            return task, f, g
        self.weights_ = power
        residuals = Residuals.of(weighed, again, np.arange(len(task.y)))
        return weighed, again, scatter.refined(residuals, g, ascent, weighed, scatter.AGAIN)

    def predict_seen(self, inputs: Array) -> Prediction:
        """As any estimator's; by copies of this one on the cluster, where the rows are many."""
        return predicted(self, self.cluster, inputs, super().predict_seen)

    def _moments(self, X: Array) -> Prediction:
        with runner(self.n_jobs) as run:
            mu, s2 = self._f.moments(X, run)
            g_mean, g_var = self._g.moments(X, run)
            level, width, share, rare = self._reserves.of(self._f.holds(X, run))
        prediction = Prediction.scaled(mu, s2, self._noise, (g_mean + level, width * g_var), share, rare)
        return self._mean.add_to(prediction, X)


def _told(f: Signal, g: Scatter, reserve: Reserve) -> dict[str, Array]:
    """Parameters by the names under which estimators tell them, g as it is believed."""
    mean, s2_kg = g.values["mu0"] + reserve.level, g.values["s2_k"] * reserve.width
    return {
        "ell_f": f.values["ell"],
        "s2_kf": f.values["s2_k"] * np.exp(mean + 0.5 * s2_kg),
        "ell_g": g.values["ell"],
        "s2_kg": s2_kg,
        "mu0": mean + np.log(f.values["sigma2"]),
    }
