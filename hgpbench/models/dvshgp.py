"""The distributed variational sparse heteroscedastic GP: the paper's system for millions of rows."""

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from hgpbench.cluster import check_given, joined
from hgpbench.experts import optimizers
from hgpbench.experts.ascent import passes_for
from hgpbench.experts.crew import Crew
from hgpbench.experts.fit import Recipe, fit_experts
from hgpbench.experts.memory import check_memory
from hgpbench.experts.optimizers import Lbfgs, Paper, Passes
from hgpbench.experts.remote import SNAPSHOT_EVERY
from hgpbench.experts.rows import KINDS, partition
from hgpbench.fitting import authors
from hgpbench.fitting.authors import Length
from hgpbench.fitting.checkpoint import open_checkpoint
from hgpbench.fitting.checks import check_at_least, check_choice, check_optional, ensure_started
from hgpbench.fitting.filerows import scaled
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.placement import n_points
from hgpbench.fitting.ridge import MEAN_KINDS, MeanFunction, MeanKind
from hgpbench.fitting.start import N_RESTARTS, told
from hgpbench.fitting.threads import allowed_cores
from hgpbench.models.base import Array, Callback, Copies, Estimator, refusing
from hgpbench.prediction import Prediction

EXPERT_SIZE, ALONE = 500, 1_000  # rows of an expert by default, and up to which one has all of them
LENGTHS = ("initial_lengthscale_f", "initial_lengthscale_g")
NOISE_FLOOR = 0.1
WIDEST = 9.0  # variance of g, beyond which the density of y is no longer computed well: none is made wider
WORTH_WORKERS = 2e10  # rows times squared inducing points and passes, below which processes only cost time


class DVSHGP(Estimator):
    """Experts of variational sparse heteroscedastic GPs on disjoint rows, with shared kernels.

    y = f(x) + N(0, e^g(x)). The bound is the sum of the experts' F_V; O(n (m^2 + u^2)) a pass. A committee of
    the experts predicts f and g, and from these follows y. ``X`` may be an HDF5 dataset, which is read by
    blocks of rows, to the same bits: memory then holds some numbers a row, and the rows lie in temporary
    files.

    Cost: O(n (m^2 + u^2)) a pass, shared by the workers; O(m^2 + u^2) a test row for each expert in reach.

    Parameters
    ----------
    n_experts : int or None, default=None
        Experts M; None for n / expert_size of them.
    expert_size : int or None, default=None
        Rows n_0 of an expert, on average. None for 500, or for all where there are at most 1,000.
    n_inducing_f : int or None, default=None
        Inducing points m_0 of f in each expert; all distinct rows where they are fewer. None for
        sqrt(3e9 / n) of them, n the rows of all experts, but at least 100 and at most 500.
    n_inducing_g : int, default=100
        Inducing points u_0 of g in each expert, likewise.
    partition : {"kmeans", "balanced", "random"}, default="balanced"
        How rows are shared among experts: by k-means as in the paper; the same with sizes kept between 0.2
        and 3 times the mean, which makes a few experts more or fewer; or at random.
    optimizer : str, Passes, Lbfgs or Paper, default="natural"
        "natural", short for ``Passes()``: passes over mini-batches of experts, with natural steps on q(g_u)
        and Adam on the rest, at most ``n_passes`` of them (None for 10, or for 120 steps if that is more). A
        ``guard`` watches the leave-one-out errors of f, which may grow while the bound still rises: its
        kernel and inducing inputs then go back to where they were least, and three more passes at most are
        about the noise alone.
        "lbfgs", for ``Lbfgs()``: L-BFGS on everything, at most ``max_iter`` iterations (100). "paper", for
        ``Paper()``: conjugate gradients as in the paper, ``max_iter`` line searches (100), 30 in 100 on
        lambda first, then on everything; with ``stages=1`` all at once. There every lambda starts from
        ``first_lambda`` (0.5). Settings are those of ``Passes(n_passes=20, guard=False)``, or text
        as in "natural(n_passes=20, guard=false)".
    n_restarts : int, default=3
        Of a grid of first values, how many of the best are climbed from for some iterations; the best of all
        goes on. 0 for the best of the grid as it is.
    initial_lengthscale_f : float, str or None, default=None
        Lengthscale of f that "paper" starts from: a number in the units of the inputs, or text such as
        "0.5 sd" for standard deviations; None for the authors' "0.5 sd". Other recipes find their own.
    initial_lengthscale_g : float, str or None, default=None
        Lengthscale of g, likewise; None for the authors' "0.2 sd".
    aggregate : {"fg", "y"}, default="fg"
        What the committee aggregates: f and g, from which y follows, as the paper does; or y itself, each
        expert's normal one, which the paper advises against. The latter asks all experts about all points.
    aggregation : {"rbcm", "gpoe", "nearest"}, default="rbcm"
        Robust Bayesian committee machine, generalised product of experts, or the most certain expert alone.
    noise_floor : float, default=0.1
        Expect no less noise than this share of the median noise variance of the training rows, where f and g
        are aggregated: single rows may be called almost free of noise, and cost thousands of nats. There the
        variance of g grows until the mean of e^g is that large; its median hardly moves. 0 for none, as in
        the paper.
    mean : {"zero", "linear"}, default="zero"
        Mean of f: zero as in the paper, or linear, by ridge regression before the GP.
    kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="se"
        Kernel of f: squared exponential, or Matern with nu = 1/2 (the roughest), 3/2 or 5/2; "auto" for the
        one with which a smaller fit predicts left-out training rows best.
    noise_kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="se"
        Kernel of g, likewise.
    skip_tol : float, default=1e-4
        Experts are left out at a test row where this moves the committee's mean by no more than this many
        prior standard deviations, and its variance by no more than this fraction; 0 leaves out none.
    max_memory : int, str or None, default=None
        Memory that prediction may take beside rows, model and result, in bytes or as "500MB", "2GB": it then
        goes by smaller pieces, with fewer workers where they would not fit, to the same result but for
        round-off. One expert's matrices are the least. None for pieces of some hundred megabytes. Up to 256
        MB, or a quarter of it, hold the posteriors of experts for the next prediction in this process.
    n_jobs : int or None, default=None
        Most worker processes, one BLAS thread each; None for as many as there are cores and BLAS threads. A
        small problem needs none. Their number changes no bit of the result.
    cluster : str, Client or None, default=None
        Cluster of Dask whose workers own the experts, instead of processes: its address, "local:N" for N
        workers here, or a Client of ``dask.distributed``. It changes no bit of the result, and no model file
        says where it was.
    snapshot_every : float, default=180
        Seconds between two snapshots of the experts on a cluster: what the loss of a worker repeats at most.
    copies : {"once", "each"} or None, default=None
        Training rows that agree in inputs and target, where targets are so fine that this is no chance:
        "once" to learn from them once, "each" for as many observations as there are rows, as in the paper.
        None for once where they are more than a tenth of the rows.
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
    expert_sizes_ : array of shape (M,)
        Training rows n_i of each expert.
    labels_ : array of shape (n,)
        The expert of each training row.
    lam_ : array of shape (n,)
        Variational parameters, the diagonals of Lambda of all experts, in the order of the training rows.
    inducing_f_, inducing_g_ : arrays of shape (M m_0, d) and (M u_0, d)
        Inducing inputs X_m and X_u of all experts.
    noise_floor_ : float
        The least noise variance that is expected of a row.
    kernel_, noise_kernel_ : str
        The kernels in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The summed bound and how it was reached; see ``hgpbench.models.base``. An iteration is a step with a
        batch of experts, and the trace has the sum of each expert's bound when it was visited last; an
        evaluation is one of one expert.
    """

    stochastic = True
    blockwise = True
    trial_rows = 20_000  # with few experts a committee does not tell how many far ones agree
    shorthands: ClassVar = {"optimizer": optimizers.write, **dict.fromkeys(LENGTHS, authors.write)}
    former: ClassVar = {
        "n_passes": "a setting of optimizer, as in 'natural(n_passes=20)'",
        "guard": "a setting of optimizer, as in 'natural(guard=false)'",
        "max_iter": "a setting of optimizer, as in 'paper(max_iter=20)' or 'lbfgs(max_iter=20)'",
        "n_neighbors": "no part of DVSHGP, whose committee predicts f",
    }
    reference = "Liu, Ong and Cai (2020), Large-scale heteroscedastic regression via Gaussian process"

    @refusing(former)
    def __init__(
        self,
        n_experts: int | None = None,
        expert_size: int | None = None,
        n_inducing_f: int | None = None,
        n_inducing_g: int = 100,
        partition: Literal["kmeans", "balanced", "random"] = "balanced",
        optimizer: str | Passes | Lbfgs | Paper = "natural",
        n_restarts: int = N_RESTARTS,
        initial_lengthscale_f: Length | None = None,
        initial_lengthscale_g: Length | None = None,
        aggregate: Literal["fg", "y"] = "fg",
        aggregation: Literal["rbcm", "gpoe", "nearest"] = "rbcm",
        noise_floor: float = NOISE_FLOOR,
        mean: MeanKind = "zero",
        kernel: Choice = "se",
        noise_kernel: Choice = "se",
        skip_tol: float = 1e-4,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        cluster: Any = None,
        snapshot_every: float = SNAPSHOT_EVERY,
        copies: Copies | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_experts = n_experts
        self.expert_size = expert_size
        self.n_inducing_f = n_inducing_f
        self.n_inducing_g = n_inducing_g
        self.partition = partition
        self.optimizer = optimizer
        self.n_restarts = n_restarts
        self.initial_lengthscale_f = initial_lengthscale_f
        self.initial_lengthscale_g = initial_lengthscale_g
        self.aggregate = aggregate
        self.aggregation = aggregation
        self.noise_floor = noise_floor
        self.mean = mean
        self.kernel = kernel
        self.noise_kernel = noise_kernel
        self.skip_tol = skip_tol
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.cluster = cluster
        self.snapshot_every = snapshot_every
        self.copies = copies
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_kernels(kernel=self.kernel, noise_kernel=self.noise_kernel)
        for name in ("n_experts", "expert_size", "n_inducing_f", "n_jobs"):
            check_optional(name, getattr(self, name), 1)
        check_at_least("n_inducing_g", self.n_inducing_g, 1)
        check_at_least("n_restarts", self.n_restarts, 0)
        for name in LENGTHS:
            recipe = optimizers.write(self.optimizer).partition("(")[0]
            authors.check_length(name, getattr(self, name), recipe)
        check_at_least("skip_tol", self.skip_tol, 0.0, float)
        check_at_least("noise_floor", self.noise_floor, 0.0, float)
        check_memory("max_memory", self.max_memory)
        check_given(self.cluster)
        check_at_least("snapshot_every", self.snapshot_every, 0.0, float)
        optimizers.read(self.optimizer)
        check_choice("mean", self.mean, MEAN_KINDS)
        check_choice("partition", self.partition, KINDS)
        check_choice("aggregate", self.aggregate, ("fg", "y"))
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
        inputs, target = scaled(X, scaling), scaling.target(y)
        self._mean = MeanFunction.fit(self.mean, X, target, scaling)
        target -= self._mean(inputs)
        params = self.get_params() | {"optimizer": optimizers.write(self.optimizer)}
        checkpoint = open_checkpoint(self._checkpoint, params, inputs, target)
        rng = np.random.default_rng(self.random_state)
        shares = partition(self.partition, inputs, self._n_experts(n), rng)
        rows = shares.gather(inputs, target)
        lengths = (getattr(self, name) for name in LENGTHS)
        recipe = Recipe(
            optimizers.read(self.optimizer),
            len(shares),
            (n_points(self.n_inducing_f, n), self.n_inducing_g),
            int(rng.integers(2**31)),
            self.n_restarts,
            authors.values(inputs, scaling, *lengths),
            self._families,
        )
        del inputs  # may be mapped: pages of a file that is read no more
        with joined(self.cluster) as cluster:
            crew = Crew(self._workers(n * recipe.n_passes, n), cluster, self.snapshot_every)
            report = self._reporter(callback, n)
            self._experts, (result, tried) = fit_experts(rows, recipe, crew, checkpoint, report)
        self.starts_ = told(tried)
        self.resumed_seconds_ = checkpoint.seconds
        self._keep(ensure_started(result), n)
        self.expert_sizes_, self.labels_ = shares.sizes, shares.labels
        self.lam_ = np.empty(n)
        self.lam_[shares.order] = self._experts.local("lam")
        self._tell(self._experts.shared)
        floor = self.noise_floor * float(np.median(self._experts.noise))
        self._least_g = float(np.log(floor)) if floor > 0.0 else -np.inf
        self.noise_floor_ = floor * scaling.y_scale**2

    @property
    def inducing_f_(self) -> Array:
        """Gathered when asked for: as large as the training inputs."""
        return self._scaling.undo_inputs(self._experts.local("Xm"))

    @property
    def inducing_g_(self) -> Array:
        """Likewise."""
        return self._scaling.undo_inputs(self._experts.local("Xu"))

    def _moments(self, X: Array) -> Prediction:
        rows, n = len(X) * len(self.expert_sizes_) // 10, len(self.labels_)
        pieces = self._experts.needs("fg").pieces(self.max_memory, self._workers(rows, n))
        with joined(self.cluster if self._is_large(rows, n) else None) as cluster:
            moments = self._experts.moments(
                X, self.aggregate, self.aggregation, self.skip_tol, pieces, Crew(pieces.processes, cluster)
            )
        if self.aggregate == "y":
            mean, var = moments["y"]
            prediction = Prediction(mean, var, var.copy())
        else:
            (f_mean, f_var), (g_mean, g_var) = moments["f"], moments["g"]
            prediction = Prediction.mixture(f_mean, f_var, *self._floored(g_mean, g_var))
        return self._mean.add_to(prediction, X)

    def _floored(self, mean: Array, var: Array) -> tuple[Array, Array]:
        """Moments of g with E e^g = e^(mean + var / 2) not below the floor: wider, at most, then lifted."""
        lifted = np.maximum(mean, self._least_g - 0.5 * WIDEST)
        return lifted, np.maximum(var, 2.0 * (self._least_g - lifted))

    def smaller(self, n: int, kept: int) -> dict[str, object]:
        """As many rows and inducing points to an expert, and a third of the passes."""
        n_experts = max(1, round(kept / n * self._n_experts(n)))
        smaller: dict[str, object] = {"n_experts": n_experts, "n_inducing_f": n_points(self.n_inducing_f, n)}
        passes = optimizers.read(self.optimizer)
        if not isinstance(passes, Passes) or passes.n_passes is not None:
            return smaller
        return smaller | {"optimizer": replace(passes, n_passes=-(-passes_for(n_experts) // 3))}

    def _n_experts(self, n: int) -> int:
        if self.n_experts is not None:
            return self.n_experts
        usual = n if n <= ALONE else EXPERT_SIZE
        return -(-n // (usual if self.expert_size is None else self.expert_size))

    def _workers(self, rows: int, n: int) -> int:
        """Worker processes for so many evaluations of rows, ``n`` of them in training."""
        if not self._is_large(rows, n):
            return 1
        return allowed_cores() if self.n_jobs is None else self.n_jobs

    def _is_large(self, rows: int, n: int) -> bool:
        """Whether so many evaluations are worth sending the experts somewhere."""
        return rows * (n_points(self.n_inducing_f, n) ** 2 + self.n_inducing_g**2) >= WORTH_WORKERS
