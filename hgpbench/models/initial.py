"""First guesses of hyper-parameters, from the spread of the training data."""

from dataclasses import dataclass

import numpy as np

from hgpbench.gp.kernels import SEARD
from hgpbench.models.base import Array


@dataclass(frozen=True, eq=False)
class Guess:
    """A kernel for f and a noise variance, in the units of the data given."""

    kernel: SEARD
    noise_var: float


def guess(X: Array, y: Array) -> Guess:
    """A quarter of the variance of ``y`` to the noise; lengthscales that leave typical neighbours correlated.

    Squared distances of standardised inputs grow like their number d, so lengthscales start at sqrt(d)/2
    standard deviations: at the authors' 0.5 for d = 1, and not so short for many inputs that the kernel matrix
    is diagonal and its gradient vanishes.
    """
    spread = X.std(axis=0)
    ell = 0.5 * np.sqrt(X.shape[1]) * np.where(spread > 0.0, spread, 1.0)
    variance = float(np.var(y))
    return Guess(SEARD(variance, ell), 0.25 * variance)


def perturbed(first: Guess, rng: np.random.Generator) -> Guess:
    """Another start for a restart: every parameter up to a factor of about three away."""
    factors = np.exp(rng.uniform(-1.2, 1.2, size=len(first.kernel.ell) + 2))
    kernel = SEARD(first.kernel.s2_k * factors[0], first.kernel.ell * factors[2:])
    return Guess(kernel, first.noise_var * factors[1])
