"""Standardisation inside an estimator: zero mean and unit variance, and the way back."""

from dataclasses import dataclass

import numpy as np

from hgpbench.columns import Array, moments

SMALLEST, LARGEST = 1e-100, 1e100  # scales of the target between which squares and their products stay finite


@dataclass(frozen=True, eq=False)
class Scaling:
    """``(x - x_shift) / x_scale`` per column and ``(y - y_shift) / y_scale``."""

    x_shift: Array
    x_scale: Array
    y_shift: float
    y_scale: float

    @classmethod
    def of(cls, X: Array, y: Array, *, standardize: bool) -> "Scaling":
        """Learn the scaling of the training rows; the identity unless ``standardize``.

        A constant column keeps its unit. A constant target is an error: there is no variance to explain and
        none to predict with.
        """
        y_shift, y_scale = (float(value[0]) for value in moments(y[:, None]))
        if y_scale == 0.0:
            raise ValueError(
                f"y is constant: its {len(y)} targets are {y[0]:g} up to round-off; there is nothing to learn"
            )
        if not standardize:
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]), 0.0, 1.0)
        if not SMALLEST < y_scale < LARGEST:
            raise ValueError(
                f"the standard deviation of y is {y_scale:g}; it must lie between {SMALLEST:g} and "
                f"{LARGEST:g}: rescale y"
            )
        x_shift, x_scale = moments(X)
        return cls(x_shift, np.where(x_scale == 0.0, 1.0, x_scale), y_shift, y_scale)

    def inputs(self, X: Array) -> Array:
        """The inputs in the model's units (a copy)."""
        return (X - self.x_shift) / self.x_scale

    def target(self, y: Array) -> Array:
        """The target in the model's units (a copy)."""
        return (y - self.y_shift) / self.y_scale

    def undo_inputs(self, Z: Array) -> Array:
        """Inducing inputs, say, in the user's units."""
        return Z * self.x_scale + self.x_shift

    def log_jacobian(self, n: int) -> float:
        """What to add to a log density of ``n`` scaled targets to have it in the user's units."""
        return -n * float(np.log(self.y_scale))
