"""A sparse GP with constant noise: one collapsed bound, maximised over kernel, noise and inducing inputs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hgpbench.columns import Array
from hgpbench.fitting.checks import ensure_started
from hgpbench.fitting.values import Values
from hgpbench.gp import collapsed
from hgpbench.gp.collapsed import Kind
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.process import Process
from hgpbench.gp.tasks import Run, serially

if TYPE_CHECKING:
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

    def learned(self, scaling: "Scaling") -> dict[str, float | Array]:
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
