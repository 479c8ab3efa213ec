"""How many basis functions, and how far to believe their noise: by rows left out, where rows are few.

The evidence of basis functions with their own centres, precisions and relevances over-fits small tables: with
300 to 500 rows and 100 functions, 95 % intervals held 60 to 80 % of new rows. Its authors stop early by
held-out rows; here these choose the number of functions and correct the noise.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hgpbench.columns import Array
from hgpbench.fitting.basis import Options, fit_basis
from hgpbench.fitting.calibration import Belief, calibrated
from hgpbench.gp.predictive import normal_logpdf

CANDIDATES = (5, 10, 20, 50, 100)
MOST_CHOSEN = CANDIDATES[-1]
FEW_ROWS = 5_000  # from here on 100 functions are few
FOLDS = 3
FEWEST_ROWS = 30  # for a choice at all: below, a fold is a few rows


AS_IT_IS = Belief(0.0, 1.0)


@dataclass(frozen=True)
class Correction:
    """Noise variances as left-out rows would have them: a belief about their logarithms less ``centre``."""

    centre: float = 0.0
    belief: Belief = AS_IT_IS

    @property
    def strength(self) -> float:
        """Share of the deviations that is kept."""
        return self.belief.strength

    def of(self, noise: Array) -> Array:
        """The corrected noise variances."""
        if self == Correction():
            return noise
        return np.exp(self.belief.of(np.log(noise) - self.centre, np.zeros_like(noise))[0])


@dataclass(frozen=True)
class Choice:
    """The number of functions, how to correct their noise, and what it took to find out."""

    m: int
    correction: Correction = field(default_factory=Correction)
    evaluations: int = 0


def choose(X: Array, y: Array, options: Options, rng: np.random.Generator) -> Choice:
    """The choice whose predictions of each third of the rows by the others are most probable."""
    if len(y) < FEWEST_ROWS:
        return Choice(CANDIDATES[0])
    folds, seed = np.argsort(rng.permutation(len(y))) % FOLDS, int(rng.integers(2**31))
    best, highest, evaluations = Choice(CANDIDATES[0]), -np.inf, 0
    for m in (m for m in CANDIDATES if m <= len(y) // FOLDS):
        mean, f_var, noise, spent = _left_out(X, y, m, options, folds, seed)
        evaluations += spent
        centre = float(np.log(noise).mean())
        belief = calibrated(y - mean, f_var, np.log(noise) - centre, np.zeros_like(y), centre)
        correction = Correction(centre, belief)
        density = float(normal_logpdf(y, mean, f_var + correction.of(noise)).sum())
        if density > highest:
            best, highest = Choice(m, correction), density
    return Choice(best.m, best.correction, evaluations)


def _left_out(
    X: Array, y: Array, m: int, options: Options, folds: NDArray[np.intp], seed: int
) -> tuple[Array, Array, Array, int]:
    """Mean and variance of f and the noise at each row from the other folds, and the evaluations."""
    moments, evaluations = np.empty((3, len(y))), 0
    for fold in range(FOLDS):
        out = folds == fold
        fit = fit_basis(X[~out], y[~out], m, options, np.random.default_rng(seed))
        evaluations += fit.result.evaluations
        moments[:, out] = fit.posterior.moments(X[out] / fit.unit)
    return moments[0], moments[1], moments[2], evaluations
