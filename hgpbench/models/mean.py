"""The trivial predictor, against which the others are standardised."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from hgpbench.models.base import Callback, Estimator, scaling_of
from hgpbench.prediction import Prediction


class Mean(Estimator):
    """Training mean and variance everywhere: the trivial predictor (SMSE about 1, MSLL 0).

    Attributes
    ----------
    mean_ : float
        Mean of the training targets.
    noise_var_ : float
        Variance of the training targets, with divisor n as in the definition of the MSLL.
    """

    reference = "Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, section 2.5"

    def fit(self, X: ArrayLike, y: ArrayLike, *, callback: Callback | None = None) -> Self:
        """Take the two moments of ``y``; the inputs are only checked."""
        scaling = scaling_of(*self._validated(X, y), standardize=True)
        self.mean_, self.noise_var_ = scaling.y_shift, scaling.y_scale**2
        return self

    def predict_dist(self, X: ArrayLike) -> Prediction:
        """The same normal distribution at every row of ``X``."""
        check_is_fitted(self)
        n = len(validate_data(self, X, dtype=np.float64, reset=False))
        return Prediction.gaussian(np.full(n, self.mean_), np.zeros(n), self.noise_var_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # it ignores the inputs, by design
        return tags
