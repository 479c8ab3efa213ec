"""What VSHGP and VHGP share: initial values, one joint optimisation of F_V, q(f*) and q(g*) at its end."""

import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hgpbench.gp import recipes, vshgp
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.tasks import Run, serially
from hgpbench.models.base import Array, ensure_started
from hgpbench.models.initial import Values
from hgpbench.models.residuals import authors_values, first_values
from hgpbench.models.scaling import Scaling
from hgpbench.prediction import Prediction

Optimizer = Literal["natural", "lbfgs", "paper"]
INDUCING = ("Xm", "Xu")
SHARE_ON_LAMBDA = 0.3  # of the paper's line searches go to lambda alone: 30 of 100


@dataclass(frozen=True, eq=False)
class HeteroFit:
    """How the optimisation ended, at which parameters (scaled), and the two posteriors there."""

    result: OptimResult
    values: Values
    f: Posterior
    g: Posterior

    def prediction(self, X: Array, run: Run) -> Prediction:
        """The predictive mixture at scaled inputs, for the scaled target."""
        return Prediction.mixture(*self.f.moments(X, run=run), *self.g.moments(X, run=run))

    def learned(self, scaling: Scaling) -> dict[str, float | Array]:
        """The learned parameters in the user's units, by the names of the estimators' attributes."""
        values, square = self.values, scaling.y_scale**2
        return {
            "lengthscales_f_": values["ell_f"] * scaling.x_scale,
            "signal_var_f_": float(values["s2_kf"]) * square,
            "inducing_f_": scaling.undo_inputs(values["Xm"]),
            "lengthscales_g_": values["ell_g"] * scaling.x_scale,
            "signal_var_g_": float(values["s2_kg"]),
            "noise_mean_": float(values["mu0"] + np.log(square)),
            "inducing_g_": scaling.undo_inputs(values["Xu"]),
            "lam_": values["lam"],
        }


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

    def fit(
        self, optimizer: Optimizer, max_iter: int, callback: Callback | None = None, run: Run = serially
    ) -> HeteroFit:
        """Maximise F_V by one of the recipes; time and evaluations include the search for initial values."""
        started = time.perf_counter()
        memory = vshgp.Workspace(len(self.X), len(self.Xm), len(self.Xu), run)
        if optimizer == "paper":
            first, spent = authors_values(self.X, self.Xm, self.Xu, self.ell), 0
        else:
            first, spent = first_values(
                self.X, self.y, self.Xm, self.Xu, memory, move_inducing=self.move_inducing
            )
        prepared = time.perf_counter() - started
        values, result = self._maximise(optimizer, first, memory, max_iter, callback)
        result = replace(
            ensure_started(result),
            evaluations=result.evaluations + spent,
            trace=result.trace + np.array([0.0, prepared, 0.0]),
        )
        return HeteroFit(result, values, *vshgp.posteriors(values, self.X, self.y, memory))

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
