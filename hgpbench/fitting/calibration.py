"""How far to believe a noise: what predicts left-out rows best, and what repeated rows say of it."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from hgpbench.columns import Array
from hgpbench.gp.predictive import mixture_logpdf, normal_logpdf

STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
WIDEST = 5.0  # levels tried, either way, in logarithms
JUDGED_ROWS = 2_000  # left-out rows that suffice


MEDIAN_CHI2 = 0.45493642311957283  # of one degree of freedom
FLOORS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0)  # of variances, tried
FEWEST_REPEATS = 10  # degrees of freedom of a variance within repeats, below which it says nothing


def repeated_variance(X: Array, y: Array) -> float:
    """The variance of ``y`` (n,) among rows with the same inputs ``X`` (n, d); zero where these are too few.

    Whatever f is, such rows differ by their noise alone: the pure error of regression with replicates.
    """
    _, group, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    freedom = len(y) - len(counts)
    if freedom < FEWEST_REPEATS:
        return 0.0
    means = np.bincount(group, weights=y) / counts
    return float(np.sum((y - means[group]) ** 2) / freedom)


def least_variance(y: Array, mean: Array, var: Array) -> float:
    """The floor of the variances ``var`` under which the left-out targets ``y`` are most probable.

    Zero where no floor helps; the largest that is tried is what the variance of the residuals is, robustly.
    """
    floors = robust_variance(y - mean) * np.array(FLOORS)
    densities = [float(normal_logpdf(y, mean, np.maximum(var, floor)).mean()) for floor in floors]
    return float(floors[int(np.argmax(densities))])


def robust_variance(residuals: Array) -> float:
    """The variance of normal ones with this median square, which a few large ones do not move."""
    return float(np.median(residuals**2)) / MEDIAN_CHI2


class Belief(NamedTuple):
    """g = level + strength times a process: constant noise at strength 0, the process as it is at 1."""

    level: float
    strength: float

    def of(self, g_mean: Array, g_var: Array) -> tuple[Array, Array]:
        """The moments of g from those of the process."""
        return self.level + self.strength * g_mean, self.strength**2 * g_var


def calibrated(e: Array, f_var: Array, g_mean: Array, g_var: Array, level: float) -> Belief:
    """The belief, near ``level``, that gives left-out residuals ``e`` (n,) the highest density.

    Given are the variances of f and the moments of the process at each row, made without that row. A process
    that was learned from noise alone, or from a few hundred rows, does harm: then the strength is small.
    """
    rows = slice(None, None, -(-len(e) // JUDGED_ROWS))
    e, f_var, g_mean, g_var = e[rows], f_var[rows], g_mean[rows], g_var[rows]
    none = np.zeros_like(e)

    def loss(level: float, strength: float) -> float:
        return -float(mixture_logpdf(e, none, f_var, *Belief(level, strength).of(g_mean, g_var)).sum())

    best, least = Belief(level, 1.0), np.inf
    for strength in STRENGTHS:
        found = minimize_scalar(
            loss, bounds=(level - WIDEST, level + WIDEST), args=(strength,), method="bounded"
        )
        # Of beliefs that do as well, the weaker one.
        if found.fun < least:
            best, least = Belief(float(found.x), strength), float(found.fun)
    return best
