"""Kernels as estimators are told of them: by name, or "auto" for the one that predicts left-out rows best.

The bound of one model with several kernels compares them as well, but knows nothing of how a committee
aggregates its experts, nor of a fit that ends early. So each kernel is fitted to a sample of the training
rows, the model as it is but smaller, and judged by the log density of others that were left out: first the
kernel of f, then that of g.
"""

from typing import Literal, get_args

import numpy as np

from hgpbench.columns import Array
from hgpbench.fitting.checks import check_choice
from hgpbench.fitting.left_out import LeftOut, Model
from hgpbench.gp.kernels import KERNELS, Families, KernelName

Choice = KernelName | Literal["auto"]
AUTO: Literal["auto"] = "auto"
CHOICES: tuple[str, ...] = (*get_args(KernelName), AUTO)
PARAMETERS = ("kernel", "noise_kernel")
Densities = dict[str, dict[str, float]]
"""For each parameter the mean log density of left-out rows by kernel."""


def check_kernels(**given: str) -> None:
    """ValueError unless each of these parameters is the name of a kernel, or "auto"."""
    for parameter, name in given.items():
        check_choice(parameter, name, CHOICES)


def families_of(kernel: KernelName, noise_kernel: KernelName = "se") -> Families:
    """What kernels f and g have, by their names."""
    return Families(KERNELS[kernel], KERNELS[noise_kernel])


def choose(model: Model, asked: dict[str, Choice], X: Array, y: Array, seed: int) -> Densities:
    """For each parameter that is "auto", how well each kernel predicts; ``best`` then has its choice."""
    left_out = LeftOut.draw(X, y, model.trial_rows, seed)
    plain = left_out.smaller(model)
    plain |= {name: "se" if kernel == AUTO else kernel for name, kernel in asked.items()}
    densities: Densities = {}
    for parameter in (name for name, kernel in asked.items() if kernel == AUTO):
        densities[parameter] = {
            kernel: left_out.density(model, plain | {parameter: kernel}) for kernel in KERNELS
        }
        plain[parameter] = best(densities[parameter])
    return densities


def best(densities: dict[str, float]) -> KernelName:
    """The kernel with the greatest density; the smoothest where none could be fitted."""
    return max(KERNELS, key=lambda name: np.nan_to_num(densities[name], nan=-np.inf))
