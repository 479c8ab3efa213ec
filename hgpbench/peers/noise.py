"""A noise variance from residuals: the second of two stages."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from hgpbench.fitting.calibration import STRENGTHS
from hgpbench.models.base import Array

FLOOR = 1e-6  # of the mean squared residual, under each: a zero has no logarithm


def log_squares(residuals: Array) -> Array:
    """Logarithms of squared residuals, none of them minus infinity."""
    squares = residuals**2
    mean = max(float(squares.mean()), np.finfo(float).tiny)
    return np.log(np.maximum(squares, FLOOR * mean))


class Belief(NamedTuple):
    """A log variance: a level plus a share of what a regression of log squares says, within its bounds."""

    level: float
    strength: float
    bounds: tuple[float, float]

    def variance(self, shape: Array) -> Array:
        """Noise variances from the regression's predictions."""
        return np.exp(self.level + self.strength * np.clip(shape, *self.bounds))


def believed(residuals: Array, shape: Array) -> Belief:
    """The level and the strength that make left-out residuals likeliest, of predictions made without them.

    The second regression may have learned from noise alone; then the noise is constant, at strength 0. At a
    given strength the likeliest level has standardised squares that are one on average.
    """
    squares = np.maximum(residuals**2, np.finfo(float).tiny)
    best, least = Belief(float(np.log(squares.mean())), 0.0, (0.0, 0.0)), np.inf
    for strength in STRENGTHS:
        level = float(logsumexp(np.log(squares) - strength * shape) - np.log(len(squares)))
        loss = level + strength * float(shape.mean())
        if loss < least:
            best, least = Belief(level, strength, (float(shape.min()), float(shape.max()))), loss
    return best
