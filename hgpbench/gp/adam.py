"""Adam (Kingma and Ba, 2015), for bounds that are estimated on mini-batches."""

from dataclasses import dataclass, field

import numpy as np

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
