"""The mean of f that a GP is a deviation from: zero as in the paper, or linear.

A linear mean is fitted by ridge regression on the training rows before the GP, which then models what is
left. With thousands of rows its own uncertainty is negligible beside the GP's, and is neglected.
"""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from hgpbench.columns import chunks
from hgpbench.models.base import Array
from hgpbench.models.ridge import Ridge
from hgpbench.models.scaling import Scaling
from hgpbench.prediction import Prediction

MeanKind = Literal["zero", "linear"]
MEAN_KINDS: tuple[MeanKind, ...] = get_args(MeanKind)


@dataclass(frozen=True, eq=False)
class MeanFunction:
    """A mean of scaled targets at scaled inputs; zero without a ``ridge``."""

    ridge: Ridge | None = None

    @classmethod
    def fit(cls, kind: MeanKind, X: Array, target: Array, scaling: Scaling) -> "MeanFunction":
        """The mean of this kind for training rows ``X`` in the user's units and scaled targets."""
        return cls(Ridge.fit(X, target, scaling) if kind == "linear" else None)

    def __call__(self, X: Array) -> Array:
        """The mean at scaled inputs (n, d)."""
        mean = np.zeros(len(X))
        if self.ridge is not None:
            for rows in chunks(len(X)):
                mean[rows] = self.ridge.mean(X[rows])
        return mean

    def add_to(self, prediction: Prediction, X: Array) -> Prediction:
        """The prediction of the target from that of its deviation, at scaled inputs."""
        mean = self(X)
        f_mean = None if prediction.f_mean is None else prediction.f_mean + mean
        return replace(prediction, mean=prediction.mean + mean, f_mean=f_mean)
