"""A sparse GP with constant noise: one collapsed bound, maximised over kernel, noise and inducing inputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hgpbench.columns import Array
from hgpbench.fitting.checks import ensure_started
from hgpbench.fitting.placement import inducing_points, n_points
from hgpbench.fitting.start import N_RESTARTS, Start, Trial, Tried, grid, search
from hgpbench.fitting.threads import runner
from hgpbench.fitting.values import Values
from hgpbench.gp import collapsed
from hgpbench.gp.collapsed import Kind
from hgpbench.gp.kernels import SEARD, Family
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.process import Process
from hgpbench.gp.tasks import Run, serially
from hgpbench.prediction import Prediction

FEWEST_ROWS, ROWS_PER_POINT = 2_000, 4  # that judge first values


@dataclass(frozen=True, eq=False)
class SparseFit:
    """How the optimisation ended, at which parameters (scaled), and q(f*) there."""

    result: OptimResult
    values: Values
    posterior: Posterior
    tried: tuple[Tried, ...] = ()  # first values

    def prediction(self, X: Array, n_jobs: int | None, floor: float = 0.0) -> Prediction:
        """The predictive distribution at scaled inputs, for the scaled target, of no less variance."""
        with runner(n_jobs) as run:
            return Prediction.floored(
                *self.posterior.moments(X, run=run), float(self.values["sigma2"]), floor
            )


def fit_sparse(
    kind: Kind,
    X: Array,
    y: Array,
    first: Values,
    *,
    max_iter: int,
    held: tuple[str, ...] = (),
    callback: Callback | None = None,
    run: Run = serially,
    family: Family = SEARD,
) -> SparseFit:
    """L-BFGS from ``first`` (s2_k, ell, sigma2, Xm), on scaled data; the ``held`` ones stay as they are."""
    layout = Layout.of(first, positive=collapsed.POSITIVE).only(first.keys() - set(held))
    memory = Process(len(X), len(first["Xm"]), run, family)
    bound = objective(lambda values: collapsed.bound(values, X, y, memory, kind), layout, held=first)
    result = ensure_started(lbfgs(bound, layout.pack(first), max_iter=max_iter, callback=callback))
    values = first | layout.unpack(result.x)
    return SparseFit(result, values, collapsed.posterior(values, X, y, memory, kind))


def start_sparse(
    kind: Kind,
    X: Array,
    y: Array,
    Xm: Array,
    rng: np.random.Generator,
    *,
    n_restarts: int = N_RESTARTS,
    run: Run = serially,
    family: Family = SEARD,
) -> Start:
    """First values for ``fit_sparse`` with these inducing points, by the bound of a sample of the rows."""
    most = judging_rows(len(Xm))
    rows = np.arange(len(X)) if len(X) <= most else np.sort(rng.choice(len(X), most, replace=False))
    some, targets = X[rows], y[rows]
    trials = [trial._replace(values=trial.values | {"Xm": Xm}) for trial in grid(X, y)]
    return search_sparse(
        kind, some, targets, trials, n_restarts=n_restarts, held=("Xm",), run=run, family=family
    )


def search_sparse(
    kind: Kind,
    X: Array,
    y: Array,
    trials: Sequence[Trial],
    *,
    n_restarts: int,
    held: tuple[str, ...],
    run: Run,
    family: Family,
) -> Start:
    """The best of these first values by the bound; the ``held`` parameters stay as they are."""
    memory = Process(len(X), len(trials[0].values["Xm"]), run, family)
    return search(
        lambda values: collapsed.bound(values, X, y, memory, kind),
        trials,
        collapsed.POSITIVE,
        n_restarts=n_restarts,
        held=held,
    )


def judging_rows(m: int) -> int:
    """Rows that judge first values: as many as leave ``m`` inducing points few beside them."""
    return max(FEWEST_ROWS, ROWS_PER_POINT * m)


def fit_from_grid(
    kind: Kind,
    X: Array,
    y: Array,
    n_inducing: int | None,
    rng: np.random.Generator,
    *,
    max_iter: int,
    n_restarts: int,
    n_jobs: int | None,
    callback: Callback | None = None,
    family: Family = SEARD,
) -> SparseFit:
    """The same from the best of a grid of first values, inducing points by k-means, on ``n_jobs`` threads."""
    Xm = inducing_points(X, n_points(n_inducing, len(X)), rng)
    with runner(n_jobs) as run:
        start = start_sparse(kind, X, y, Xm, rng, n_restarts=n_restarts, run=run, family=family)
        fit = fit_sparse(
            kind, X, y, start.values, max_iter=max_iter, callback=callback, run=run, family=family
        )
    spent = fit.result.evaluations + start.evaluations
    return replace(fit, result=replace(fit.result, evaluations=spent), tried=start.tried)
