"""What VSGP and FITC share: one collapsed bound, maximised over kernel, noise and inducing inputs."""

from dataclasses import dataclass

import numpy as np

from hgpbench.gp import collapsed
from hgpbench.gp.collapsed import Kind
from hgpbench.gp.latent import Latent
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.posterior import Posterior
from hgpbench.models.base import Array
from hgpbench.models.initial import Values, guess
from hgpbench.models.placement import inducing_points
from hgpbench.models.scaling import Scaling


@dataclass(frozen=True, eq=False)
class SparseFit:
    """How the optimisation ended, at which parameters (scaled), and q(f*) there."""

    result: OptimResult
    values: Values
    posterior: Posterior

    @property
    def noise_var(self) -> float:
        """sigma^2_eps of the scaled target."""
        return float(self.values["sigma2"])

    def learned(self, scaling: Scaling) -> dict[str, float | Array]:
        """The learned parameters in the user's units, by the names of the estimators' attributes."""
        square = scaling.y_scale**2
        return {
            "lengthscales_f_": self.values["ell"] * scaling.x_scale,
            "signal_var_f_": float(self.values["s2_k"]) * square,
            "noise_var_": self.noise_var * square,
            "inducing_f_": scaling.undo_inputs(self.values["Xm"]),
        }


def fit_sparse(
    kind: Kind,
    X: Array,
    y: Array,
    *,
    n_inducing: int,
    max_iter: int,
    random_state: int | None,
    callback: Callback | None,
) -> SparseFit:
    """L-BFGS on the collapsed bound of ``kind``, on scaled ``X`` and ``y``, from data-driven values."""
    first = guess(X, y) | {"Xm": inducing_points(X, n_inducing, np.random.default_rng(random_state))}
    layout = Layout.of(first, positive=collapsed.POSITIVE)
    memory = Latent(len(X), len(first["Xm"]))
    bound = objective(lambda values: collapsed.bound(values, X, y, memory, kind), layout)
    result = lbfgs(bound, layout.pack(first), max_iter=max_iter, callback=callback)
    values = layout.unpack(result.x)
    return SparseFit(result, values, collapsed.posterior(values, X, y, memory, kind))
