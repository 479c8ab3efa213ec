"""Kernels as estimators are told of them: by name, or "auto" for the one that predicts left-out rows best.

The bound of one model with several kernels compares them as well, but knows nothing of how a committee
aggregates its experts, nor of a fit that ends early. So each kernel is fitted to a sample of the training
rows, the model as it is but smaller, and judged by the log density of others that were left out: first the
kernel of f, then that of g.
"""

from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from sklearn.base import clone

from hgpbench.columns import Array
from hgpbench.errors import FitError
from hgpbench.fitting.checks import check_choice
from hgpbench.gp.kernels import KERNELS, Families, KernelName
from hgpbench.prediction import Prediction

Choice = KernelName | Literal["auto"]
AUTO: Literal["auto"] = "auto"
CHOICES: tuple[str, ...] = (*get_args(KernelName), AUTO)
PARAMETERS = ("kernel", "noise_kernel")
ROWS = 4_000  # of the training rows, that choose a kernel ...
LEFT_OUT = 0.25  # ... and the share of these that is predicted
Index = NDArray[np.intp]
Densities = dict[str, dict[str, float]]
"""For each parameter the mean log density of left-out rows by kernel."""


class Model(Protocol):
    """What it takes to choose a kernel for an estimator."""

    def set_params(self, **params: object) -> Any: ...
    def predict_dist(self, X: Array) -> Prediction: ...
    def smaller(self, share: float) -> dict[str, object]: ...


def check_kernels(**given: str) -> None:
    """ValueError unless each of these parameters is the name of a kernel, or "auto"."""
    for parameter, name in given.items():
        check_choice(parameter, name, CHOICES)


def families_of(kernel: KernelName, noise_kernel: KernelName = "se") -> Families:
    """What kernels f and g have, by their names."""
    return Families(KERNELS[kernel], KERNELS[noise_kernel])


def choose(model: Model, asked: dict[str, Choice], X: Array, y: Array, seed: int) -> Densities:
    """For each parameter that is "auto", how well each kernel predicts; ``best`` then has its choice."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(y), min(len(y), ROWS), replace=False)
    left = max(1, round(LEFT_OUT * len(rows)))
    held, kept = np.sort(rows[:left]), np.sort(rows[left:])
    plain = model.smaller(len(kept) / len(y))
    plain |= {name: "se" if kernel == AUTO else kernel for name, kernel in asked.items()}
    densities: Densities = {}
    for parameter in (name for name, kernel in asked.items() if kernel == AUTO):
        densities[parameter] = {
            kernel: _density(clone(model).set_params(**(plain | {parameter: kernel})), X, y, kept, held)
            for kernel in KERNELS
        }
        plain[parameter] = best(densities[parameter])
    return densities


def best(densities: dict[str, float]) -> KernelName:
    """The kernel with the greatest density; the smoothest where none could be fitted."""
    return max(KERNELS, key=lambda name: np.nan_to_num(densities[name], nan=-np.inf))


def _density(model: Any, X: Array, y: Array, kept: Index, held: Index) -> float:
    """The mean log density of the ``held`` rows by a model of the ``kept`` ones; minus infinity for none."""
    try:
        return float(model.fit(X[kept], y[kept]).predict_dist(X[held]).logpdf(y[held]).mean())
    except (FitError, LinAlgError, ValueError):
        return -np.inf
