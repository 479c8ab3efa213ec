"""The partially independent conditional, its blocks worked on side by side."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from hgpbench.cluster import Cluster, check_given, joined
from hgpbench.experts.bundles import Spread, spread_out
from hgpbench.experts.rows import KINDS, Index, Rows, partition
from hgpbench.fitting.calibration import least_variance, repeated_variance
from hgpbench.fitting.checks import check_at_least, check_choice, check_jobs, check_optional, ensure_started
from hgpbench.fitting.collapsed import judging_rows
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.left_out import LeftOut
from hgpbench.fitting.placement import inducing_points, n_points
from hgpbench.fitting.start import N_RESTARTS, Start, grid, search, spread, told
from hgpbench.fitting.threads import runner
from hgpbench.fitting.values import Values
from hgpbench.gp.cg import conjugate_gradients
from hgpbench.gp.optim import OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.pic import POSITIVE, Blocks
from hgpbench.gp.tasks import Run
from hgpbench.models.base import Array, Callback, Copies, Estimator
from hgpbench.prediction import Prediction
from hgpbench.repeated import observed

Optimizer = Literal["lbfgs", "cg"]
WORTH_WORKERS = 1e11  # flops of a prediction, some seconds of a core, below which a cluster is not asked
SUSPICIOUS = 1e-3  # of the variance of y: less noise than this is looked into


class DPIC(Estimator):
    """Sparse GP with the partially independent conditional: exact inside blocks of rows, constant noise.

    The prior of Snelson and Ghahramani (2007), with all hyper-parameters and inducing inputs learned.
    O(n (n_0 + m)^2) an iteration for blocks of n_0 rows; memory for one block and some m by m matrices a
    thread. One block is the exact GP, blocks of one row are FITC. A test row belongs to the block whose
    centre is nearest; the published code of the distributed variant predicts the mean only.

    Cost: O(n (n_0 + m)^2) an iteration, for blocks of n_0 rows; O((n_0 + m)^2) a test row.

    Parameters
    ----------
    n_inducing : int or None, default=None
        Inducing points m, shared by all blocks; all distinct rows where they are fewer. None for
        sqrt(3e9 / n) of them, but at least 100 and at most 500. Their positions X_m are optimised.
    n_blocks : int or None, default=None
        Blocks M; None for n / block_size of them.
    block_size : int, default=500
        Rows of a block, on average.
    partition : {"kmeans", "balanced", "random"}, default="kmeans"
        How rows are shared among blocks: by k-means as in the paper; the same with sizes kept between 0.2
        and 3 times the mean; or at random.
    max_block_size : int, default=2000
        Larger blocks are cut, so that there are more of them.
    optimizer : {"lbfgs", "cg"}, default="lbfgs"
        L-BFGS, or conjugate gradients, which take several evaluations a line search.
    max_iter : int, default=100
        Most iterations (line searches of "cg").
    n_restarts : int, default=3
        Of a grid of first values, how many of the best are climbed from for some iterations; the best of all
        goes on. 0 for the best of the grid as it is.
    kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="se"
        Kernel of f: squared exponential, or Matern with nu = 1/2 (the roughest), 3/2 or 5/2; "auto" for the
        one with which a smaller fit predicts left-out training rows best.
    noise_floor : bool, default=True
        Predict y with no less variance than targets have among training rows with the same inputs, where
        there are some; and, if the noise that was learned is next to nothing, than left-out rows ask for, by
        a smaller fit. With a rough kernel the evidence may take all noise for signal: then y is called
        certain at the inputs of a training row, which is wrong where it occurs again with another target.
        Not so in the paper.
    n_jobs : int or None, default=None
        Threads, one BLAS thread each; their number changes no bit of the result. None for as many as this
        process and its BLAS may use.
    cluster : str, Client or None, default=None
        Cluster of Dask on whose workers the blocks are, in up to 16 bundles, instead of threads: its address,
        "local:N" for N workers here, or a Client of ``dask.distributed``. It changes no bit of the result,
        and no model file says where it was.
    copies : {"once", "each"} or None, default=None
        Training rows that agree in inputs and target, where targets are so fine that this is no chance:
        "once" to learn from them once, "each" for as many observations as there are rows, as in the paper.
        None for once where they are more than a tenth of the rows.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the blocks and of the initial inducing points (k-means).

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
    block_sizes_ : array of shape (M,)
        Training rows of each block.
    labels_ : array of shape (n,)
        The block of each training row.
    kernel_ : str
        The kernel in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The approximate evidence and how it was reached; see ``hgpbench.models.base``.
    """

    reference = (
        "Hoang, Hoang and Low (2016), A distributed variational inference framework for unifying parallel "
        "sparse Gaussian process regression models"
    )

    def __init__(
        self,
        n_inducing: int | None = None,
        n_blocks: int | None = None,
        block_size: int = 500,
        partition: Literal["kmeans", "balanced", "random"] = "kmeans",
        max_block_size: int = 2000,
        optimizer: Optimizer = "lbfgs",
        max_iter: int = 100,
        n_restarts: int = N_RESTARTS,
        kernel: Choice = "se",
        noise_floor: bool = True,
        n_jobs: int | None = None,
        cluster: Any = None,
        copies: Copies | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_inducing = n_inducing
        self.n_blocks = n_blocks
        self.block_size = block_size
        self.partition = partition
        self.max_block_size = max_block_size
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.kernel = kernel
        self.noise_floor = noise_floor
        self.n_jobs = n_jobs
        self.cluster = cluster
        self.copies = copies
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_kernels(kernel=self.kernel)
        for name in ("block_size", "max_block_size", "max_iter"):
            check_at_least(name, getattr(self, name), 1)
        for name in ("n_inducing", "n_blocks"):
            check_optional(name, getattr(self, name), 1)
        check_at_least("n_restarts", self.n_restarts, 0)
        check_choice("noise_floor", self.noise_floor, (True, False))
        check_jobs(self.n_jobs)
        check_given(self.cluster)
        check_choice("partition", self.partition, KINDS)
        check_choice("optimizer", self.optimizer, get_args(Optimizer))

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, rng = self._scaling, np.random.default_rng(self.random_state)
        inputs, target = scaling.inputs(X), scaling.target(y)
        M = -(-len(y) // self.block_size) if self.n_blocks is None else self.n_blocks
        shares = partition(self.partition, inputs, M, rng, self.max_block_size)
        Xm = inducing_points(inputs, n_points(self.n_inducing, len(y)), rng)
        rows = shares.gather(inputs, target)
        with runner(self.n_jobs) as run:
            start = self._start(rows, Xm, rng, run)
            layout = Layout.of(start.values, positive=POSITIVE)
            with self._blocks(rows, run) as blocks:
                result = self._maximise(blocks, layout, start.values, self._reporter(callback, len(y)))
                values = layout.unpack(ensure_started(result).x)
                self._posterior = blocks.posterior(values)
        self._keep(result, len(y))
        self.n_evaluations_ += start.evaluations
        self.starts_ = told(start.tried)
        self._noise, self._spread = float(values["sigma2"]), spread(inputs)
        self.noise_floor_ = self._least_variance(X, y) if self.noise_floor else 0.0
        self._centres = rows.centres / self._spread
        self._tell(values)
        self.block_sizes_, self.labels_ = shares.sizes, shares.labels

    def smaller(self, n: int, kept: int) -> dict[str, object]:
        """As many rows to a block."""
        blocks = {} if self.n_blocks is None else {"n_blocks": max(1, round(kept / n * self.n_blocks))}
        return super().smaller(n, kept) | blocks

    def _least_variance(self, X: Array, y: Array) -> float:
        """That of y which repeated inputs ask for or, where next to no noise was learned, left-out rows.

        A copy of a row, target and all, is none of either: such rows are what drives the noise to zero.
        """
        rows = observed(X, y)
        X, y = X[rows], y[rows]
        repeated, noise = repeated_variance(X, y), self._noise * self._scaling.y_scale**2
        if noise > SUSPICIOUS * float(np.var(y)):
            return repeated
        left_out = LeftOut.draw(X, y, self.trial_rows, self.random_state or 0)
        params = left_out.smaller(self) | {"noise_floor": False, "kernel": self.kernel_}
        seen = left_out.predicted(self, params)
        if seen is None or seen.f_var is None:
            return repeated
        return max(repeated, least_variance(left_out.targets, seen.mean, seen.f_var + noise))

    def _start(self, rows: Rows, Xm: Array, rng: np.random.Generator, run: Run) -> Start:
        """First values by the evidence of some blocks."""
        some = rows.drawn(judging_rows(len(Xm)), rng)
        blocks = Blocks(some.X, some.y, some.starts.tolist(), run, self._families.f)
        trials = [trial._replace(values=trial.values | {"Xm": Xm}) for trial in grid(rows.X, rows.y)]
        return search(blocks.evidence, trials, POSITIVE, n_restarts=self.n_restarts, held=("Xm",))

    @contextmanager
    def _blocks(self, rows: Rows, run: Run) -> Iterator[Blocks | Spread]:
        """The blocks of these rows: here, or on the workers of a cluster."""
        family = self._families.f
        with joined(self.cluster) as cluster:
            if cluster is None:
                yield Blocks(rows.X, rows.y, rows.starts.tolist(), run, family)
            else:
                with spread_out(rows, cluster, family) as spread:
                    yield spread

    def _maximise(
        self, blocks: Blocks | Spread, layout: Layout, first: Values, report: Callback | None
    ) -> OptimResult:
        evidence, x0 = objective(blocks.evidence, layout), layout.pack(first)
        if self.optimizer == "lbfgs":
            return lbfgs(evidence, x0, max_iter=self.max_iter, callback=report)
        return conjugate_gradients(evidence, x0, line_searches=self.max_iter, callback=report)

    def _moments(self, X: Array) -> Prediction:
        owners = pairwise_distances_argmin(X / self._spread, self._centres)
        with joined(self.cluster if self._flops(owners) > WORTH_WORKERS else None) as cluster:
            moments = self._conferred(X, owners, cluster)
        return Prediction.floored(*moments, self._noise, self.noise_floor_ / self._scaling.y_scale**2)

    def _conferred(self, X: Array, owners: Index, cluster: Cluster | None) -> tuple[Array, Array]:
        """Means and variances of f at scaled inputs that belong to these blocks."""
        posterior = self._posterior
        if cluster is None:
            with runner(self.n_jobs) as run:
                return posterior.moments(X, owners, run)
        rows = Rows(posterior.X, posterior.y, np.asarray(posterior.starts))
        with spread_out(rows, cluster, self._families.f) as spread:
            return spread.moments(posterior, X, owners)

    def _flops(self, owners: Index) -> float:
        """What it takes to predict rows that belong to these blocks."""
        counts = np.bincount(owners, minlength=len(self.block_sizes_)).astype(float)
        sizes, m = self.block_sizes_.astype(float), len(self._posterior.alpha)
        asked = np.where(counts > 0.0, sizes**2 * (sizes + 3.0 * m), 0.0)
        return float(asked.sum() + counts @ (2.0 * (sizes + m) ** 2))
