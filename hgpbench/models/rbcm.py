"""The robust Bayesian committee machine: exact-GP experts with constant noise."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from hgpbench.cluster import check_given, joined
from hgpbench.columns import chunks
from hgpbench.experts import exact
from hgpbench.experts.crew import Crew
from hgpbench.experts.exact import ExactOwner
from hgpbench.experts.memory import Pieces, check_memory
from hgpbench.experts.recent import Recent
from hgpbench.experts.rows import KINDS, Rows, Shares, partition
from hgpbench.fitting.checks import check_at_least, check_choice, check_jobs
from hgpbench.fitting.filerows import scaled
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.ridge import MEAN_KINDS, MeanFunction, MeanKind
from hgpbench.fitting.start import N_RESTARTS, SAMPLE, Start, grid, search, told
from hgpbench.fitting.threads import allowed_cores
from hgpbench.fitting.values import Values
from hgpbench.gp.exact import POSITIVE, ExactPosterior
from hgpbench.gp.optim import OptimResult, lbfgs
from hgpbench.gp.params import Bound, Layout, objective
from hgpbench.models.base import Array, Callback, Copies, Estimator
from hgpbench.prediction import Prediction

WORTH_WORKERS = 1e11  # flops, some seconds of a core, below which processes would take longer to start


class RBCM(Estimator):
    """Exact-GP experts on disjoint rows, one kernel and noise for all, aggregated by entropy weights.

    The evidence is the sum of the experts', as if they were independent, by L-BFGS: n_i^3 flops an expert
    and evaluation. Prediction makes the factors of experts within reach of its rows, n_i^3 / 3 flops, and
    takes n_i^2 for each such row. ``X`` may be an HDF5 dataset, which is read by
    blocks of rows, to the same bits: memory then holds some numbers a row, and the rows lie in temporary
    files.

    Cost: O(n n_0^2) an iteration, for experts of n_0 rows; O(n_0^2) a test row for each expert in reach.

    Parameters
    ----------
    n_experts : int or None, default=None
        Experts M; None for n / expert_size of them.
    expert_size : int, default=500
        Rows n_0 of an expert, on average.
    partition : {"kmeans", "balanced", "random"}, default="kmeans"
        How rows are shared among experts: by k-means as in the paper; the same with sizes kept between 0.2
        and 3 times the mean, which makes a few experts more or fewer; or at random.
    aggregation : {"rbcm", "gpoe", "nearest"}, default="rbcm"
        Robust Bayesian committee machine, generalised product of experts, or the most certain expert alone.
    max_expert_size : int, default=2000
        Larger experts are cut, so that there are more of them.
    train_rows : int, default=40000
        Kernel and noise are learned from as many experts, drawn at random, as have this many rows in all.
    max_iter : int, default=100
        Most iterations of L-BFGS.
    n_restarts : int, default=3
        Of a grid of first values, how many of the best are climbed from for some iterations; the best of all
        goes on. 0 for the best of the grid as it is.
    mean : {"zero", "linear"}, default="zero"
        Mean of f: zero as in the paper, or linear, by ridge regression before the GP.
    kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="se"
        Kernel of f: squared exponential, or Matern with nu = 1/2 (the roughest), 3/2 or 5/2; "auto" for the
        one with which a smaller fit predicts left-out training rows best.
    skip_tol : float, default=1e-4
        Experts are left out at a test row where this provably moves the mean of f by no more than this many
        prior standard deviations, and its variance by no more than this fraction; 0 leaves out none.
    max_memory : int, str or None, default=None
        Memory that prediction may take beside rows, model and result, in bytes or as "500MB", "2GB": it then
        goes by smaller pieces, with fewer processes where they would not fit, to the same result but for
        round-off. One expert's matrices are the least. None for pieces of some hundred megabytes. Up to 256
        MB, or a quarter of it, hold the factors of experts for the next prediction in this process.
    n_jobs : int or None, default=None
        Processes, one BLAS thread each; their number changes no bit of the result. None for as many as this
        process and its BLAS may use, where the problem is large enough for that to pay.
    cluster : str, Client or None, default=None
        Cluster of Dask whose workers own the experts, instead of processes: its address, "local:N" for N
        workers here, or a Client of ``dask.distributed``. It changes no bit of the result, and no model file
        says where it was.
    copies : {"once", "each"} or None, default=None
        Training rows that agree in inputs and target, where targets are so fine that this is no chance:
        "once" to learn from them once, "each" for as many observations as there are rows, as in the paper.
        None for once where they are more than a tenth of the rows.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the partition and of the experts that training draws.

    Attributes
    ----------
    lengthscales_f_ : array of shape (d,)
        Lengthscales l_i of f.
    signal_var_f_ : float
        Signal variance sigma^2_s of f.
    noise_var_ : float
        Noise variance sigma^2_eps.
    expert_sizes_ : array of shape (M,)
        Training rows n_i of each expert.
    labels_ : array of shape (n,)
        The expert of each training row.
    n_train_rows_ : int
        Rows of the experts that training used.
    kernel_ : str
        The kernel in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The summed log evidence and how it was reached; see ``hgpbench.models.base``. Where training used some
        of the experts only, theirs times n / n_train_rows.
    """

    blockwise = True
    reference = "Deisenroth and Ng (2015), Distributed Gaussian processes"

    def __init__(
        self,
        n_experts: int | None = None,
        expert_size: int = 500,
        partition: Literal["kmeans", "balanced", "random"] = "kmeans",
        aggregation: Literal["rbcm", "gpoe", "nearest"] = "rbcm",
        max_expert_size: int = 2000,
        train_rows: int = 40_000,
        max_iter: int = 100,
        n_restarts: int = N_RESTARTS,
        mean: MeanKind = "zero",
        kernel: Choice = "se",
        skip_tol: float = 1e-4,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        cluster: Any = None,
        copies: Copies | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_experts = n_experts
        self.expert_size = expert_size
        self.partition = partition
        self.aggregation = aggregation
        self.max_expert_size = max_expert_size
        self.train_rows = train_rows
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.mean = mean
        self.kernel = kernel
        self.skip_tol = skip_tol
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.cluster = cluster
        self.copies = copies
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_kernels(kernel=self.kernel)
        if self.n_experts is not None:
            check_at_least("n_experts", self.n_experts, 1)
        for name in ("expert_size", "max_expert_size", "train_rows", "max_iter"):
            check_at_least(name, getattr(self, name), 1)
        check_at_least("n_restarts", self.n_restarts, 0)
        check_at_least("skip_tol", self.skip_tol, 0.0, float)
        check_choice("partition", self.partition, KINDS)
        check_choice("aggregation", self.aggregation, ("rbcm", "gpoe", "nearest"))
        check_choice("mean", self.mean, MEAN_KINDS)
        check_memory("max_memory", self.max_memory)
        check_jobs(self.n_jobs)
        check_given(self.cluster)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, rng = self._scaling, np.random.default_rng(self.random_state)
        inputs, target = scaled(X, scaling), scaling.target(y)
        self._mean = MeanFunction.fit(self.mean, X, target, scaling)
        target -= self._mean(inputs)
        M = -(-len(y) // self.expert_size) if self.n_experts is None else self.n_experts
        shares = partition(self.partition, inputs, M, rng, self.max_expert_size)
        self._rows = shares.gather(inputs, target)
        drawn = self._rows.drawn(self.train_rows, rng)
        start = self._start(drawn, inputs, target, rng)
        report = self._reporter(callback, len(y))
        result = self._maximise(drawn, start.values, len(y) / len(drawn.y), report)
        self._keep(result, len(y))
        self.n_evaluations_ += start.evaluations
        self.starts_ = told(start.tried)
        self._recent: Recent[ExactPosterior] = Recent()
        self._values = Layout.of(start.values, positive=POSITIVE).unpack(result.x)
        self._noise = float(self._values["sigma2"])
        self._tell(self._values)
        self.expert_sizes_, self.labels_ = shares.sizes, shares.labels
        self.n_train_rows_ = len(drawn.y)

    def smaller(self, n: int, kept: int) -> dict[str, object]:
        """As many rows to an expert."""
        smaller = super().smaller(n, kept)
        return (
            smaller
            if self.n_experts is None
            else smaller | {"n_experts": max(1, round(kept / n * self.n_experts))}
        )

    def _start(self, rows: Rows, X: Array, y: Array, rng: np.random.Generator) -> Start:
        """First values by the evidence of a few experts."""
        some = rows.drawn(SAMPLE, rng)
        owner, lanes = self._owner(some), exact.lanes(some)
        return search(
            lambda values: exact.evidence(owner.evidence(lanes, len(lanes), values), values),
            grid(X, y),
            POSITIVE,
            n_restarts=self.n_restarts,
        )

    def _maximise(self, rows: Rows, first: Values, scale: float, report: Callback | None) -> OptimResult:
        """L-BFGS on the evidence of these experts, times ``scale``."""
        layout = Layout.of(first, positive=POSITIVE)
        lanes = exact.lanes(rows)
        n_workers = self._workers(3.0 * exact.flops(rows) * self.max_iter)
        with (
            joined(self.cluster) as cluster,
            Crew(n_workers, cluster).opened(rows, len(lanes), self._owner) as pool,
        ):

            def bound(values: Values) -> Bound:
                answers = pool.ask(ExactOwner.evidence, lanes, len(lanes), values)
                return exact.evidence(answers, values, scale)

            return lbfgs(
                objective(bound, layout), layout.pack(first), max_iter=self.max_iter, callback=report
            )

    def _moments(self, X: Array) -> Prediction:
        rows = self._rows
        moments = np.empty((2, len(X)))
        flops = exact.flops(rows, len(X))
        pieces = exact.needs(rows).pieces(self.max_memory, self._workers(flops))
        self._recent.allow(pieces.kept)
        with joined(self.cluster if flops > WORTH_WORKERS else None) as cluster:
            self._confer(X, moments, pieces, Crew(pieces.processes, cluster))
        return self._mean.add_to(Prediction.gaussian(moments[0], moments[1], self._noise), X)

    def _confer(self, X: Array, moments: Array, pieces: Pieces, crew: Crew) -> None:
        """Means and variances of the committee at scaled inputs, into ``moments`` (2, s)."""
        rows, lanes = self._rows, exact.lanes(self._rows)
        recent = self._recent if crew.is_here else None
        owner = partial(ExactOwner, family=self._families.f, recent=recent)
        with crew.opened(rows, len(lanes), owner) as pool:
            for block in chunks(len(X), pieces.rows):
                reach = exact.reach(rows, self.aggregation, X[block], self.skip_tol, self._values)
                committee = reach.committee(0.0, float(self._values["s2_k"]))
                answers = pool.ask(ExactOwner.confer, lanes, len(lanes), self._values, reach, pieces.chunk)
                for sums in answers:
                    committee.merge(sums)
                moments[:, block] = committee.result()

    @property
    def _owner(self) -> Callable[[Shares], ExactOwner]:
        return partial(ExactOwner, family=self._families.f)

    def _workers(self, flops: float) -> int:
        """Processes for so much work."""
        if self.n_jobs is not None:
            return self.n_jobs
        return allowed_cores() if flops > WORTH_WORKERS else 1
