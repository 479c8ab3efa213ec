"""First guesses of hyper-parameters, from the spread of the training data or as the authors fixed them."""

from typing import NamedTuple

import numpy as np

from hgpbench.columns import Array, divisors
from hgpbench.fitting.values import Values

FLOOR = 1e-6  # of the variance of y, under squared residuals: a zero has no logarithm
MEAN_LOG_CHI2 = -1.2703628454614782  # of one degree of freedom: psi(1/2) + log 2
LAM = 0.5  # the fixed point of lambda where the noise is as large as the residuals


class Start(NamedTuple):
    """Initial values of a bound, and the evaluations that they took."""

    values: Values
    evaluations: int


def guess(X: Array, y: Array) -> Values:
    """Signal variance ``s2_k``, lengthscales ``ell`` (d,) and noise variance ``sigma2`` to start from.

    The signal gets the variance of ``y``, the noise a quarter of it. Squared distances of standardised inputs
    grow like their number d, so lengthscales start at sqrt(d)/2 standard deviations: at the authors' 0.5 for
    d = 1, and not so short for many inputs that the kernel matrix is diagonal and its gradient vanishes.
    """
    variance = float(np.var(y))
    ell = 0.5 * np.sqrt(X.shape[1]) * spread(X)
    return {"s2_k": np.asarray(variance), "ell": ell, "sigma2": np.asarray(0.25 * variance)}


def perturbed(first: Values, rng: np.random.Generator) -> Values:
    """Another start: every (positive) parameter up to a factor of about three away."""
    return {name: value * np.exp(rng.uniform(-1.2, 1.2, np.shape(value))) for name, value in first.items()}


def spread(X: Array) -> Array:
    """Standard deviation per column; one where the column is constant up to round-off."""
    return divisors(X)


def authors_values(unit: Array, variance: float = 1.0) -> Values:
    """Kernels and mu0 of the authors' release ('User'), for inputs and a target of these spreads."""
    return {
        "s2_kf": np.asarray(variance),
        "ell_f": 0.5 * unit,
        "s2_kg": np.asarray(1.0),
        "ell_g": 0.2 * unit,
        "mu0": np.asarray(np.log(0.25 * variance)),
    }
