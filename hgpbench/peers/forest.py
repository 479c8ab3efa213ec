"""A random forest whose leaves tell a mean and a variance: the moments of a quantile regression forest."""

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from hgpbench.fitting.checks import check_at_least
from hgpbench.models.base import Array, Callback
from hgpbench.peers.base import LEAST_VARIANCE, Peer
from hgpbench.prediction import Prediction


class Forest(Peer):
    """A random forest; the predictive is a normal with the moments of its conditional distribution.

    The conditional distribution is that of Meinshausen's quantile regression forest: training targets,
    weighted by how often they share a leaf with the row. Its variance is the mean variance in a leaf, which
    counts as noise, plus the variance of the trees' means.

    Cost: O(trees d n log n) a fit; O(trees depth) a test row.

    Parameters
    ----------
    n_estimators : int, default=300
        Trees.
    min_samples_leaf : int, default=10
        Fewest rows of a leaf; each leaf tells a variance.
    max_features : float, default=0.5
        Share of the inputs that a split may look at.
    n_jobs : int, default=1
        Threads.
    random_state : int or None, default=None
        Seed of the bootstrap samples and of the inputs looked at.
    """

    reference = "Meinshausen (2006), Quantile regression forests"

    def __init__(
        self,
        n_estimators: int = 300,
        min_samples_leaf: int = 10,
        max_features: float = 0.5,
        n_jobs: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("n_estimators", self.n_estimators, 1)
        check_at_least("min_samples_leaf", self.min_samples_leaf, 1)
        check_at_least("max_features", self.max_features, 0.0, float)
        check_at_least("n_jobs", self.n_jobs, 1)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        self._forest = RandomForestRegressor(
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).fit(self._scaling.inputs(X), self._scaling.target(y))

    def _moments(self, X: Array) -> Prediction:
        mean, square, within = np.zeros(len(X)), np.zeros(len(X)), np.zeros(len(X))
        for tree in self._forest.estimators_:
            leaves = tree.apply(X)
            value = tree.tree_.value[leaves, 0, 0]
            mean += value
            square += value**2
            within += tree.tree_.impurity[leaves]  # of squared error: the variance in the leaf
        k = len(self._forest.estimators_)
        between = np.maximum(square / k - (mean / k) ** 2, 0.0)
        return Prediction.gaussian(mean / k, between, np.maximum(within / k, LEAST_VARIANCE))
