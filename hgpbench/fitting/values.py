"""Parameters by name: as a fit of scaled data has them, and as an estimator tells them to its user."""

from collections.abc import Callable

import numpy as np

from hgpbench.columns import Array
from hgpbench.scaling import Scaling

Values = dict[str, Array]
Told = float | Array


def _length(value: Array, scaling: Scaling) -> Told:
    return value * scaling.x_scale


def _variance(value: Array, scaling: Scaling) -> Told:
    return float(value) * scaling.y_scale**2


def _log_variance(value: Array, scaling: Scaling) -> Told:
    return float(value) + 2.0 * float(np.log(scaling.y_scale))


def _point(value: Array, scaling: Scaling) -> Told:
    return scaling.undo_inputs(value)


def _number(value: Array, scaling: Scaling) -> Told:
    return float(value)


def _same(value: Array, scaling: Scaling) -> Told:
    return value


ATTRIBUTES: dict[str, tuple[str, Callable[[Array, Scaling], Told]]] = {
    "ell": ("lengthscales_f_", _length),
    "ell_f": ("lengthscales_f_", _length),
    "ell_g": ("lengthscales_g_", _length),
    "s2_k": ("signal_var_f_", _variance),
    "s2_kf": ("signal_var_f_", _variance),
    "s2_kg": ("signal_var_g_", _number),  # of a log variance, so without units
    "sigma2": ("noise_var_", _variance),
    "mu0": ("noise_mean_", _log_variance),
    "Xm": ("inducing_f_", _point),
    "Xu": ("inducing_g_", _point),
    "lam": ("lam_", _same),
}
"""The attribute of an estimator that tells a parameter, and how that gets the user's units."""


def learned(values: Values, scaling: Scaling) -> dict[str, Told]:
    """Learned parameters in the user's units, by the names of the attributes; those without one are left."""
    return {
        attribute: tell(values[name], scaling)
        for name, (attribute, tell) in ATTRIBUTES.items()
        if name in values
    }
