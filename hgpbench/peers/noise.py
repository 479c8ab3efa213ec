"""A noise variance from residuals: the second of two stages."""

from collections.abc import Callable

import numpy as np

from hgpbench.models.base import Array

FLOOR = 1e-6  # of the mean squared residual, under each: a zero has no logarithm
FARTHEST = 50.0  # a log variance beyond the residuals' own by more is a slip of the regression


def log_squares(residuals: Array) -> Array:
    """Logarithms of squared residuals, none of them minus infinity."""
    squares = residuals**2
    mean = max(float(squares.mean()), np.finfo(float).tiny)
    return np.log(np.maximum(squares, FLOOR * mean))


def level(residuals: Array, shape: Array) -> float:
    """What to add to a log variance so that it is likeliest: standardised squares are one on average."""
    squares = np.maximum(residuals**2, np.finfo(float).tiny)
    return float(np.log(np.mean(np.exp(np.log(squares) - np.clip(shape, -FARTHEST, FARTHEST)))))


def variance(shape: Array, rise: float, bounds: tuple[float, float]) -> Array:
    """The variances of log variances, which go no further than those of the rows that were learned from."""
    return np.exp(np.clip(shape, *bounds) + rise)


def bounds_of(predict: Callable[[Array], Array], X: Array) -> tuple[float, float]:
    """The least and the largest log variance at the rows of ``X``."""
    shape = predict(X)
    return float(shape.min()), float(shape.max())
