"""The one standardisation: zero mean and unit variance on the training rows, and the way back."""

from dataclasses import dataclass

import numpy as np

from hgpbench.columns import ROUND_OFF, Array, moments
from hgpbench.prediction import Prediction

LARGEST = 1e140
"""Variances are squares: a target's beyond this spread would overflow, below its inverse vanish."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """``(x - x_shift) / x_scale`` per column and ``(y - y_shift) / y_scale``.

    Values of a column within ``x_grain`` of its shift are the shift: about zero, the round-off of a constant
    column would be all that it has, and look like a spread.
    """

    x_shift: Array
    x_scale: Array
    y_shift: float
    y_scale: float
    x_grain: Array | None = None

    @classmethod
    def of(cls, X: Array, y: Array) -> "Scaling":
        """Learn the scales of the training rows; a constant column or target keeps its unit."""
        y_shift, y_scale, _ = (float(part[0]) for part in _scales(y[:, None]))
        if not 1.0 / LARGEST <= y_scale <= LARGEST:
            raise ValueError(
                f"the standard deviation of y is {y_scale:.3g}, its square is beyond double precision; "
                f"rescale y to within {1.0 / LARGEST:.0e} and {LARGEST:.0e}"
            )
        x_shift, x_scale, x_grain = _scales(X)
        return cls(x_shift, x_scale, y_shift, y_scale, x_grain)

    @classmethod
    def identity(cls, d: int) -> "Scaling":
        """No scaling of ``d`` inputs and a target."""
        return cls(np.zeros(d), np.ones(d), 0.0, 1.0)

    def inputs(self, X: Array) -> Array:
        """The inputs in the model's units (a copy)."""
        scaled = X - self.x_shift
        if self.x_grain is not None and self.x_grain.any():
            scaled[np.abs(scaled) <= self.x_grain] = 0.0
        scaled /= self.x_scale
        return scaled

    def target(self, y: Array) -> Array:
        """The target in the model's units (a copy)."""
        return (y - self.y_shift) / self.y_scale

    def undo_inputs(self, Z: Array) -> Array:
        """Inducing inputs, say, in the user's units."""
        return Z * self.x_scale + self.x_shift

    def undo(self, prediction: Prediction) -> Prediction:
        """A prediction of the scaled target, in the user's units."""
        return prediction.rescale(self.y_shift, self.y_scale)

    def log_jacobian(self, n: int) -> float:
        """What to add to a log density of ``n`` scaled targets to have it in the user's units."""
        return -n * float(np.log(self.y_scale))


def is_constant(y: Array) -> bool:
    """Whether a target's values are the same up to round-off."""
    return bool(moments(y[:, None])[1][0] == 0.0)


def _scales(columns: Array) -> tuple[Array, Array, Array]:
    """Mean of each column, its standard deviation or 1, and how far a value of a constant one may be off."""
    mean, std = moments(columns)
    constant = std == 0.0
    # A deviation that is round-off on average may all be that of one row.
    grain = np.where(constant, 2.0 * ROUND_OFF * np.sqrt(len(columns)) * np.abs(mean), 0.0)
    return mean, np.where(constant, 1.0, std), grain
