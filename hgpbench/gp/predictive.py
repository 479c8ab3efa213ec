"""The predictive distribution of y*: a normal, or the normal mixture of a heteroscedastic model.

Integrating g ~ N(mu_g, s2_g) out of N(y | mu_f, s2_f + e^g) (paper, q(y*)) leaves closed-form moments and a
density that is not: Gauss-Hermite quadrature replaces the integral by a sum over ``ORDER`` nodes. That sum is
itself a normalised mixture of normals with one common mean, so density, cdf, quantiles and CRPS below belong
to one proper distribution at any ``s2_g``. As an approximation of the integral, the log density is right to
1e-9 for s2_g = 1, 1e-5 for s2_g = 4 and 1e-3 for s2_g = 9, out to 50 standard deviations; beyond s2_g = 9 the
nodes (0.3 standard deviations of g apart) become too sparse for the density, though not for the CRPS, and
beyond the last node (19 standard deviations of g) the sum's tails are lighter than the integral's.

A mixture may have one component more, with a share eps and a variance s2_e that is free of g: what is said of
the few points at which g is not to be believed. It is one more node.

Arguments broadcast against each other; memory stays bounded by working through ``ROWS`` points at a time.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, erfc, ndtr, ndtri

Array = NDArray[np.float64]

ORDER = 100  # nodes of the mixture; the tails of the log density are what needs so many
PAIR_ORDER = 32  # nodes per axis for E|Y - Y'|, whose integrand is smooth: 1e-9 at s2_g = 4
ROWS = 1024  # points at a time: ROWS x ORDER doubles stay in the cache
NEWTON_STEPS = 100  # bisection alone needs no more

_LOG_2PI = math.log(2 * math.pi)
_TINY = float(np.finfo(float).tiny)


def standard_rule(order: int) -> tuple[Array, Array]:
    """Nodes and weights of E h(x), x ~ N(0, 1)."""
    nodes, weights = np.polynomial.hermite.hermgauss(order)
    return math.sqrt(2.0) * nodes, weights / math.sqrt(math.pi)


_NODES, _WEIGHTS = standard_rule(ORDER)
_LOG_WEIGHTS = np.log(_WEIGHTS)
_PAIR_NODES, _PAIR_WEIGHTS = standard_rule(PAIR_ORDER)


def normal_logpdf(y: ArrayLike, mu: Array, s2: Array) -> Array:
    """log N(y | mu, s2)."""
    return -0.5 * (_LOG_2PI + np.log(s2) + _squared_over(np.asarray(y) - mu, s2))


def normal_cdf(y: ArrayLike, mu: Array, s2: Array) -> Array:
    """P(Y <= y) for Y ~ N(mu, s2)."""
    return ndtr(_ratio(np.asarray(y) - mu, np.sqrt(s2)))


def normal_quantile(q: ArrayLike, mu: Array, s2: Array) -> Array:
    """The q-quantiles of N(mu, s2): shape of q, then shape of mu."""
    return mu + np.multiply.outer(ndtri(_checked_levels(q)), np.sqrt(s2))


def normal_crps(y: ArrayLike, mu: Array, s2: Array) -> Array:
    """CRPS of N(mu, s2) at y (Gneiting and Raftery, 2007, eq. 21)."""
    return _mean_distance(np.asarray(y) - mu, np.sqrt(s2)) - np.sqrt(s2 / math.pi)


def mixture_logpdf(
    y: ArrayLike,
    mu_f: Array,
    s2_f: Array,
    mu_g: Array,
    s2_g: Array,
    eps: ArrayLike = 0.0,
    s2_e: ArrayLike = 1.0,
) -> Array:
    """log of the integral of N(y | mu_f, s2_f + e^g) N(g | mu_g, s2_g) dg, but for a share eps N(s2_e)."""

    def logpdf(
        y: Array, mu_f: Array, s2_f: Array, mu_g: Array, s2_g: Array, eps: Array, s2_e: Array
    ) -> Array:
        v = _component_variances(s2_f, mu_g, s2_g, s2_e, _NODES)  # (rows, ORDER + 1)
        terms = -0.5 * (_LOG_2PI + np.log(v) + _squared_over((y - mu_f)[:, None], v))
        terms[:, :-1] += _LOG_WEIGHTS
        with np.errstate(divide="ignore"):  # a share of zero
            terms[:, :-1] += np.log1p(-eps)[:, None]
            terms[:, -1] += np.log(eps)
        top = terms.max(axis=1)
        # A point so far off that every component overflows has log density -inf: nothing to rescale by.
        anchor = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return anchor + np.log(np.exp(terms - anchor[:, None]).sum(axis=1))

    return _by_rows(logpdf, y, mu_f, s2_f, mu_g, s2_g, eps, s2_e)


def mixture_cdf(
    y: ArrayLike,
    mu_f: Array,
    s2_f: Array,
    mu_g: Array,
    s2_g: Array,
    eps: ArrayLike = 0.0,
    s2_e: ArrayLike = 1.0,
) -> Array:
    """P(Y <= y) under the mixture."""

    def cdf(y: Array, mu_f: Array, s2_f: Array, mu_g: Array, s2_g: Array, eps: Array, s2_e: Array) -> Array:
        s = np.sqrt(_component_variances(s2_f, mu_g, s2_g, s2_e, _NODES))
        return _expected(ndtr(_ratio((y - mu_f)[:, None], s)), eps)

    return _by_rows(cdf, y, mu_f, s2_f, mu_g, s2_g, eps, s2_e)


def mixture_quantile(
    q: ArrayLike,
    mu_f: Array,
    s2_f: Array,
    mu_g: Array,
    s2_g: Array,
    eps: ArrayLike = 0.0,
    s2_e: ArrayLike = 1.0,
) -> Array:
    """The q-quantiles of the mixture: shape of q, then shape of mu_f; round-off accurate in |y - mu_f|."""
    levels = _checked_levels(q)
    found = [mu_f + _offset(level, s2_f, mu_g, s2_g, eps, s2_e) for level in levels.ravel()]
    return np.reshape(found, levels.shape + np.shape(mu_f))


def mixture_crps(
    y: ArrayLike,
    mu_f: Array,
    s2_f: Array,
    mu_g: Array,
    s2_g: Array,
    eps: ArrayLike = 0.0,
    s2_e: ArrayLike = 1.0,
) -> Array:
    """CRPS = E|Y - y| - E|Y - Y'|/2; the second is free of y, and all means agree, so no erf in it."""

    def crps(y: Array, mu_f: Array, s2_f: Array, mu_g: Array, s2_g: Array, eps: Array, s2_e: Array) -> Array:
        s = np.sqrt(_component_variances(s2_f, mu_g, s2_g, s2_e, _NODES))
        to_y = _expected(_mean_distance((y - mu_f)[:, None], s), eps)
        v = _component_variances(s2_f, mu_g, s2_g, s2_e, _PAIR_NODES)
        return to_y - _mean_pair_scale(v, eps) / math.sqrt(2 * math.pi)

    return _by_rows(crps, y, mu_f, s2_f, mu_g, s2_g, eps, s2_e)


def _component_variances(s2_f: Array, mu_g: Array, s2_g: Array, s2_e: Array, nodes: Array) -> Array:
    """s2_f + e^g at the nodes of each point, then s2_e: (rows, nodes + 1); positive where e^g underflows."""
    v = np.empty((len(mu_g), len(nodes) + 1))
    np.exp(mu_g[:, None] + np.sqrt(s2_g)[:, None] * nodes, out=v[:, :-1])
    v[:, :-1] += s2_f[:, None]
    v[:, -1] = s2_e
    return np.maximum(v, _TINY, out=v)


def _expected(values: Array, eps: Array) -> Array:
    """The mean of ``values`` (rows, ORDER + 1) over the components."""
    return (1.0 - eps) * (values[:, :-1] @ _WEIGHTS) + eps * values[:, -1]


def _mean_distance(d: Array, s: Array) -> Array:
    """E|Z - d| for Z ~ N(0, s^2)."""
    density = np.exp(-0.5 * (_LOG_2PI + _squared_over(d, s * s)))
    return d * (2 * ndtr(_ratio(d, s)) - 1) + 2 * s * density


def _ratio(d: Array, s: Array) -> Array:
    """d/s, where an overflow to infinity is the right answer."""
    with np.errstate(over="ignore"):
        return d / s


def _squared_over(d: Array, s2: Array) -> Array:
    """d^2/s2 by way of d/s, so that only a true overflow gives infinity."""
    with np.errstate(over="ignore"):
        return (d / np.sqrt(s2)) ** 2


def _mean_pair_scale(v: Array, eps: Array) -> Array:
    """E sqrt(v_i + v_j) over two independent draws of the component, (rows,): one axis at a time."""
    both, nodes, other = np.zeros(len(v)), v[:, :-1], v[:, -1]
    for i, weight in enumerate(_PAIR_WEIGHTS):
        later = np.sqrt(nodes[:, i : i + 1] + nodes[:, i + 1 :]) @ _PAIR_WEIGHTS[i + 1 :]
        both += weight * (weight * np.sqrt(2 * nodes[:, i]) + 2 * later)
    one = np.sqrt(nodes + other[:, None]) @ _PAIR_WEIGHTS
    return (1.0 - eps) ** 2 * both + 2.0 * eps * (1.0 - eps) * one + eps**2 * np.sqrt(2.0 * other)


def _offset(q: float, s2_f: Array, mu_g: Array, s2_g: Array, eps: ArrayLike, s2_e: ArrayLike) -> Array:
    """The q-quantile minus the mean; the mixture is symmetric, so only |2q - 1| has to be solved for."""
    if q in (0.0, 0.5, 1.0):
        return np.full(np.shape(mu_g), 0.0 if q == 0.5 else math.copysign(math.inf, q - 0.5))

    def solve(s2_f: Array, mu_g: Array, s2_g: Array, eps: Array, s2_e: Array) -> Array:
        # Without a share the last component has no say in the bracket either.
        s2_e = np.where(eps > 0.0, s2_e, s2_f + np.exp(mu_g))
        return _upper_offset(q, np.sqrt(_component_variances(s2_f, mu_g, s2_g, s2_e, _NODES)), eps)

    return math.copysign(1.0, q - 0.5) * _by_rows(solve, s2_f, mu_g, s2_g, eps, s2_e)


def _upper_offset(q: float, s: Array, eps: Array) -> Array:
    """t > 0 with P(|Y - mu| <= t) = |2q - 1|: Newton in log t on a log probability, kept in a bracket.

    In the body the log of the central probability is solved for, in the tails that of the tail probability:
    each is nearly linear in log t where it is used, and neither suffers from cancellation.
    """
    tail, body = 2 * min(q, 1 - q), abs(2 * q - 1)
    sign, target, probability = (-1.0, tail, erfc) if tail < 0.5 else (1.0, body, erf)
    log_z = math.log(abs(ndtri(q)))
    low = log_z + np.log(s.min(axis=1))  # the quantile lies between those of the extreme components
    high = log_z + np.log(s.max(axis=1))
    log_t = np.clip(log_z + 0.5 * np.log(_expected(s * s, eps)), low, high)
    for _ in range(NEWTON_STEPS):
        z = np.exp(log_t)[:, None] / s
        p = np.maximum(_expected(probability(z / math.sqrt(2.0)), eps), _TINY)
        excess = np.log(p / target)  # of the chosen probability at t
        slope = 2 * _expected(z * np.exp(-0.5 * (_LOG_2PI + _squared_over(z, np.ones(1)))), eps) / p
        too_far = sign * excess > 0
        high = np.where(too_far, log_t, high)
        low = np.where(too_far, low, log_t)
        with np.errstate(over="ignore"):  # a flat spot: the bracket decides
            step = -sign * excess / np.maximum(slope, _TINY)
        inside = (log_t + step >= low) & (log_t + step <= high)
        following = np.where(inside, log_t + step, 0.5 * (low + high))
        settled = np.abs(following - log_t) <= 1e-13
        log_t = following
        if settled.all():
            break
    return np.exp(log_t)


def _checked_levels(q: ArrayLike) -> Array:
    levels = np.asarray(q, dtype=float)
    if not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(f"quantile levels must lie in [0, 1]; got {levels}")
    return levels


def _by_rows(function: Callable[..., Array], *arguments: ArrayLike) -> Array:
    """Broadcast the arguments and apply ``function`` to ``ROWS`` flat entries at a time."""
    arrays = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in arguments))
    flat = [a.ravel() for a in arrays]
    out = np.empty(flat[0].size)
    for start in range(0, out.size, ROWS):
        rows = slice(start, start + ROWS)
        out[rows] = function(*(a[rows] for a in flat))
    return out.reshape(arrays[0].shape)
