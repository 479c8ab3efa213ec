"""A model of my own: anything with fit(X, y) and predict(X, return_std) will do.

It is given standardised inputs and targets; scores are in the units of the data. Parameters are those of
the constructor, so an experiment may set or sweep them; with `random_state` among them it is given each
run's seed.
For a predictive density that is not normal, return a `hgpbench.prediction.Prediction` from `predict_dist(X)`.
"""

import numpy as np


class MyModel:
    """Ridge regression on powers of each input, with constant noise."""

    def __init__(self, degree: int = 3, ridge: float = 1e-3) -> None:
        self.degree = degree
        self.ridge = ridge

    def fit(self, X: np.ndarray, y: np.ndarray) -> "MyModel":
        A = self._powers(X)
        self.weights_ = np.linalg.solve(A.T @ A + self.ridge * len(y) * np.eye(A.shape[1]), A.T @ y)
        self.std_ = float(np.std(y - A @ self.weights_))
        return self

    def predict(self, X: np.ndarray, return_std: bool = False):
        mean = self._powers(X) @ self.weights_
        return (mean, np.full(len(X), self.std_)) if return_std else mean

    def _powers(self, X: np.ndarray) -> np.ndarray:
        return np.hstack([np.ones((len(X), 1)), *(X**k for k in range(1, self.degree + 1))])
