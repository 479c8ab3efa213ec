"""LightGBM in two stages: the mean, then the log of its squared out-of-fold residuals."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hgpbench.fitting.checks import check_at_least
from hgpbench.models.base import Array
from hgpbench.models.base import Callback as Heard
from hgpbench.peers import noise
from hgpbench.peers.base import PATIENCE, Index, Peer, out_of_fold, set_apart
from hgpbench.prediction import Prediction


class LightGBM(Peer):
    """Gradient-boosted trees for the mean, and for the log noise variance.

    A tenth of the rows tells how many trees each stage takes; then all rows are used. Squared residuals are
    those of rows that the trees have not seen, as trees fit their own rows too well; the level of the noise
    is set on the rows that stopped the second stage, by maximum likelihood.

    Cost: O(n d) a tree, for some nine fits of at most ``n_estimators`` trees; O(trees) a test row.

    Parameters
    ----------
    n_estimators : int, default=3000
        Most trees of a stage; early stopping takes fewer.
    learning_rate : float, default=0.05
        Share of each tree that is added.
    num_leaves : int, default=31
        Most leaves of a tree.
    min_child_samples : int, default=20
        Fewest rows of a leaf.
    n_folds : int, default=5
        Folds by which residuals are out of sample.
    n_jobs : int, default=1
        Threads.
    random_state : int or None, default=None
        Seed of the folds and of the rows set apart.

    Attributes
    ----------
    n_trees_ : tuple of two ints
        Trees of the mean and of the log noise variance.
    noise_strength_ : float
        Share of the second stage's deviations that the log noise variance keeps.
    """

    reference = "Ke et al. (2017), LightGBM: A highly efficient gradient boosting decision tree"
    needs = ("lightgbm",)
    extra = "peers"

    def __init__(
        self,
        n_estimators: int = 3000,
        learning_rate: float = 0.05,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        n_folds: int = 5,
        n_jobs: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.n_folds = n_folds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("n_estimators", self.n_estimators, 1)
        check_at_least("learning_rate", self.learning_rate, 0.0, float)
        check_at_least("num_leaves", self.num_leaves, 2)
        check_at_least("min_child_samples", self.min_child_samples, 1)
        check_at_least("n_folds", self.n_folds, 2)
        check_at_least("n_jobs", self.n_jobs, 1)

    def _learn(self, X: Array, y: Array, callback: Heard | None) -> None:
        rng = np.random.default_rng(self.random_state)
        inputs, target = self._scaling.inputs(X), self._scaling.target(y)
        n_mean, _ = self._stopped(inputs, target, rng)
        residuals = target - out_of_fold(
            lambda A, b: self._booster(A, b, n_mean).predict, inputs, target, self.n_folds, rng
        )
        squares = noise.log_squares(residuals)
        n_noise, (predict, rows) = self._stopped(inputs, squares, rng)
        self._belief = noise.believed(residuals[rows], predict(inputs[rows]))
        self._mean = self._booster(inputs, target, n_mean)
        self._noise = self._booster(inputs, squares, n_noise)
        self.n_trees_, self.noise_strength_ = (n_mean, n_noise), self._belief.strength

    def _moments(self, X: Array) -> Prediction:
        noise_var = self._belief.variance(self._noise.predict(X))
        return Prediction.gaussian(self._mean.predict(X), np.zeros(len(X)), noise_var)

    def _stopped(
        self, X: Array, y: Array, rng: np.random.Generator
    ) -> tuple[int, tuple[Callable[[Array], Array], Index]]:
        """How many trees do best on rows set apart, the predictor that found out, and these rows."""
        import lightgbm

        train, rest = set_apart(len(y), rng)
        data = self._data(X[train], y[train])
        booster = lightgbm.train(
            self._params(),
            data,
            num_boost_round=self.n_estimators,
            valid_sets=[lightgbm.Dataset(X[rest], y[rest], reference=data)],
            callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
        )
        best = max(1, booster.best_iteration)
        return best, (lambda Z: booster.predict(Z, num_iteration=best), rest)

    def _booster(self, X: Array, y: Array, n_trees: int) -> Any:
        import lightgbm

        return lightgbm.train(self._params(), self._data(X, y), num_boost_round=n_trees)

    def _data(self, X: Array, y: Array) -> Any:
        import lightgbm

        return lightgbm.Dataset(X, y, params={"verbosity": -1}, free_raw_data=False)

    def _params(self) -> dict[str, Any]:
        return {
            "objective": "regression",
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_child_samples": self.min_child_samples,
            "num_threads": self.n_jobs,
            "seed": self.random_state or 0,
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }
