"""Standardisation inside an estimator: zero mean and unit variance, and the way back."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CHUNK = 65_536  # rows at a time, so that two million rows need no second copy
SMALLEST, LARGEST = 1e-100, 1e100  # scales of the target between which squares and their products stay finite


def chunks(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Consecutive row slices of at most ``size`` rows."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


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
        y_shift, y_scale = (float(value[0]) for value in _moments(y[:, None]))
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
        x_shift, x_scale = _moments(X)
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


def _moments(A: Array) -> tuple[Array, Array]:
    """Mean and standard deviation per column, by chunks; zero where the column is constant up to round-off.

    Columns are divided by their largest entry first, so that squares neither overflow nor vanish.
    """
    n, d = A.shape
    span = np.maximum(A.max(axis=0), -A.min(axis=0))
    span = np.where(span > np.finfo(float).tiny, span, 1.0)
    mean, square = np.zeros(d), np.zeros(d)
    for rows in chunks(n):
        mean += (A[rows] / span).sum(axis=0) / n
    for rows in chunks(n):
        square += ((A[rows] / span - mean) ** 2).sum(axis=0) / n
    scale = np.sqrt(square)
    return mean * span, np.where(scale > 8 * np.finfo(float).eps, scale * span, 0.0)
