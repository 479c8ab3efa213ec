"""Where a fit starts: one grid of first values for all models, each judged by the model's own bound.

A bound of a GP has many local optima, and which of them a search finds is decided by the lengthscales and the
noise that it starts from. So the grid reaches from the distance between neighbouring rows to several times
the spread of all, over four decades of noise. All of it is evaluated once, on a sample of the rows where they
are many; from the best few, at different lengthscales, some iterations of L-BFGS follow; the best of these
goes on. The paper's recipe starts from the values that its authors' release has instead.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from hgpbench.columns import Array, divisors
from hgpbench.fitting.values import Values
from hgpbench.gp.optim import evaluate, lbfgs
from hgpbench.gp.params import Bound, Layout, objective
from hgpbench.gp.scatter import VAR_LOG_CHI2

Index = NDArray[np.intp]

FLOOR = 1e-6  # of the variance of y, under squared residuals: a zero has no logarithm
LAM = 0.5  # the fixed point of lambda where the noise is as large as the residuals

N_RESTARTS = 3  # by default
CLIMB = 10  # iterations from each of the best starts
NOISES = (0.3, 0.03, 0.003, 0.0003)  # noise variances of the grid, as shares of the variance of y
LONGEST = 8.0  # lengthscale of the grid, in terms of ``guess`` ...
RATIO, MOST_LENGTHS = 2.0, 10  # ... and the step down from it, larger where it would take more of them
PROBED_ROWS, SEARCHED_ROWS = 200, 20_000  # whose neighbours are looked for, and among which
SAMPLE = 1_000  # rows that judge the starts of a GP on all rows, which is cubic in them
NEIGHBOURHOOD = 50  # of these lie next to each other


class Trial(NamedTuple):
    """First values: their lengthscale in terms of ``guess``, and noise as a share of the variance of y."""

    lengthscale: float
    noise: float
    values: Values


@dataclass(frozen=True)
class Tried:
    """What became of a trial: its bound, and the one that some iterations from there reached, if any were."""

    lengthscale: float
    noise: float
    bound: float
    climbed: float | None = None

    @property
    def reached(self) -> float:
        """The best bound seen."""
        return self.bound if self.climbed is None else max(self.bound, self.climbed)


class Start(NamedTuple):
    """Initial values of a bound, the evaluations that they took, and all that were tried, the best first."""

    values: Values
    evaluations: int
    tried: tuple[Tried, ...] = ()


def told(tried: Iterable[Tried]) -> list[dict[str, float | None]]:
    """The trials as a record keeps them."""
    return [asdict(one) for one in tried]


def as_table(tried: Sequence[Tried]) -> Array:
    """The trials as rows of numbers, for a checkpoint."""
    rows = [(one.lengthscale, one.noise, one.bound, one.climbed) for one in tried]
    return np.array(rows, dtype=float).reshape(-1, 4)


def of_table(rows: Array) -> tuple[Tried, ...]:
    """The trials whose table this is."""
    return tuple(
        Tried(length, noise, bound, None if np.isnan(climbed) else climbed)
        for length, noise, bound, climbed in rows.tolist()
    )


def guess(X: Array, y: Array) -> Values:
    """Signal variance ``s2_k``, lengthscales ``ell`` (d,) and noise variance ``sigma2`` of middling size.

    The signal gets the variance of ``y``, the noise a quarter of it. Squared distances of standardised inputs
    grow like their number d, so lengthscales start at sqrt(d)/2 standard deviations: at the authors' 0.5 for
    d = 1, and not so short for many inputs that the kernel matrix is diagonal and its gradient vanishes.
    """
    variance = float(np.var(y))
    ell = 0.5 * np.sqrt(X.shape[1]) * spread(X)
    return {"s2_k": np.asarray(variance), "ell": ell, "sigma2": np.asarray(0.25 * variance)}


def grid(X: Array, y: Array) -> list[Trial]:
    """Lengthscales from the distance of neighbouring rows to beyond the spread of all, times noise levels."""
    first = guess(X, y)
    return [
        Trial(
            stretch,
            share,
            first | {"ell": stretch * first["ell"], "sigma2": np.asarray(share * first["s2_k"])},
        )
        for stretch, share in product(lengthscales(X), NOISES)
    ]


def noise_grid(X: Array, scatter: float = VAR_LOG_CHI2) -> list[Trial]:
    """The same for a GP on centred log squared residuals, which scatter about it by this variance."""
    first = guess(X, np.ones(1)) | {"s2_k": np.asarray(1.0), "sigma2": np.asarray(scatter)}
    return [Trial(stretch, scatter, first | {"ell": stretch * first["ell"]}) for stretch in lengthscales(X)]


def lengthscales(X: Array) -> list[float]:
    """Those of the grid, in terms of ``guess``, longest first."""
    shortest = min(spacing(X) / (0.5 * np.sqrt(X.shape[1])), 0.5)
    steps = int(np.ceil(np.log(LONGEST / shortest) / np.log(RATIO)))
    steps = min(steps, MOST_LENGTHS - 1)
    ratio = max(RATIO, (LONGEST / shortest) ** (1.0 / steps))
    return [float(LONGEST / ratio**step) for step in range(steps + 1)]


def spacing(X: Array) -> float:
    """The median distance of a row from its nearest other one, in standard deviations of each input.

    The rows that are asked are spread evenly over all of them, sorted: their order does not matter.
    """
    distinct = _distinct(X)
    if len(distinct) < 2:
        return 1.0
    searched = X[distinct[_evenly(len(distinct), SEARCHED_ROWS)]] / spread(X)
    probed = searched[_evenly(len(searched), PROBED_ROWS)]
    distances = NearestNeighbors(n_neighbors=2).fit(searched).kneighbors(probed)[0][:, 1]
    return float(np.median(distances))


def _distinct(X: Array) -> Index:
    """One of each rows that agree, by number, sorted by the first column, then the next: no copy of all."""
    order = np.lexsort(X.T[::-1])
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for column in X.T:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return order[new]


def search(
    bound: Callable[[Values], Bound],
    trials: Sequence[Trial],
    positive: Iterable[str],
    *,
    n_restarts: int = N_RESTARTS,
    held: Collection[str] = (),
) -> Start:
    """The best of ``trials`` by this bound after some iterations, the ``held`` parameters as they are."""
    values = trials[0].values
    layout = Layout.of(values, positive=positive).only(values.keys() - set(held))

    def judge(trial: Trial) -> Tried:
        function = objective(bound, layout, held=trial.values)
        value = evaluate(function, layout.pack(trial.values)).value
        return Tried(trial.lengthscale, trial.noise, value)

    def climb(trial: Trial) -> Climbed:
        function = objective(bound, layout, held=trial.values)
        run = lbfgs(function, layout.pack(trial.values), max_iter=CLIMB)
        return Climbed(trial.values | layout.unpack(run.x), run.value, run.evaluations)

    return contest(trials, judge, climb, n_restarts)


class Climbed(NamedTuple):
    """Where some iterations from a trial led."""

    values: Values
    bound: float
    evaluations: int


def contest(
    trials: Sequence[Trial],
    judge: Callable[[Trial], Tried],
    climb: Callable[[Trial], Climbed],
    n_restarts: int,
) -> Start:
    """Judge all trials, climb from the best ones, each at another lengthscale, and take the best of all."""
    tried = [judge(trial) for trial in trials]
    evaluations = len(trials)
    order = sorted(range(len(trials)), key=lambda place: -_rank(tried[place].bound))
    best = trials[order[0]].values
    reached = tried[order[0]].bound
    for place in _at_other_lengthscales(order, trials)[:n_restarts]:
        values, value, spent = climb(trials[place])
        evaluations += spent
        tried[place] = replace(tried[place], climbed=float(value))
        if _rank(value) > _rank(reached):
            best, reached = values, value
    return Start(best, evaluations, tuple(sorted(tried, key=lambda one: -_rank(one.reached))))


def _rank(bound: float) -> float:
    return bound if np.isfinite(bound) else -np.inf


def _at_other_lengthscales(order: Sequence[int], trials: Sequence[Trial]) -> list[int]:
    """The best of each lengthscale, in order: noise is soon learned, another optimum seldom found."""
    firsts: dict[float, int] = {}
    for place in order:
        firsts.setdefault(trials[place].lengthscale, place)
    return list(firsts.values())


def neighbourhoods(X: Array, most: int, rng: np.random.Generator) -> Index:
    """At most ``most`` rows by number: all, or those next to some drawn at random.

    Rows drawn one by one lie far apart, and would not tell of lengthscales as short as their neighbours are
    near; these show both the short and the long ones.
    """
    if len(X) <= most:
        return np.arange(len(X))
    rows = X / spread(X)
    chosen: set[int] = set()
    for centre in rng.permutation(len(X)):
        distances = np.square(rows - rows[centre]).sum(axis=1)
        chosen.update(np.argpartition(distances, NEIGHBOURHOOD)[:NEIGHBOURHOOD].tolist())
        if len(chosen) >= most:
            break
    return np.array(sorted(chosen))[:most]


def spread(X: Array) -> Array:
    """Standard deviation per column; one where the column is constant up to round-off."""
    return divisors(X)


def _evenly(n: int, most: int) -> Index:
    """At most ``most`` of ``n`` places, the same distance apart."""
    return np.linspace(0, n - 1, min(n, most)).astype(int)
