"""What VSHGP and VHGP share: initial values, one joint optimisation of F_V, q(f*) and q(g*) at its end.

Initial values come from two sparse GPs with constant noise. One explains y; the other explains the logarithms
of its squared residuals, which are g plus the logarithm of a chi-squared variable. The authors' release
offers the same idea with exact GPs on a random subset. On toy the joint bound then climbed to its
heteroscedastic optimum for six seeds of six; by the paper's recipe, from fixed values, for one of six.
"""

import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.columns import Array
from hgpbench.fitting.checks import ensure_started
from hgpbench.fitting.collapsed import SparseFit, fit_sparse
from hgpbench.fitting.start import FLOOR, LAM, MEAN_LOG_CHI2, Start, authors_values, guess
from hgpbench.fitting.threads import runner
from hgpbench.fitting.values import Values
from hgpbench.gp import recipes, vshgp
from hgpbench.gp.kernels import SMOOTH, Families
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.posterior import Posterior
from hgpbench.prediction import Prediction

Optimizer = Literal["natural", "lbfgs", "paper"]
INDUCING = ("Xm", "Xu")
ORDER = ("s2_kf", "ell_f", "Xm", "s2_kg", "ell_g", "Xu", "mu0", "lam")  # in the vector of a search
SHARE_ON_LAMBDA = 0.3  # of the paper's line searches go to lambda alone: 30 of 100
STEPS = 30  # iterations of each sparse GP: enough for a guess
G_STRETCHES = (0.4, 1.0)  # lengthscales of g tried, as multiples of those f starts from: the bound decides
SCATTER = 1.5  # variance of the log squares about g, held: less than pi^2 / 2 since E(y - f)^2 is never zero
LEVELLINGS = 2  # closed-form corrections of mu0; the second one gains a nat or two


@dataclass(frozen=True, eq=False)
class VshgpFit:
    """How the optimisation ended, at which parameters (scaled), and the two posteriors there."""

    result: OptimResult
    values: Values
    f: Posterior
    g: Posterior

    def prediction(self, X: Array, n_jobs: int | None) -> Prediction:
        """The predictive mixture at scaled inputs, for the scaled target."""
        with runner(n_jobs) as run:
            return Prediction.mixture(*self.f.moments(X, run=run), *self.g.moments(X, run=run))


@dataclass(frozen=True, eq=False)
class Problem:
    """Scaled data, with the inducing points to start from; they are held unless ``move_inducing``.

    The paper's recipe starts from lengthscales ``ell`` where they are given.
    """

    X: Array
    y: Array
    Xm: Array
    Xu: Array
    move_inducing: bool = True
    ell: Array | None = None
    families: Families = SMOOTH

    def fit(
        self, optimizer: Optimizer, max_iter: int, callback: Callback | None = None, n_jobs: int | None = 1
    ) -> VshgpFit:
        """Maximise F_V by one of the recipes; time and evaluations include the search for initial values."""
        started = time.perf_counter()
        with runner(n_jobs) as run:
            memory = vshgp.Workspace(len(self.X), len(self.Xm), len(self.Xu), run, self.families)
            first, spent = self._first_values(optimizer, memory)
            prepared = time.perf_counter() - started
            values, result = self._maximise(optimizer, first, memory, max_iter, callback)
            result = replace(
                ensure_started(result),
                evaluations=result.evaluations + spent,
                trace=result.trace + np.array([0.0, prepared, 0.0]),
            )
            return VshgpFit(result, values, *vshgp.posteriors(values, self.X, self.y, memory))

    def _first_values(self, optimizer: Optimizer, memory: vshgp.Workspace) -> Start:
        if optimizer == "paper":
            return Start(self._authors_values(), 0)
        return first_values(self.X, self.y, self.Xm, self.Xu, memory, move_inducing=self.move_inducing)

    def _authors_values(self) -> Values:
        """The fixed values of the authors' release for standardised data, the mean tied to lambda."""
        kernels = authors_values(np.ones(self.X.shape[1]))
        if self.ell is not None:
            kernels |= {"ell_f": self.ell, "ell_g": self.ell}
        values = kernels | {"Xm": self.Xm, "Xu": self.Xu, "lam": np.full(len(self.X), LAM)}
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
            return recipes.natural(
                first, self.X, self.y, memory, max_iter=max_iter, hold=hold, callback=callback
            )
        if optimizer == "paper":
            on_lambda = round(SHARE_ON_LAMBDA * max_iter)
            searches = (on_lambda, max_iter - on_lambda)
            return recipes.paper(first, self.X, self.y, memory, line_searches=searches, callback=callback)
        layout = Layout.of(first, positive=vshgp.POSITIVE).only(first.keys() - set(hold))
        bound = objective(lambda values: vshgp.bound(values, self.X, self.y, memory), layout, held=first)
        result = lbfgs(bound, layout.pack(first), max_iter=max_iter, callback=callback)
        return first | layout.unpack(result.x), result


def first_values(
    X: Array, y: Array, Xm: Array, Xu: Array, memory: vshgp.Workspace, *, move_inducing: bool
) -> Start:
    """Initial values for ``vshgp.evaluate``, with a free whitened mean ``w``; the data are scaled."""
    first = guess(X, y)
    held = () if move_inducing else ("Xm",)
    family, run = memory.families.f, memory.run
    f = fit_sparse("vfe", X, y, first | {"Xm": Xm}, max_iter=STEPS, held=held, run=run, family=family)
    g, mu0, evaluations = _fit_log_residuals(X, y, f, first, Xu, memory)
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
    except LinAlgError:
        # A process that explains single rows, say, has no bound: start from constant noise instead.
        values |= {"s2_kg": np.asarray(1.0), "ell_g": first["ell"]}
        values |= {"mu0": np.log(f.values["sigma2"]), "w": np.zeros(len(Xu))}
    return Start(values, f.result.evaluations + evaluations + LEVELLINGS)


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
    X: Array, y: Array, f: SparseFit, first: Values, Xu: Array, memory: vshgp.Workspace
) -> tuple[SparseFit, float, int]:
    """The better of some sparse GPs on the centred log squared residuals, their mean, evaluations used."""
    run, family = memory.run, memory.families.g
    mu, s2 = f.posterior.moments(X, run=run)
    squares = np.maximum((y - mu) ** 2 + s2, FLOOR * np.var(y))
    z = np.log(squares) - MEAN_LOG_CHI2
    fits = []
    for stretch in G_STRETCHES:
        start = {
            "s2_k": np.asarray(1.0),
            "ell": stretch * first["ell"],
            "sigma2": np.asarray(SCATTER),
            "Xm": Xu,
        }
        held = ("sigma2", "Xm")
        fits.append(
            fit_sparse("vfe", X, z - z.mean(), start, max_iter=STEPS, held=held, run=run, family=family)
        )
    best = max(fits, key=lambda fit: fit.result.value)
    return best, float(z.mean()), sum(fit.result.evaluations for fit in fits)
