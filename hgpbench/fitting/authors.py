"""First values as the authors' release has them ('User'): fixed, and told by a config rather than searched.

A lengthscale is a number in the units of the inputs, or text such as "0.5 sd": so many standard deviations of
each input. Variances are one and mu0 is log 0.25, in whatever units the model works: standard deviations of
the target, unless it is told not to standardise.
"""

import re

import numpy as np

from hgpbench.columns import Array
from hgpbench.fitting.checks import check_at_least
from hgpbench.fitting.start import spread
from hgpbench.fitting.values import Values
from hgpbench.scaling import Scaling

Length = float | str
LENGTH_F, LENGTH_G = "0.5 sd", "0.2 sd"  # of the release, where it normalises the data
NOISE = 0.25
_DEVIATIONS = re.compile(r"\s*([0-9.eE+-]+)\s*sd\s*")


def write(length: str) -> str:
    """One text for a length in standard deviations; ValueError where it is none."""
    return f"{_deviations(length):g} sd"


def check_length(name: str, length: Length | None, recipe: str) -> None:
    """ValueError unless a first lengthscale is allowed, with this recipe."""
    if length is None:
        return
    if recipe != "paper":
        raise ValueError(f'{name} is for optimizer="paper": the others find their own')
    _check(name, length)


def check_both(**lengths: Length | None) -> None:
    """ValueError unless these first lengthscales are allowed, all of them given or none."""
    missing = [name for name, length in lengths.items() if length is None]
    if missing and len(missing) < len(lengths):
        raise ValueError(
            f"{missing[0]}=None is not allowed: {' and '.join(lengths)} are given both or not at all"
        )
    for name, length in lengths.items():
        if length is not None:
            _check(name, length)


def _check(name: str, length: Length) -> None:
    if isinstance(length, str):
        write(length)
    else:
        check_at_least(name, length, np.finfo(float).tiny, float)


def values(X: Array, scaling: Scaling, length_f: Length | None, length_g: Length | None) -> Values:
    """Kernels and mu0 for scaled inputs ``X``."""
    return {
        "s2_kf": np.asarray(1.0),
        "ell_f": _scaled(LENGTH_F if length_f is None else length_f, X, scaling),
        "s2_kg": np.asarray(1.0),
        "ell_g": _scaled(LENGTH_G if length_g is None else length_g, X, scaling),
        "mu0": np.log(np.asarray(NOISE)),
    }


def _scaled(length: Length, X: Array, scaling: Scaling) -> Array:
    """A lengthscale for each scaled input."""
    if isinstance(length, str):
        return _deviations(length) * spread(X)
    return np.full(X.shape[1], float(length)) / scaling.x_scale


def _deviations(length: str) -> float:
    """The number of standard deviations that a text says."""
    said = _DEVIATIONS.fullmatch(length)
    try:
        number = float(said[1]) if said else np.nan
    except ValueError:
        number = np.nan
    if not 0.0 < number < np.inf:
        raise ValueError(
            f"a first lengthscale of {length!r} is not allowed: it must be a number, in the units of the "
            "inputs, or text such as '0.5 sd', standard deviations of each input"
        )
    return number
