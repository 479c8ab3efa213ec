"""First guesses of hyper-parameters, from the spread of the training data."""

import numpy as np

from hgpbench.models.base import Array

Values = dict[str, Array]


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
    """Standard deviation per column; one where the column is constant."""
    std = X.std(axis=0)
    return np.where(std > 0.0, std, 1.0)
