"""What VSHGP and VHGP share: initial values, one joint optimisation of F_V, q(f*) and q(g*) at its end."""

import time
from dataclasses import dataclass, replace

import numpy as np

from hgpbench.gp import vshgp
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.posterior import Posterior
from hgpbench.models.base import Array
from hgpbench.models.initial import Values
from hgpbench.models.residuals import first_values
from hgpbench.models.scaling import Scaling
from hgpbench.prediction import Prediction

INDUCING = ("Xm", "Xu")


@dataclass(frozen=True, eq=False)
class HeteroFit:
    """How the optimisation ended, at which parameters (scaled), and the two posteriors there."""

    result: OptimResult
    values: Values
    f: Posterior
    g: Posterior

    def prediction(self, X: Array) -> Prediction:
        """The predictive mixture at scaled inputs, for the scaled target."""
        return Prediction.mixture(*self.f.moments(X), *self.g.moments(X))

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


def fit_hetero(
    X: Array,
    y: Array,
    Xm: Array,
    Xu: Array,
    *,
    max_iter: int,
    move_inducing: bool,
    callback: Callback | None,
) -> HeteroFit:
    """Maximise F_V over everything (inducing inputs unless held), on scaled data.

    L-BFGS with a free whitened mean of q(g): the mean tied to lambda has the same optimum, but every lambda
    then moves the noise of all its neighbours and the search hardly leaves its start.
    """
    started = time.perf_counter()
    memory = vshgp.Workspace(len(X), len(Xm), len(Xu))
    first, spent = first_values(X, y, Xm, Xu, memory, move_inducing=move_inducing)
    layout = Layout.of(first, positive=vshgp.POSITIVE)
    if not move_inducing:
        layout = layout.only(name for name in first if name not in INDUCING)
    prepared = time.perf_counter() - started
    bound = objective(lambda values: vshgp.bound(values, X, y, memory), layout, held=first)
    result = lbfgs(bound, layout.pack(first), max_iter=max_iter, callback=callback)
    result = replace(
        result,
        evaluations=result.evaluations + spent,
        trace=result.trace + np.array([0.0, prepared, 0.0]),
    )
    values = first | layout.unpack(result.x)
    return HeteroFit(result, values, *vshgp.posteriors(values, X, y, memory))
