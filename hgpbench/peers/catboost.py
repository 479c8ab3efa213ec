"""CatBoost with uncertainty: a normal's mean and variance, and how far parts of the ensemble disagree."""

from typing import Any

import numpy as np

from hgpbench.fitting.checks import check_at_least
from hgpbench.models.base import Array, Callback
from hgpbench.peers.base import LEAST_VARIANCE, PATIENCE, Peer, boosted
from hgpbench.prediction import Prediction


class CatBoost(Peer):
    """Oblivious trees boosted for mean and variance (``RMSEWithUncertainty``), with virtual ensembles.

    A tenth of the rows tells how many trees to take; then all rows are used. The variance of y is what the
    trees say of the noise plus the variance of the mean over truncations of the ensemble.

    Cost: O(n d) a tree, for two fits; O(trees) a test row and member of the virtual ensemble.

    Parameters
    ----------
    n_estimators : int, default=2000
        Most trees; early stopping takes fewer.
    learning_rate : float, default=0.05
        Share of each tree that is added.
    depth : int, default=6
        Depth of the trees.
    n_ensembles : int, default=10
        Members of the virtual ensemble.
    n_jobs : int, default=1
        Threads.
    random_state : int or None, default=None
        Seed of the rows set apart and of the permutations.

    Attributes
    ----------
    n_trees_ : int
        Trees taken.
    """

    reference = "Malinin, Prokhorenkova and Ustimenko (2021), Uncertainty in gradient boosting via ensembles"
    needs = ("catboost",)
    extra = "peers"

    def __init__(
        self,
        n_estimators: int = 2000,
        learning_rate: float = 0.05,
        depth: int = 6,
        n_ensembles: int = 10,
        n_jobs: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.depth = depth
        self.n_ensembles = n_ensembles
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("n_estimators", self.n_estimators, 1)
        check_at_least("learning_rate", self.learning_rate, 0.0, float)
        check_at_least("depth", self.depth, 1)
        check_at_least("n_ensembles", self.n_ensembles, 1)
        check_at_least("n_jobs", self.n_jobs, 1)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        def stop(probe: Any, train: tuple[Array, Array], rest: tuple[Array, Array]) -> int:
            probe.fit(*train, eval_set=rest, early_stopping_rounds=PATIENCE)
            return max(1, int(probe.tree_count_))

        inputs, target = self._scaling.inputs(X), self._scaling.target(y)
        rng = np.random.default_rng(self.random_state)
        self._boosted, self.n_trees_ = boosted(self._model, stop, inputs, target, self.n_estimators, rng)

    def _moments(self, X: Array) -> Prediction:
        members = min(self.n_ensembles, self.n_trees_ // 2)  # truncations beyond the first half
        if members < 2:
            mean, var = np.asarray(self._boosted.predict(X), dtype=float).T
            return Prediction.gaussian(mean, np.zeros(len(X)), np.maximum(var, LEAST_VARIANCE))
        mean, knowledge, data = np.asarray(
            self._boosted.virtual_ensembles_predict(
                X,
                prediction_type="TotalUncertainty",
                virtual_ensembles_count=members,
                thread_count=self.n_jobs,
            ),
            dtype=float,
        ).T
        return Prediction.gaussian(mean, np.maximum(knowledge, 0.0), np.maximum(data, LEAST_VARIANCE))

    def _model(self, n_estimators: int) -> Any:
        from catboost import CatBoostRegressor

        return CatBoostRegressor(
            loss_function="RMSEWithUncertainty",
            posterior_sampling=True,
            iterations=n_estimators,
            learning_rate=self.learning_rate,
            depth=self.depth,
            thread_count=self.n_jobs,
            random_seed=self.random_state or 0,
            allow_writing_files=False,
            verbose=False,
        )
