"""A smaller fit to some training rows that predicts others: the judge of choices that have no bound.

The model is as it is but smaller, and some thousand rows suffice; nothing of the test rows is seen.
"""

import warnings
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from sklearn.base import clone

from hgpbench.columns import Array
from hgpbench.errors import Caution, FitError
from hgpbench.prediction import Prediction

LEFT_OUT, MOST_LEFT_OUT = 0.25, 2_000  # rows that are predicted: a share, and at most
Index = NDArray[np.intp]


class Model(Protocol):
    """What it takes to judge settings of an estimator."""

    trial_rows: ClassVar[int]

    def set_params(self, **params: object) -> Any: ...
    def predict_dist(self, X: Array) -> Prediction: ...
    def smaller(self, n: int, kept: int) -> dict[str, object]: ...


class LeftOut(NamedTuple):
    """Rows to fit to, those to predict, and all training rows, of which both are some."""

    kept: Index
    held: Index
    X: Array
    y: Array

    @classmethod
    def draw(cls, X: Array, y: Array, most: int, seed: int) -> "LeftOut":
        """At most so many of these rows, at random."""
        rows = np.random.default_rng(seed).choice(len(y), min(len(y), most), replace=False)
        left = min(max(1, round(LEFT_OUT * len(rows))), MOST_LEFT_OUT)
        return cls(np.sort(rows[left:]), np.sort(rows[:left]), X, y)

    @property
    def targets(self) -> Array:
        """Those of the rows to predict."""
        return self.y[self.held]

    def smaller(self, model: Model) -> dict[str, object]:
        """Parameters for a fit to the rows that are kept."""
        return model.smaller(len(self.y), len(self.kept))

    def predicted(self, model: Model, params: dict[str, object]) -> Prediction | None:
        """What the model with these parameters says of the rows left out; None where it cannot be fitted."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Caution)  # the fit to all rows has that to say
            try:
                fitted = clone(model).set_params(**params).fit(self.X[self.kept], self.y[self.kept])
                return fitted.predict_dist(self.X[self.held])
            except (FitError, LinAlgError, ValueError):
                return None

    def density(self, model: Model, params: dict[str, object]) -> float:
        """The mean log density of the rows left out; minus infinity where the model cannot be fitted."""
        prediction = self.predicted(model, params)
        return -np.inf if prediction is None else float(prediction.logpdf(self.targets).mean())
