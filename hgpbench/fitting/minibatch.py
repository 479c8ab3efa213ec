"""What SVGP and SVSHGP share: the ascent by mini-batches from first values to posteriors, with its record."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np

from hgpbench.columns import Array
from hgpbench.fitting.batches import Batches, Inputs
from hgpbench.fitting.checkpoint import Arrays, Checkpoint, open_checkpoint
from hgpbench.fitting.checks import check_at_least, check_choice, check_jobs, ensure_started
from hgpbench.fitting.placement import FEWEST_ROWS, ROWS_PER_POINT, inducing_points
from hgpbench.fitting.start import Start, Tried, as_table, of_table
from hgpbench.fitting.threads import runner
from hgpbench.fitting.values import Values
from hgpbench.gp.factorised import Workspace
from hgpbench.gp.kernels import Families
from hgpbench.gp.optim import Callback, OptimResult, Outcome
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.stochastic import Ascent, Diverged, Method, Schedule
from hgpbench.gp.tasks import Run, serially
from hgpbench.prediction import Prediction
from hgpbench.scaling import Scaling

Precision = Literal["double", "mixed"]
FIRST_ROWS = 5_000  # of the sample that gives first values, whatever n
FIRST_POINTS = 200  # inducing points of the models fitted to it
FEW_STEPS = 300  # that tell kernels apart
SHARE_OF_BOUND = 0.1  # of the steps: as many batches at most give the final bound
SCORED_ROWS = 2_000  # held-out rows that a score uses
SCORES = 50  # of them in a fit
HASHED_ROWS = 65_536  # of inputs in a file, to tell whether a checkpoint belongs to them
TRACES = ("trace", "scores")  # names in a checkpoint
SMOOTHED = 50  # steps, at least a pass, over which bounds are averaged before they are compared


class Options(Protocol):
    """The parameters that the estimators share."""

    batch_size: int
    max_iter: int
    optimizer: Method
    step_size: float
    learning_rate: float
    cooling: float
    precision: Precision
    tol: float
    holdout: float
    n_restarts: int
    n_jobs: int | None
    random_state: int | None

    def get_params(self) -> dict[str, Any]: ...


def check_options(options: Options) -> None:
    """ValueError on a parameter out of range."""
    for name in ("batch_size", "max_iter"):
        check_at_least(name, getattr(options, name), 1)
    check_at_least("n_restarts", options.n_restarts, 0)
    for name in ("step_size", "learning_rate", "cooling", "tol", "holdout"):
        check_at_least(name, getattr(options, name), 0.0, float)
    for name, most in {"step_size": 1.0, "cooling": 1.0, "holdout": 0.5}.items():
        if getattr(options, name) > most:
            raise ValueError(f"{name}={getattr(options, name)!r} is not allowed: it must be at most {most:g}")
    check_choice("optimizer", options.optimizer, get_args(Method))
    check_choice("precision", options.precision, get_args(Precision))
    check_jobs(options.n_jobs)


def place(batches: Batches, m: int, rng: np.random.Generator) -> Array:
    """First inducing points, scaled, from as many rows as k-means looks at."""
    X, _ = batches.sample(max(FEWEST_ROWS, ROWS_PER_POINT * m), rng)
    return inducing_points(X, m, rng)


@dataclass(frozen=True, eq=False)
class StochasticFit:
    """How the ascent ended, at which parameters (scaled), the posteriors there, and held-out scores."""

    result: OptimResult
    values: Values
    posteriors: dict[str, Posterior]
    scores: Array
    n: int  # rows trained on
    resumed_seconds: float  # that earlier attempts had spent
    tried: tuple[Tried, ...] = ()  # first values

    def prediction(self, X: Array, n_jobs: int | None) -> Prediction:
        """The predictive distribution at scaled inputs, for the scaled target."""
        with runner(n_jobs) as run:
            return predict(self.values, self.posteriors, X, run)


def predict(values: Values, posteriors: dict[str, Posterior], X: Array, run: Run = serially) -> Prediction:
    """A mixture where the noise is a process, a normal where it is constant."""
    moments = posteriors["f"].moments(X, run=run)
    if "g" in posteriors:
        return Prediction.mixture(*moments, *posteriors["g"].moments(X, run=run))
    return Prediction.gaussian(*moments, float(values["sigma2"]))


def fit_by_batches(
    options: Options,
    X: Inputs,
    y: Array,
    scaling: Scaling,
    find_first: Callable[[Batches, np.random.Generator, Run], Start],
    reporter: Callable[[int], Callback | None],
    path: Path | None,
    families: Families,
) -> StochasticFit:
    """Ascend from first values, or from where a checkpoint left off; the data are in the user's units.

    ``reporter`` makes a callback that hears the bound of so many rows.
    """
    rng = np.random.default_rng(options.random_state)
    seed = int(rng.integers(2**63))
    batches = Batches(X, y, scaling, options.batch_size, seed, holdout=options.holdout)
    checkpoint = _checkpoint(options, X, y, path)
    stored = checkpoint.stored
    with runner(options.n_jobs) as run:
        start = find_first(batches, rng, run) if stored is None else _first_of(stored)
        first, spent, tried = start
        ascent = _ascent(options, first, batches, run, families)
        record = _Record(ascent, batches, options.tol, reporter(batches.n), checkpoint)
        if stored is not None:
            record.restore(stored)
        outcome = record.climb(lambda: _first_arrays(start))
        result = ensure_started(record.result(outcome, spent))
        scores = np.array(record.scores).reshape(-1, 3)
        return StochasticFit(
            result, ascent.values, ascent.posteriors(), scores, batches.n, checkpoint.seconds, tried
        )


def _checkpoint(options: Options, X: Inputs, y: Array, path: Path | None) -> Checkpoint:
    if path is None:  # nothing to read from a file of inputs
        return open_checkpoint(None, {})
    part = X if isinstance(X, np.ndarray) else X[slice(0, HASHED_ROWS)]
    return open_checkpoint(path, options.get_params(), part, y)


def _ascent(options: Options, first: Values, batches: Batches, run: Run, families: Families) -> Ascent:
    schedule = Schedule(
        options.max_iter, options.optimizer, options.step_size, options.learning_rate, options.cooling
    )
    m, u = len(first["Xm"]), len(first["Xu"]) if "Xu" in first else 0
    single = options.precision == "mixed"
    memory = Workspace(batches.largest, m, u, single=single, run=run, families=families)
    return Ascent(first, batches.n, schedule, memory)


def _first_arrays(start: Start) -> Arrays:
    values = {f"first.{name}": value for name, value in start.values.items()}
    return values | {"spent": np.asarray(start.evaluations), "tried": as_table(start.tried)}


def _first_of(stored: Arrays) -> Start:
    values = {
        name.removeprefix("first."): array for name, array in stored.items() if name.startswith("first.")
    }
    return Start(values, int(stored["spent"]), of_table(stored["tried"]))


class _Record:
    """An ascent under way: bounds and held-out scores with their times.

    The bound of a state is estimated from the batch that the next step takes; after the last step there is
    none, and more batches give it precisely.
    """

    def __init__(
        self,
        ascent: Ascent,
        batches: Batches,
        tol: float,
        callback: Callback | None,
        checkpoint: Checkpoint,
    ) -> None:
        self._ascent, self._batches, self._tol = ascent, batches, tol
        self._callback, self._checkpoint = callback, checkpoint
        self._total = ascent.schedule.steps
        self._started = time.perf_counter() - checkpoint.seconds
        self.rows: list[tuple[float, float, float]] = []
        self.scores: list[tuple[float, float, float]] = []
        self._held = batches.held_out(SCORED_ROWS)

    def climb(self, constant: Callable[[], Arrays]) -> Outcome:
        """All steps, or fewer where the bound stands still; ``constant`` goes into checkpoints too."""
        outcome: Outcome = "limit reached"
        # Asked before each step, not after it: a fit that goes on from a stored state ends where it should.
        while self._ascent.steps < self._total:
            if self._stands_still():
                outcome = "converged"
                break
            step = self._ascent.steps
            try:
                bound = self._ascent.step(*self._batches.batch(step))
            except Diverged:
                outcome = "diverged" if step else "failed"
                break
            self._note(step, bound)
            self._checkpoint.offer(lambda: constant() | self._arrays())
        if outcome != "failed":
            batches = max(1, round(SHARE_OF_BOUND * self._total))
            self._note(self._ascent.steps, self._ascent.bound(self._batches.some(batches)))
        return outcome

    def restore(self, stored: Arrays) -> None:
        """Go on where the fit of a checkpoint stood."""
        self._ascent.restore(stored)
        self.rows, self.scores = ([(r[0], r[1], r[2]) for r in stored[name].tolist()] for name in TRACES)

    def _arrays(self) -> Arrays:
        traces = zip(TRACES, (self.rows, self.scores), strict=True)
        return self._ascent.arrays() | {name: np.array(rows).reshape(-1, 3) for name, rows in traces}

    def result(self, outcome: Outcome, spent: int) -> OptimResult:
        """The run as a result; its evaluations count batches, and those that first values took."""
        trace = np.array(self.rows).reshape(-1, 3)
        value = float(trace[-1, 2]) if len(trace) else -np.inf
        ascent = self._ascent
        evaluations = spent + len(trace)
        return OptimResult(ascent.point.x, value, outcome, ascent.steps, evaluations, trace, ascent.jitter)

    def _note(self, step: int, bound: float) -> None:
        """The bound of the state after ``step`` steps, and now and then its score."""
        self.rows.append((float(step), time.perf_counter() - self._started, bound))
        if step and self._callback is not None:
            self._callback(step, self._total, bound)
        X, y = self._held
        if len(y) and (step % max(1, self._total // SCORES) == 0 or step == self._ascent.steps):
            density = predict(self._ascent.values, self._ascent.posteriors(), X).logpdf(y)
            self.scores.append((float(step), time.perf_counter() - self._started, float(density.mean())))

    def _stands_still(self) -> bool:
        """Whether the bound, averaged over a pass, gained no more than a share ``tol`` of itself."""
        width = max(SMOOTHED, self._batches.per_pass)
        if not self._tol or len(self.rows) < 2 * width or len(self.rows) % width:
            return False
        bounds = np.array([bound for _, _, bound in self.rows[-2 * width :]])
        earlier, later = bounds[:width].mean(), bounds[width:].mean()
        return bool(later - earlier <= self._tol * abs(later))
