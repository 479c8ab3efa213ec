"""Kernels as estimators are told of them: by name."""

from typing import get_args

from hgpbench.fitting.checks import check_choice
from hgpbench.gp.kernels import KERNELS, Families, KernelName


def check_kernels(**given: str) -> None:
    """ValueError unless each of these parameters is the name of a kernel."""
    for parameter, name in given.items():
        check_choice(parameter, name, get_args(KernelName))


def families_of(kernel: KernelName, noise_kernel: KernelName = "se") -> Families:
    """What kernels f and g have, by their names."""
    return Families(KERNELS[kernel], KERNELS[noise_kernel])
