"""Fitting basis functions: where they start, and the maximisation that start and fit share.

The authors of GPz draw centres in the box of the principal axes, give each function a width by its mean
distance from the rows, and free everything at once. Here centres are k-means of the rows, and some iterations
with these held and one lengthscale per input for all functions come first. Lengths are measured in the first
width, so that a unit step is one step for centres and precisions alike. Measured on sinc2d, 200 functions of
kind VC, 100 iterations in all: the objective rises by 780 nats from the unit alone, by 940 with both. From
that width and the authors' noise quick functions are not found: the grid of all models is tried, too.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from hgpbench.columns import Array, moments
from hgpbench.fitting.checks import ensure_started
from hgpbench.fitting.collapsed import judging_rows
from hgpbench.fitting.placement import inducing_points
from hgpbench.fitting.start import N_RESTARTS, Start, Trial, Tried, grid, guess, search
from hgpbench.fitting.values import Values
from hgpbench.gp.gpz import ETA_RATE, ETA_SHAPE, BasisPosterior, BasisProblem, Kind, axis_aligned, positive
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective

STEPS = 30  # iterations with the centres held: enough for a start
WORTH = 0.1  # nats a row


@dataclass(frozen=True)
class Options:
    """What is fitted, and how long."""

    kind: Kind
    linear: bool
    heteroscedastic: bool
    max_iter: int
    n_restarts: int = N_RESTARTS


@dataclass(frozen=True, eq=False)
class BasisFit:
    """How the search ended, at which values and posterior, for inputs in the length ``unit``."""

    result: OptimResult
    values: Values
    posterior: BasisPosterior
    unit: float
    tried: tuple[Tried, ...] = ()  # first values


def fit_basis(
    X: Array, y: Array, m: int, options: Options, rng: np.random.Generator, callback: Callback | None = None
) -> BasisFit:
    """Fit ``m`` functions to scaled data; time and evaluations include the search for initial values."""
    started = time.perf_counter()
    centres = inducing_points(X, m, rng)
    unit = first_width(X, centres)
    X = X / unit
    first = first_values(X, y, centres / unit, unit, options, rng)
    prepared = time.perf_counter() - started
    problem = BasisProblem(X, y, len(centres), options.kind, linear=options.linear)
    values, result = maximise(problem, first.values, max_iter=options.max_iter, callback=callback)
    trace = result.trace + np.array([0.0, prepared, 0.0])
    result = replace(result, evaluations=result.evaluations + first.evaluations, trace=trace)
    return BasisFit(result, values, problem.posterior(values), unit, first.tried)


def first_values(
    X: Array, y: Array, P: Array, unit: float, options: Options, rng: np.random.Generator
) -> Start:
    """Values for ``BasisProblem.evidence`` with functions at ``P``; ``unit`` is the length that X is in.

    One lengthscale per input and one noise are learned with these centres, from the authors' first values
    unless others of the grid are worth a tenth of a nat a row: small gains of this evidence are no better
    predictions, as it over-fits the noise.
    """
    (m, d), kind = P.shape, options.kind
    plain: Kind = "GL" if kind[1] == "L" else "GD"
    most = judging_rows(m)
    some = np.arange(len(X)) if len(X) <= most else np.sort(rng.choice(len(X), most, replace=False))
    judge = BasisProblem(X[some], y[some], m, plain, linear=options.linear)
    theirs, *others = _trials(X, y, P, unit, plain, options)
    signless = positive(plain, list(theirs.values))
    alone = search(judge.evidence, [theirs], signless, n_restarts=1, held=("P",))
    start = search(judge.evidence, others, signless, n_restarts=options.n_restarts, held=("P",))
    better = start.tried[0].reached > alone.tried[0].reached + WORTH * len(some)
    problem = BasisProblem(X, y, m, plain, linear=options.linear)
    values, result = maximise(problem, start.values if better else theirs.values, max_iter=STEPS, held=("P",))
    slopes = np.broadcast_to(values["gamma"], (m, d))
    spent = alone.evaluations + start.evaluations + result.evaluations
    tried = (*start.tried, *alone.tried) if better else (*alone.tried, *start.tried)
    return Start(values | {"gamma": axis_aligned(kind, slopes)}, spent, tried)


def _trials(X: Array, y: Array, P: Array, unit: float, plain: Kind, options: Options) -> list[Trial]:
    """The authors' first values, and those of the grid: width of the functions times noise."""
    (m, d), variance = P.shape, float(np.var(y))
    # The authors': noise as large as the target, and weights of its size.
    alpha = np.full(m + d + 1 if options.linear else m, 1.0 / variance)
    alpha[m : m + d] /= unit**2  # slopes of the target's size per unit of the scaled inputs
    values: Values = {"P": P, "gamma": axis_aligned(plain, np.ones((m, d))), "alpha": alpha}
    values["b"] = np.asarray(-np.log(variance))
    if options.heteroscedastic:
        values |= {"v": np.zeros(m), "eta": np.full(m, (ETA_SHAPE + 0.5) / ETA_RATE)}

    def of(trial: Trial) -> Trial:
        slopes = np.broadcast_to(1.0 / trial.values["ell"], (m, d))
        changed = {"gamma": axis_aligned(plain, slopes), "b": -np.log(trial.values["sigma2"])}
        return trial._replace(values=values | changed)

    width = 1.0 / float(np.mean(guess(X, y)["ell"]))
    return [Trial(width, 1.0, values), *map(of, grid(X, y))]


def maximise(
    problem: BasisProblem,
    first: Values,
    *,
    max_iter: int,
    held: tuple[str, ...] = (),
    callback: Callback | None = None,
) -> tuple[Values, OptimResult]:
    """L-BFGS from ``first``; the ``held`` ones stay as they are."""
    layout = Layout.of(first, positive=positive(problem.kind, list(first))).only(first.keys() - set(held))
    bound = objective(problem.evidence, layout, held=first)
    result = ensure_started(lbfgs(bound, layout.pack(first), max_iter=max_iter, callback=callback))
    return first | layout.unpack(result.x), result


def first_width(X: Array, P: Array) -> float:
    """The authors' rule gamma_j^2 = 2 m^(1/d) / mean_n |x_n - p_j|^2, the mean over functions as a length."""
    m, d = P.shape
    centre, std = moments(X)
    varies = std > 0.0
    if not varies.any():
        return 1.0  # rows alike up to round-off leave no distance: any width will do
    mean_squares = float(np.sum(std**2)) + np.sum((P - centre)[:, varies] ** 2, axis=1)
    return float(1.0 / np.sqrt(2.0 * m ** (1.0 / d) / mean_squares).mean())
