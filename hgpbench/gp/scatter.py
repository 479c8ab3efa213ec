"""Residuals of which only the scale varies: z ~ N(0, e^g) with a Gaussian process g.

Where z are left-out residuals over their predicted standard deviations, e^g says by how much the prediction
errs locally. Given g each z has the log density -(log 2 pi + g + z^2 e^-g) / 2, whose expected curvature is
1/2 wherever g is: scoring (Fisher's way to the mode) is a regression of working responses with noise
variance 2. Two ways to them, and the density itself:

    first     log z^2 - E log chi^2_1, with noise variance pi^2 / 2: no g is needed
    at m      m + z^2 e^-m - 1, with noise variance 2, at the mode m of g given all rows
    density   of z with g ~ N(mu_g, s2_g) integrated out, by quadrature

What g says may be believed with reserve: its level moved, its variance wider or narrower, and a share of the
z told by a normal that knows nothing of g.
"""

import math
from collections.abc import Mapping

import numpy as np

from hgpbench.gp.params import Bound
from hgpbench.gp.predictive import normal_logpdf, standard_rule
from hgpbench.la import Array

MEAN_LOG_CHI2 = -1.2703628454614782  # of one degree of freedom: psi(1/2) + log 2
VAR_LOG_CHI2 = math.pi**2 / 2
VAR_SCORE = 2.0  # of a working response: the inverse of the expected curvature
SMALLEST = 1e-6  # of the mean of z^2: a zero has no logarithm
NODES = 40  # of the quadrature: a log density at s2_g = 4 is right to 1e-5 within two standard deviations
NEWTON = 100  # each gains one, or nearly: rarely more than ten are needed
_LOG_2PI = math.log(2.0 * math.pi)
_TINY = float(np.finfo(float).tiny)
_LARGEST = 300.0  # of |g|: its exponential is finite, and so are products with squares

_NODES, _WEIGHTS = standard_rule(NODES)
_LOG_WEIGHTS = np.log(_WEIGHTS)


def first_responses(z: Array) -> Array:
    """Log squares about their expectation; those of zeros from what is tiny beside the others."""
    square = z * z
    return np.log(np.maximum(square, SMALLEST * square.mean())) - MEAN_LOG_CHI2


def modes(z: Array, mu: Array, s2: Array) -> Array:
    """The g that maximises log N(z | 0, e^g) + log N(g | mu, s2), by Newton's method.

    With u = g - mu its derivative is (z^2 e^-mu e^-u - 1) / 2 - u / s2: convex and falling, so that steps
    from the left of the root, where it is positive, never pass it.
    """
    ratio = z * z * np.exp(-np.clip(mu, -_LARGEST, _LARGEST))
    # Left of the root lie zero, if the ratio is above one, and else both of these.
    u = np.minimum(np.maximum(0.5 * s2 * (ratio - 1.0), np.log(np.maximum(ratio, _TINY))), 0.0)
    u = np.maximum(u, -_LARGEST)
    for _ in range(NEWTON):
        pulled = 0.5 * ratio * np.exp(-u)
        step = (pulled - 0.5 - u / s2) / (pulled + 1.0 / s2)
        u = np.maximum(u + step, -_LARGEST)
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    return np.clip(mu + u, -_LARGEST, _LARGEST)


def responses(z: Array, m: Array) -> Array:
    """Working responses at the mode ``m``."""
    return m + z * z * np.exp(-m) - 1.0


def log_density(z: Array, mu: Array, s2: Array) -> tuple[Array, Array, Array]:
    """log of the integral of N(z | 0, e^g) N(g | mu, s2) dg, and its derivatives by mu and s2, each (s,)."""
    root = np.sqrt(np.maximum(s2, _TINY))
    g = np.clip(mu[:, None] + root[:, None] * _NODES, -_LARGEST, _LARGEST)
    square = (z * z)[:, None] * np.exp(-g)
    terms = _LOG_WEIGHTS - 0.5 * (_LOG_2PI + g + square)
    top = terms.max(axis=1, keepdims=True)
    shares = np.exp(terms - top)
    total = shares.sum(axis=1, keepdims=True)
    shares /= total
    shares *= 0.5 * (square - 1.0)
    dmu = shares.sum(axis=1)
    ds2 = (shares @ _NODES) / (2.0 * root)
    return (top + np.log(total))[:, 0], dmu, ds2


def reserved(z: Array, mu: Array, s2: Array, v: Array, values: Mapping[str, Array]) -> Bound:
    """The sum of log((1 - eps) p(z | g ~ N(mu + level, width s2)) + eps N(z | 0, rare / v)).

    And its derivatives by ``level``, ``width``, ``odds`` = eps / (1 - eps) and ``rare``, a variance in the
    units in which that of z is ``v``.
    """
    level, width, odds, rare = (float(values[name]) for name in ("level", "width", "odds", "rare"))
    usual, dmu, ds2 = log_density(z, mu + level, width * s2)
    other = normal_logpdf(z, np.zeros_like(z), rare / v) + math.log(odds)
    total = np.logaddexp(usual, other)
    share = np.exp(other - total)  # of the other, given z
    grads = {
        "level": np.vdot(1.0 - share, dmu),
        "width": np.vdot(1.0 - share, ds2 * s2),
        "odds": share.sum() / odds - len(z) / (1.0 + odds),
        "rare": 0.5 * np.vdot(share, z * z * v / rare - 1.0) / rare,
    }
    value = float(total.sum()) - len(z) * math.log1p(odds)
    return Bound(value, {name: np.asarray(grad) for name, grad in grads.items()}, 0.0)
