"""Conjugate gradients counted in line searches, as the paper counts them.

Polak-Ribiere directions; a line search ends at a point that satisfies the strong Wolfe conditions, or at the
best point that its evaluations found. A value that is not finite only shortens the step.
"""

from dataclasses import dataclass

import numpy as np

from hgpbench.gp.optim import Callback, Evaluation, Objective, OptimResult, Outcome, Recorder, stalled
from hgpbench.la import Array

ASCENT = 0.05  # share of the first slope that the gain must keep (Wolfe's first condition)
FLATNESS = 0.1  # share of the first slope that may be left (Wolfe's second condition)
STRETCH = 3.0  # longest extrapolation, as a multiple of the step so far
MARGIN = 0.1  # how near an interpolation may come to the ends of its bracket


@dataclass(frozen=True, eq=False)
class _Trial:
    """A point on the search line: its step, evaluation and slope along the line."""

    step: float
    evaluation: Evaluation
    slope: float

    @property
    def value(self) -> float:
        return self.evaluation.value


def conjugate_gradients(
    objective: Objective,
    x0: Array,
    *,
    line_searches: int = 100,
    max_evaluations: int = 20,
    tolerance: float = 0.0,
    callback: Callback | None = None,
) -> OptimResult:
    """Maximise by ``line_searches`` searches of at most ``max_evaluations`` each.

    Converged when a search gains less than ``tolerance`` relative to the bound, or no search gains anything.
    """
    recorder = Recorder(objective, line_searches, callback)
    x = np.array(x0, dtype=float)
    here = recorder.evaluate(x)
    if not here.usable:
        return recorder.result(x, here, "failed")
    recorder.start(here.value)
    direction, fresh = here.grad, True
    step = 1.0 / (1.0 + float(direction @ direction))
    outcome: Outcome = "limit reached"
    while recorder.iterations < line_searches:
        slope = float(here.grad @ direction)
        if slope <= 0.0:
            direction, fresh = here.grad, True
            slope = float(direction @ direction)
        if slope == 0.0:
            outcome = "converged"
            break
        best = _search(recorder, x, direction, _Trial(0.0, here, slope), step, max_evaluations)
        recorder.step(best.value)
        if best.step == 0.0:
            if fresh:
                outcome = stalled(here)
                break
            direction, fresh = here.grad, True
            step = 1.0 / (1.0 + float(direction @ direction))
            continue
        gain = best.value - here.value
        x = x + best.step * direction
        before, here = here, best.evaluation
        if gain <= tolerance * max(1.0, abs(here.value)):
            outcome = "converged"
            break
        change = float(here.grad @ (here.grad - before.grad)) / float(before.grad @ before.grad)
        direction, fresh = here.grad + change * direction, False
        # The next search starts where the same gain would be had at the new slope.
        step = best.step * min(10.0, slope / max(float(here.grad @ direction), 1e-300))
    return recorder.result(x, here, outcome)


def _search(
    recorder: Recorder, x: Array, direction: Array, start: _Trial, step: float, max_evaluations: int
) -> _Trial:
    """A Wolfe point along the line, or the best one found: ``start`` itself when nothing is better.

    ``low`` is the best point so far, ``high`` the other end of a bracket round the maximum; until there is
    one, ``behind`` is the point before ``low`` and ``wall`` the shortest step that could not be evaluated.
    """
    low = behind = start
    high: _Trial | None = None
    wall = np.inf
    for _ in range(max_evaluations):
        evaluation = recorder.evaluate(x + step * direction)
        trial = _Trial(step, evaluation, float(evaluation.grad @ direction))
        if not evaluation.usable:
            wall = step
        elif trial.value < start.value + ASCENT * step * start.slope or trial.value <= low.value:
            high = trial
        elif abs(trial.slope) <= FLATNESS * start.slope:
            return trial
        else:
            # Keep the maximum between: the slope at ``low`` always points to ``high``.
            if trial.slope * (trial.step - low.step) < 0.0:
                high = low
            low, behind = trial, low
        if high is not None:
            step = _between(low, high)
        elif wall < np.inf:
            step = low.step + 0.25 * (wall - low.step)
        else:
            step = _beyond(behind, low)
        if step == low.step or (high is not None and step == high.step):
            break  # no number lies between the ends of the bracket
    return low


def _beyond(behind: _Trial, low: _Trial) -> float:
    """Extrapolate the slope's zero from two points of ascent, within bounds."""
    longest = STRETCH * low.step
    bend = behind.slope - low.slope
    if bend <= 0.0:
        return longest
    step = low.step + low.slope * (low.step - behind.step) / bend
    return float(np.clip(step, low.step + MARGIN * (low.step - behind.step), longest))


def _between(low: _Trial, high: _Trial) -> float:
    """The maximum of the cubic through values and slopes at both ends, kept away from them."""
    width = high.step - low.step
    bend = low.slope + high.slope - 3.0 * (high.value - low.value) / width
    root = np.copysign(np.sqrt(max(bend * bend - low.slope * high.slope, 0.0)), width)
    denominator = low.slope - high.slope + 2.0 * root
    share = 1.0 - (root + bend - high.slope) / denominator if denominator != 0.0 else 0.5
    return float(low.step + np.clip(share, MARGIN, 1.0 - MARGIN) * width)
