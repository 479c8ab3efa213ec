"""Adam (Kingma and Ba, 2015): the update, for bounds estimated on mini-batches, and a whole run of it."""

from dataclasses import dataclass, field

import numpy as np

from hgpbench.gp.optim import Callback, Evaluation, Objective, OptimResult, Outcome, Recorder
from hgpbench.la import Array


@dataclass(eq=False)
class Adam:
    """The moving averages of the gradient; ``step`` turns a gradient into a change of x that ascends."""

    rate: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    steps: int = field(default=0, init=False)
    mean: Array = field(default_factory=lambda: np.zeros(0), init=False, repr=False)
    square: Array = field(default_factory=lambda: np.zeros(0), init=False, repr=False)

    def step(self, grad: Array) -> Array:
        """The change of x for the gradient at x."""
        if self.steps == 0:
            self.mean, self.square = np.zeros_like(grad), np.zeros_like(grad)
        self.steps += 1
        self.mean = self.beta1 * self.mean + (1.0 - self.beta1) * grad
        self.square = self.beta2 * self.square + (1.0 - self.beta2) * grad**2
        mean = self.mean / (1.0 - self.beta1**self.steps)
        square = self.square / (1.0 - self.beta2**self.steps)
        return self.rate * mean / (np.sqrt(square) + self.epsilon)


def adam(
    objective: Objective,
    x0: Array,
    *,
    steps: int = 1000,
    rate: float = 0.01,
    max_rejections: int = 20,
    callback: Callback | None = None,
) -> OptimResult:
    """Maximise by ``steps`` steps of Adam; the last point is the result.

    A point that cannot be evaluated is taken back and the rate halved; after ``max_rejections`` of them the
    run has diverged.
    """
    recorder = Recorder(objective, steps, callback)
    x = np.array(x0, dtype=float)
    here = recorder.evaluate(x)
    if not here.usable:
        return recorder.result(x, here, "failed")
    recorder.start(here.value)
    update, rejections = Adam(rate), 0
    while recorder.iterations < steps:
        trial = x + update.step(here.grad)
        there: Evaluation = recorder.evaluate(trial)
        if there.usable:
            x, here = trial, there
        else:
            update.rate *= 0.5
            rejections += 1
        recorder.step(here.value)
        if rejections > max_rejections:
            return recorder.result(x, here, "diverged")
    outcome: Outcome = "limit reached"
    return recorder.result(x, here, outcome)
