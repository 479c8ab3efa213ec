"""What VSHGP and VHGP share: initial values, one joint optimisation of F_V, q(f*) and q(g*) at its end.

Initial values come from two sparse GPs with constant noise. One explains y; the other explains the logarithms
of its squared residuals, which are g plus the logarithm of a chi-squared variable. The authors' release
offers the same idea with exact GPs on a random subset. On toy the joint bound then climbed to its
heteroscedastic optimum for six seeds of six; by the paper's recipe, from fixed values, for one of six.
"""

import time
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.columns import Array
from hgpbench.fitting.checks import ensure_started
from hgpbench.fitting.collapsed import SparseFit, fit_sparse, search_sparse, start_sparse
from hgpbench.fitting.start import (
    FLOOR,
    LAM,
    LONGEST,
    N_RESTARTS,
    Start,
    Tried,
    guess,
    noise_grid,
)
from hgpbench.fitting.threads import runner
from hgpbench.fitting.values import Values
from hgpbench.gp import collapsed, recipes, vshgp
from hgpbench.gp.kernels import SMOOTH, Families
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.process import Process
from hgpbench.gp.scatter import MEAN_LOG_CHI2
from hgpbench.prediction import Prediction

Optimizer = Literal["natural", "lbfgs", "paper"]
INDUCING = ("Xm", "Xu")
ORDER = ("s2_kf", "ell_f", "Xm", "s2_kg", "ell_g", "Xu", "mu0", "lam")  # in the vector of a search
SHARE_ON_LAMBDA = 0.3  # of the paper's line searches go to lambda alone: 30 of 100
STEPS = 30  # iterations of each sparse GP: enough for a guess ...
STEPS_PER_ITERATION = 2  # ... and for inducing points that move: as many steps of f as VSGP takes by default
SCATTER = 1.5  # variance of the log squares about g, held: less than pi^2 / 2 since E(y - f)^2 is never zero
LEVELLINGS = 2  # closed-form corrections of mu0; the second one gains a nat or two


@dataclass(frozen=True, eq=False)
class VshgpFit:
    """How the optimisation ended, at which parameters (scaled), and the two posteriors there."""

    result: OptimResult
    values: Values
    f: Posterior
    g: Posterior
    tried: tuple[Tried, ...] = ()  # first values of f

    def prediction(self, X: Array, n_jobs: int | None) -> Prediction:
        """The predictive mixture at scaled inputs, for the scaled target."""
        with runner(n_jobs) as run:
            return Prediction.mixture(*self.f.moments(X, run=run), *self.g.moments(X, run=run))


@dataclass(frozen=True, eq=False)
class Problem:
    """Scaled data, with the inducing points to start from; they are held unless ``move_inducing``.

    The ``authors`` values are the kernels and mu0 that the paper's recipe starts from. With a ``guard`` f
    starts from the optimum for constant noise, and stays there if leave-one-out errors grow by moving it.
    """

    X: Array
    y: Array
    Xm: Array
    Xu: Array
    rng: np.random.Generator
    move_inducing: bool = True
    n_restarts: int = N_RESTARTS
    authors: Values = field(default_factory=dict)
    families: Families = SMOOTH
    guard: bool = False

    def fit(
        self, optimizer: Optimizer, max_iter: int, callback: Callback | None = None, n_jobs: int | None = 1
    ) -> VshgpFit:
        """Maximise F_V by one of the recipes; time and evaluations include the search for initial values."""
        started = time.perf_counter()
        with runner(n_jobs) as run:
            memory = vshgp.Workspace(len(self.X), len(self.Xm), len(self.Xu), run, self.families)
            first, spent, tried = self._first_values(optimizer, memory, max_iter)
            prepared = time.perf_counter() - started
            values, result = self._maximise(optimizer, first, memory, max_iter, callback)
            result = replace(
                ensure_started(result),
                evaluations=result.evaluations + spent,
                trace=result.trace + np.array([0.0, prepared, 0.0]),
            )
            return VshgpFit(result, values, *vshgp.posteriors(values, self.X, self.y, memory), tried)

    def _first_values(self, optimizer: Optimizer, memory: vshgp.Workspace, max_iter: int) -> Start:
        if optimizer == "paper":
            return Start(self._authors_values(), 0)
        return first_values(
            self.X,
            self.y,
            self.Xm,
            self.Xu,
            memory,
            self.rng,
            n_restarts=self.n_restarts,
            move_inducing=self.move_inducing,
            steps=max(STEPS, STEPS_PER_ITERATION * max_iter) if self.move_inducing else STEPS,
        )

    def _authors_values(self) -> Values:
        """Fixed values, the mean of q(g_u) tied to lambda."""
        values = self.authors | {"Xm": self.Xm, "Xu": self.Xu, "lam": np.full(len(self.X), LAM)}
        return {name: values[name] for name in ORDER}

    def _maximise(
        self,
        optimizer: Optimizer,
        first: Values,
        memory: vshgp.Workspace,
        max_iter: int,
        callback: Callback | None,
    ) -> tuple[Values, OptimResult]:
        hold = () if self.move_inducing else INDUCING
        if optimizer == "natural":
            climb = recipes.guarded if self.guard else recipes.natural
            return climb(first, self.X, self.y, memory, max_iter=max_iter, hold=hold, callback=callback)
        if optimizer == "paper":
            on_lambda = round(SHARE_ON_LAMBDA * max_iter)
            searches = (on_lambda, max_iter - on_lambda)
            return recipes.paper(first, self.X, self.y, memory, line_searches=searches, callback=callback)
        layout = Layout.of(first, positive=vshgp.POSITIVE).only(first.keys() - set(hold))
        bound = objective(lambda values: vshgp.bound(values, self.X, self.y, memory), layout, held=first)
        result = lbfgs(bound, layout.pack(first), max_iter=max_iter, callback=callback)
        return first | layout.unpack(result.x), result


def first_values(
    X: Array,
    y: Array,
    Xm: Array,
    Xu: Array,
    memory: vshgp.Workspace,
    rng: np.random.Generator,
    *,
    n_restarts: int,
    move_inducing: bool,
    steps: int = STEPS,
) -> Start:
    """Initial values for ``vshgp.evaluate``, with a free whitened mean ``w``; the data are scaled.

    Those of f are what ``steps`` iterations with constant noise lead to.
    """
    family, run = memory.families.f, memory.run
    start = start_sparse("vfe", X, y, Xm, rng, n_restarts=n_restarts, run=run, family=family)
    held = () if move_inducing else ("Xm",)
    f = fit_sparse("vfe", X, y, start.values, max_iter=steps, held=held, run=run, family=family)
    g, mu0, evaluations = _fit_log_residuals(X, y, f, Xu, n_restarts, memory)
    values = {
        "s2_kf": f.values["s2_k"],
        "ell_f": f.values["ell"],
        "Xm": f.values["Xm"],
        "s2_kg": g.values["s2_k"],
        "ell_g": g.values["ell"],
        "Xu": Xu,
        "mu0": np.asarray(mu0),
        "lam": np.full(len(y), LAM),
        "w": g.posterior.Linv @ g.posterior.moments(Xu)[0],
    }
    try:
        with np.errstate(all="ignore"):
            values["mu0"] = _levelled(values, X, y, memory)
            started = np.isfinite(vshgp.bound(values, X, y, memory).value)
    except LinAlgError:
        started = False
    if not started:
        # A process that explains single rows, say, has no bound: start from constant noise instead.
        values |= {"s2_kg": np.asarray(1.0), "ell_g": guess(X, y)["ell"]}
        values |= {"mu0": np.log(f.values["sigma2"]), "w": np.zeros(len(Xu))}
    spent = start.evaluations + f.result.evaluations + evaluations + LEVELLINGS
    return Start(values, spent, start.tried)


def _levelled(values: Values, X: Array, y: Array, memory: vshgp.Workspace) -> Array:
    """mu0 such that the noise is as large as the residuals, on average.

    The mean of rho E(y - f)^2, which should be one, is 1 + 2/n dF/dmu0: mu0 is shifted by its logarithm.
    """
    mu0 = values["mu0"]
    for _ in range(LEVELLINGS):
        slope = vshgp.bound(values | {"mu0": mu0}, X, y, memory).grads["mu0"]
        mu0 = mu0 + np.log1p(2.0 * slope / len(y))
    return mu0


def _fit_log_residuals(
    X: Array, y: Array, f: SparseFit, Xu: Array, n_restarts: int, memory: vshgp.Workspace
) -> tuple[SparseFit, float, int]:
    """The best of some sparse GPs on the centred log squared residuals, their mean, evaluations used.

    They leave g without the inputs along which it varies little: its lengthscales there are thousands, where
    F_V has no slope left to bring them back by. So none is longer than the longest of the grid.
    """
    run, family = memory.run, memory.families.g
    mu, s2 = f.posterior.moments(X, run=run)
    squares = np.maximum((y - mu) ** 2 + s2, FLOOR * np.var(y))
    z = np.log(squares) - MEAN_LOG_CHI2
    mean = float(z.mean())
    z -= mean
    held = ("sigma2", "Xm")
    trials = [trial._replace(values=trial.values | {"Xm": Xu}) for trial in noise_grid(X, SCATTER)]
    start = search_sparse("vfe", X, z, trials, n_restarts=n_restarts, held=held, run=run, family=family)
    g = fit_sparse("vfe", X, z, start.values, max_iter=STEPS, held=held, run=run, family=family)
    values = g.values | {"ell": np.minimum(g.values["ell"], LONGEST * guess(X, y)["ell"])}
    posterior = collapsed.posterior(values, X, z, Process(len(X), len(Xu), run, family), "vfe")
    return replace(g, values=values, posterior=posterior), mean, start.evaluations + g.result.evaluations
