"""The trivial predictor, against which the others are standardised."""

import numpy as np
from sklearn.utils import Tags

from hgpbench.columns import Array
from hgpbench.models.base import Callback, Estimator
from hgpbench.prediction import Prediction


class Mean(Estimator):
    """Training mean and variance everywhere: the trivial predictor (SMSE about 1, MSLL 0).

    Cost: O(n) once.

    Attributes
    ----------
    mean_ : float
        Mean of the training targets.
    noise_var_ : float
        Variance of the training targets, with divisor n as in the definition of the MSLL.
    """

    reference = "Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, section 2.5"

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        self.mean_, self.noise_var_ = self._scaling.y_shift, self._scaling.y_scale**2

    def _moments(self, X: Array) -> Prediction:
        return Prediction.gaussian(np.zeros(len(X)), np.zeros(len(X)), 1.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # it ignores the inputs, by design
        return tags
