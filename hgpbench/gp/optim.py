"""Maximisers of a bound: what they share, and L-BFGS.

An objective maps a flat vector to an ``Evaluation``: value, gradient, jitter. A value that is not finite, or
a LinAlgError, is a *rejected step*: the maximiser shortens it and goes on. Each run ends in an ``Outcome``:

converged      the tolerance is met, or round-off leaves nothing to gain
limit reached  the iterations are used up
diverged       no step in a direction of ascent improves the bound, though its gradient is not small
failed         the bound cannot be evaluated at the start
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from scipy.optimize import OptimizeResult, minimize

from hgpbench.la import Array

Outcome = Literal["converged", "limit reached", "diverged", "failed"]
Callback = Callable[[int, int | None, float], None]


class Evaluation(NamedTuple):
    """A bound at one point: its value, its gradient there, and the relative jitter that its Cholesky took."""

    value: float
    grad: Array
    jitter: float = 0.0

    @property
    def usable(self) -> bool:
        """Whether value and gradient are finite."""
        return bool(np.isfinite(self.value) and np.isfinite(self.grad).all())


Objective = Callable[[Array], Evaluation]


@dataclass(frozen=True, eq=False)
class OptimResult:
    """Where a maximiser ended, and how; ``trace`` (k, 3) holds iteration, seconds since the start, bound."""

    x: Array
    value: float
    outcome: Outcome
    iterations: int
    evaluations: int
    trace: Array
    jitter: float

    def then(self, following: "OptimResult") -> "OptimResult":
        """This run continued by another from where it ended: counts add up, the traces join."""
        start = self.trace[-1] if len(self.trace) else np.zeros(3)
        shifted = following.trace + np.array([start[0], start[1], 0.0])
        # The first row of the continuation repeats the last row of this trace.
        return replace(
            following,
            iterations=self.iterations + following.iterations,
            evaluations=self.evaluations + following.evaluations,
            trace=np.concatenate([self.trace, shifted[1:] if len(self.trace) else shifted]),
        )


def evaluate(objective: Objective, x: Array) -> Evaluation:
    """Evaluate; a failed factorisation or an overflow becomes the value -inf."""
    try:
        with np.errstate(all="ignore"):
            evaluation = objective(x)
    except LinAlgError:
        return Evaluation(-np.inf, np.zeros_like(x))
    if evaluation.usable:
        return evaluation
    return Evaluation(-np.inf, np.zeros_like(x))


class Recorder:
    """Counts evaluations and iterations of one run, keeps its trace, and tells the callback."""

    def __init__(self, objective: Objective, total: int | None, callback: Callback | None) -> None:
        self.evaluations = 0
        self.iterations = 0
        self._objective = objective
        self._total = total
        self._callback = callback
        self._rows: list[tuple[float, float, float]] = []
        self._started = time.perf_counter()

    def evaluate(self, x: Array) -> Evaluation:
        """One counted evaluation."""
        self.evaluations += 1
        return evaluate(self._objective, x)

    def start(self, value: float) -> None:
        """Note the bound before the first iteration."""
        self._rows.append((0.0, time.perf_counter() - self._started, value))

    def step(self, value: float) -> None:
        """Note one finished iteration."""
        self.iterations += 1
        self._rows.append((float(self.iterations), time.perf_counter() - self._started, value))
        if self._callback is not None:
            self._callback(self.iterations, self._total, value)

    def result(self, x: Array, evaluation: Evaluation, outcome: Outcome) -> OptimResult:
        """The run so far as a result."""
        trace = np.array(self._rows).reshape(-1, 3)
        return OptimResult(
            x.copy(), evaluation.value, outcome, self.iterations, self.evaluations, trace, evaluation.jitter
        )


def stalled(evaluation: Evaluation) -> Outcome:
    """How to call a line search without ascent: round-off at a small gradient, divergence at a large one."""
    small = np.abs(evaluation.grad).max(initial=0.0) <= 1e-4 * max(1.0, abs(evaluation.value))
    return "converged" if small else "diverged"


class _Minimand:
    """The negated objective as scipy's L-BFGS-B wants it, with the iterate from which its line search starts.

    A rejected step is shown to the line search as the parabola through that iterate whose minimum lies at a
    quarter of the step: its cubic interpolation then tries that point, where infinity would give it NaN.
    """

    def __init__(self, recorder: Recorder, x: Array, evaluation: Evaluation) -> None:
        self.x, self.evaluation = x, evaluation
        self._recorder = recorder
        self._trial = (x, evaluation)

    def __call__(self, x: Array) -> tuple[float, Array]:
        if np.array_equal(x, self.x):
            self._trial = (self.x, self.evaluation)
            return -self.evaluation.value, -self.evaluation.grad
        evaluation = self._recorder.evaluate(x)
        if not evaluation.usable:
            with np.errstate(over="ignore"):
                fall = min(abs(float(self.evaluation.grad @ (x - self.x))), 1e100)
            return -self.evaluation.value + fall, 3.0 * self.evaluation.grad
        self._trial = (x.copy(), evaluation)
        return -evaluation.value, -evaluation.grad

    def accept(self, intermediate_result: OptimizeResult) -> None:
        """scipy's callback, once an iteration: its last trial is the new iterate.

        A line search may shrink its step to nothing; scipy would call that convergence, we a breakdown.
        """
        if self._trial[0] is self.x:
            raise StopIteration
        self.x, self.evaluation = self._trial
        self._recorder.step(self.evaluation.value)


def lbfgs(
    objective: Objective,
    x0: Array,
    *,
    max_iter: int = 100,
    tolerance: float = 1e-9,
    gradient_tolerance: float = 1e-5,
    memory: int = 20,
    callback: Callback | None = None,
) -> OptimResult:
    """Maximise by L-BFGS; converged when the bound's relative gain falls under ``tolerance``."""
    recorder = Recorder(objective, max_iter, callback)
    x0 = np.array(x0, dtype=float)
    first = recorder.evaluate(x0)
    if not first.usable:
        return recorder.result(x0, first, "failed")
    recorder.start(first.value)
    minimand = _Minimand(recorder, x0, first)
    while True:
        before = recorder.iterations
        solution = minimize(
            minimand,
            minimand.x,
            jac=True,
            method="L-BFGS-B",
            callback=minimand.accept,
            options={
                "maxiter": max_iter - recorder.iterations,
                "maxfun": 20 * max_iter,
                "maxcor": memory,
                "ftol": tolerance,
                "gtol": gradient_tolerance,
            },
        )
        if solution.status in (0, 1):
            outcome: Outcome = "converged" if solution.status == 0 else "limit reached"
            break
        # The line search broke down: forget the curvature and try once more from the last iterate.
        if recorder.iterations == before:
            outcome = stalled(minimand.evaluation)
            break
        if recorder.iterations >= max_iter:
            outcome = "limit reached"
            break
    return recorder.result(minimand.x, minimand.evaluation, outcome)
