"""The distributed variational sparse heteroscedastic GP: the paper's system for millions of rows."""

from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from hgpbench.experts import optimizers
from hgpbench.experts.fit import Recipe, fit_experts
from hgpbench.experts.memory import check_memory
from hgpbench.experts.optimizers import Lbfgs, Paper, Passes
from hgpbench.experts.rows import KINDS, partition
from hgpbench.fitting.checkpoint import open_checkpoint
from hgpbench.fitting.checks import check_at_least, check_choice, ensure_started
from hgpbench.fitting.ridge import MEAN_KINDS, MeanFunction, MeanKind
from hgpbench.fitting.threads import allowed_cores, runner
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.neighbours import Neighbourhood
from hgpbench.models.base import Array, Callback, Estimator, refusing
from hgpbench.prediction import Prediction

NEIGHBORS = (25, 50, 100, 200, 400)  # numbers to choose from
SCALES = (0.8, 0.9)  # times the lengthscales of f, beside 1: likewise
JUDGED_ROWS = 1_000  # training rows by which they are judged
WORTH_WORKERS = 2e10  # rows times squared inducing points and passes, below which processes only cost time


class DVSHGP(Estimator):
    """Experts of variational sparse heteroscedastic GPs on disjoint rows, with shared kernels.

    y = f(x) + N(0, e^g(x)). The bound is the sum of the experts' F_V; O(n (m^2 + u^2)) a pass. The noise is
    that of the experts' committee. So is f in the paper; by default it is conditioned on the training rows
    next to a point instead, whichever experts they belong to, with the noise variances that their experts
    give them: no border between experts then lies between a point and its neighbours.

    Cost: O(n (m^2 + u^2)) a pass, shared by the workers; O(k^3) a test row for k neighbours, O(m^2 + u^2) for
    each expert in reach.

    Parameters
    ----------
    n_experts : int or None, default=None
        Experts M; None for n / expert_size of them.
    expert_size : int, default=500
        Rows n_0 of an expert, on average.
    n_inducing_f : int, default=100
        Inducing points m_0 of f in each expert; all distinct rows where they are fewer.
    n_inducing_g : int, default=100
        Inducing points u_0 of g in each expert, likewise.
    partition : {"kmeans", "balanced", "random"}, default="balanced"
        How rows are shared among experts: by k-means as in the paper; the same with sizes kept between 0.5
        and 1.5 times the mean, which makes a few experts more or fewer; or at random.
    optimizer : str, Passes, Lbfgs or Paper, default="natural"
        "natural", short for ``Passes()``: passes over mini-batches of experts, with natural steps on q(g_u)
        and Adam on the rest, at most ``n_passes`` of them (None for 10, or for 120 steps if that is more),
        ended by a ``guard`` once the leave-one-out errors of f grow, though the bound may still rise.
        "lbfgs", for ``Lbfgs()``: L-BFGS on everything, at most ``max_iter`` iterations (100). "paper", for
        ``Paper()``: conjugate gradients as in the paper, ``max_iter`` line searches (100), 30 in 100 on
        lambda first, then on everything. Settings are those of ``Passes(n_passes=20, guard=False)``, or text
        as in "natural(n_passes=20, guard=false)".
    n_neighbors : int or None, default=None
        Training rows that f is conditioned on at a test row, with its learned lengthscales. None for the
        number of 25, 50, 100, 200 and 400, and then for the lengthscales times 0.8, 0.9 or 1, from which
        1,000 training rows are predicted best by others. 0 for the committee of the paper. One expert has no
        borders and predicts by itself.
    aggregation : {"rbcm", "gpoe", "nearest"}, default="rbcm"
        Robust Bayesian committee machine, generalised product of experts, or the most certain expert alone.
    mean : {"zero", "linear"}, default="zero"
        Mean of f: zero as in the paper, or linear, by ridge regression before the GP.
    skip_tol : float, default=1e-4
        Experts are left out at a test row where this moves the committee's mean by no more than this many
        prior standard deviations, and its variance by no more than this fraction; 0 leaves out none.
    max_memory : int, str or None, default=None
        Memory that prediction may take beside rows, model and result, in bytes or as "500MB", "2GB": it then
        goes by smaller pieces, with fewer workers where they would not fit, to the same result but for
        round-off. One expert's matrices are the least. None for pieces of some hundred megabytes.
    n_jobs : int or None, default=None
        Most worker processes, one BLAS thread each; None for as many as there are cores and BLAS threads. A
        small problem needs none. Their number changes no bit of the result.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the partition, of the initial inducing points and of the order of experts.

    Attributes
    ----------
    lengthscales_f_, lengthscales_g_ : arrays of shape (d,)
        Lengthscales l_i of f and of g.
    signal_var_f_, signal_var_g_ : float
        Signal variances sigma^2_s of f and of g (a log variance, so without units).
    noise_mean_ : float
        Prior mean mu_0 of g, the log noise variance.
    n_neighbors_ : int
        The number of neighbours in use, 0 for the committee.
    neighbor_scale_ : float
        The lengthscales with which f is conditioned on them, relative to ``lengthscales_f_``.
    expert_sizes_ : array of shape (M,)
        Training rows n_i of each expert.
    labels_ : array of shape (n,)
        The expert of each training row.
    lam_ : array of shape (n,)
        Variational parameters, the diagonals of Lambda of all experts, in the order of the training rows.
    inducing_f_, inducing_g_ : arrays of shape (M m_0, d) and (M u_0, d)
        Inducing inputs X_m and X_u of all experts.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The summed bound and how it was reached; see ``hgpbench.models.base``. An iteration is a step with a
        batch of experts, and the trace has the sum of each expert's bound when it was visited last; an
        evaluation is one of one expert.
    """

    stochastic = True
    shorthands: ClassVar = {"optimizer": optimizers.write}
    former: ClassVar = {
        "n_passes": "a setting of optimizer, as in 'natural(n_passes=20)'",
        "guard": "a setting of optimizer, as in 'natural(guard=false)'",
        "max_iter": "a setting of optimizer, as in 'paper(max_iter=20)' or 'lbfgs(max_iter=20)'",
    }
    reference = "Liu, Ong and Cai (2020), Large-scale heteroscedastic regression via Gaussian process"

    @refusing(former)
    def __init__(
        self,
        n_experts: int | None = None,
        expert_size: int = 500,
        n_inducing_f: int = 100,
        n_inducing_g: int = 100,
        partition: Literal["kmeans", "balanced", "random"] = "balanced",
        optimizer: str | Passes | Lbfgs | Paper = "natural",
        n_neighbors: int | None = None,
        aggregation: Literal["rbcm", "gpoe", "nearest"] = "rbcm",
        mean: MeanKind = "zero",
        skip_tol: float = 1e-4,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_experts = n_experts
        self.expert_size = expert_size
        self.n_inducing_f = n_inducing_f
        self.n_inducing_g = n_inducing_g
        self.partition = partition
        self.optimizer = optimizer
        self.n_neighbors = n_neighbors
        self.aggregation = aggregation
        self.mean = mean
        self.skip_tol = skip_tol
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        for name in ("n_experts", "n_jobs"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1)
        for name in ("expert_size", "n_inducing_f", "n_inducing_g"):
            check_at_least(name, getattr(self, name), 1)
        if self.n_neighbors is not None:
            check_at_least("n_neighbors", self.n_neighbors, 0)
        check_at_least("skip_tol", self.skip_tol, 0.0, float)
        check_memory("max_memory", self.max_memory)
        optimizers.read(self.optimizer)
        check_choice("mean", self.mean, MEAN_KINDS)
        check_choice("partition", self.partition, KINDS)
        check_choice("aggregation", self.aggregation, ("rbcm", "gpoe", "nearest"))

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        callback: Callback | None = None,
        checkpoint: Path | None = None,
    ) -> Self:
        """Learn from ``X`` (n, d) and ``y`` (n,); ``callback(step, total, bound)`` hears each step.

        A ``checkpoint`` file keeps the state of a long fit by "natural", given a seed; where there is one of
        the same problem, the fit continues from it and ends with the same bits.
        """
        self._checkpoint = checkpoint
        return super().fit(X, y, callback=callback)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, n = self._scaling, len(y)
        inputs, target = scaling.inputs(X), scaling.target(y)
        self._mean = MeanFunction.fit(self.mean, X, target, scaling)
        target -= self._mean(inputs)
        params = self.get_params() | {"optimizer": optimizers.write(self.optimizer)}
        checkpoint = open_checkpoint(self._checkpoint, params, inputs, target)
        rng = np.random.default_rng(self.random_state)
        M = -(-n // self.expert_size) if self.n_experts is None else self.n_experts
        shares = partition(self.partition, inputs, M, rng)
        rows = shares.gather(inputs, target)
        n_inducing, seed = (self.n_inducing_f, self.n_inducing_g), int(rng.integers(2**31))
        recipe = Recipe(optimizers.read(self.optimizer), len(shares), n_inducing, seed)
        self._experts, result = fit_experts(
            rows, recipe, self._workers(n * recipe.n_passes), checkpoint, self._reporter(callback, n)
        )
        self.resumed_seconds_ = checkpoint.seconds
        self._keep(ensure_started(result), n)
        self._near = self._neighbourhood(rng)
        self.n_neighbors_ = 0 if self._near is None else self._near.K
        self.neighbor_scale_ = 1.0 if self._near is None else self._near.scale
        self.expert_sizes_, self.labels_ = shares.sizes, shares.labels
        self.lam_ = np.empty(n)
        self.lam_[shares.order] = self._experts.local("lam")
        self._tell(self._experts.shared)

    @property
    def inducing_f_(self) -> Array:
        """Gathered when asked for: as large as the training inputs."""
        return self._scaling.undo_inputs(self._experts.local("Xm"))

    @property
    def inducing_g_(self) -> Array:
        """Likewise."""
        return self._scaling.undo_inputs(self._experts.local("Xu"))

    def _moments(self, X: Array) -> Prediction:
        letters = "fg" if self._near is None else "g"
        n_workers = self._workers(len(X) * len(self.expert_sizes_) // 10)
        pieces = self._experts.needs(letters).pieces(self.max_memory, n_workers)
        moments = self._experts.moments(X, letters, self.aggregation, self.skip_tol, pieces)
        if self._near is not None:
            with runner(n_workers) as run:
                moments["f"] = np.stack(self._near.moments(X, pieces.chunk // n_workers, run))
        return self._mean.add_to(Prediction.mixture(*moments["f"], *moments["g"]), X)

    def _workers(self, rows: int) -> int:
        """Worker processes for so many evaluations of rows."""
        work = rows * (self.n_inducing_f**2 + self.n_inducing_g**2)
        if work < WORTH_WORKERS:
            return 1
        return allowed_cores() if self.n_jobs is None else self.n_jobs

    def _neighbourhood(self, rng: np.random.Generator) -> Neighbourhood | None:
        """The training rows to condition f on, unless the committee predicts it."""
        experts, shared = self._experts, self._experts.shared
        if self.n_neighbors == 0 or len(experts.states) == 1:
            return None
        kernel = SEARD(float(shared["s2_kf"]), shared["ell_f"])
        X, y = experts.rows.X, experts.rows.y
        near = Neighbourhood(kernel, X, y, experts.noise, self.n_neighbors or NEIGHBORS[-1])
        if self.n_neighbors is None:
            rows = rng.choice(len(y), min(len(y), JUDGED_ROWS), replace=False)
            with runner(self._workers(len(y))) as run:
                near.choose(NEIGHBORS, SCALES, rows, run)
        return near
