"""A sparse GP with constant noise: one collapsed bound, maximised over kernel, noise and inducing inputs."""

from dataclasses import dataclass

import numpy as np

from hgpbench.columns import Array
from hgpbench.fitting.checks import ensure_started
from hgpbench.fitting.placement import inducing_points
from hgpbench.fitting.start import guess
from hgpbench.fitting.threads import runner
from hgpbench.fitting.values import Values
from hgpbench.gp import collapsed
from hgpbench.gp.collapsed import Kind
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.process import Process
from hgpbench.gp.tasks import Run, serially
from hgpbench.prediction import Prediction


@dataclass(frozen=True, eq=False)
class SparseFit:
    """How the optimisation ended, at which parameters (scaled), and q(f*) there."""

    result: OptimResult
    values: Values
    posterior: Posterior

    def prediction(self, X: Array, n_jobs: int | None, floor: float = 0.0) -> Prediction:
        """The predictive distribution at scaled inputs, for the scaled target, with no less noise."""
        noise = max(float(self.values["sigma2"]), floor)
        with runner(n_jobs) as run:
            return Prediction.gaussian(*self.posterior.moments(X, run=run), noise)


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
) -> SparseFit:
    """L-BFGS from ``first`` (s2_k, ell, sigma2, Xm), on scaled data; the ``held`` ones stay as they are."""
    layout = Layout.of(first, positive=collapsed.POSITIVE).only(first.keys() - set(held))
    memory = Process(len(X), len(first["Xm"]), run)
    bound = objective(lambda values: collapsed.bound(values, X, y, memory, kind), layout, held=first)
    result = ensure_started(lbfgs(bound, layout.pack(first), max_iter=max_iter, callback=callback))
    values = first | layout.unpack(result.x)
    return SparseFit(result, values, collapsed.posterior(values, X, y, memory, kind))


def fit_from_guess(
    kind: Kind,
    X: Array,
    y: Array,
    n_inducing: int,
    rng: np.random.Generator,
    *,
    max_iter: int,
    n_jobs: int | None,
    callback: Callback | None = None,
) -> SparseFit:
    """The same from a plain guess, inducing points by k-means, on ``n_jobs`` threads."""
    first = guess(X, y) | {"Xm": inducing_points(X, n_inducing, rng)}
    with runner(n_jobs) as run:
        return fit_sparse(kind, X, y, first, max_iter=max_iter, callback=callback, run=run)
