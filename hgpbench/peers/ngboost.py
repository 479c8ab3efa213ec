"""NGBoost: boosting with natural gradients of a normal's mean and log standard deviation."""

from typing import Any

import numpy as np

from hgpbench.fitting.checks import check_at_least
from hgpbench.models.base import Array, Callback
from hgpbench.peers.base import PATIENCE, Peer, boosted
from hgpbench.prediction import Prediction


class NGBoost(Peer):
    """Boosted trees for both parameters of a normal distribution, by natural gradients.

    A tenth of the rows tells how many stages to take; then all rows are used, as in the authors' experiments.

    Cost: O(n d) a tree, two trees a stage, for two fits; O(trees) a test row.

    Parameters
    ----------
    n_estimators : int, default=1000
        Most stages; early stopping takes fewer.
    learning_rate : float, default=0.05
        Share of each stage that is added.
    minibatch_frac : float, default=0.5
        Share of the rows that each stage sees.
    max_depth : int, default=4
        Depth of the trees.
    random_state : int or None, default=None
        Seed of the rows set apart and of the mini-batches.

    Attributes
    ----------
    n_trees_ : int
        Stages taken.
    """

    reference = "Duan et al. (2020), NGBoost: Natural gradient boosting for probabilistic prediction"
    needs = ("ngboost",)
    extra = "peers"

    def __init__(
        self,
        n_estimators: int = 1000,
        learning_rate: float = 0.05,
        minibatch_frac: float = 0.5,
        max_depth: int = 4,
        random_state: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.minibatch_frac = minibatch_frac
        self.max_depth = max_depth
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("n_estimators", self.n_estimators, 1)
        check_at_least("learning_rate", self.learning_rate, 0.0, float)
        check_at_least("minibatch_frac", self.minibatch_frac, 0.0, float)
        check_at_least("max_depth", self.max_depth, 1)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        def stop(probe: Any, train: tuple[Array, Array], rest: tuple[Array, Array]) -> int:
            (X_rest, y_rest), most = rest, self.n_estimators
            probe.fit(*train, X_val=X_rest, Y_val=y_rest, early_stopping_rounds=PATIENCE)
            return most if probe.best_val_loss_itr is None else int(probe.best_val_loss_itr) + 1

        inputs, target = self._scaling.inputs(X), self._scaling.target(y)
        rng = np.random.default_rng(self.random_state)
        self._boosted, self.n_trees_ = boosted(self._model, stop, inputs, target, self.n_estimators, rng)

    def _moments(self, X: Array) -> Prediction:
        found = self._boosted.pred_dist(X).params
        mean, std = np.asarray(found["loc"], dtype=float), np.asarray(found["scale"], dtype=float)
        return Prediction.gaussian(mean, np.zeros(len(X)), std**2)

    def _model(self, n_estimators: int) -> Any:
        from ngboost import NGBRegressor
        from sklearn.tree import DecisionTreeRegressor

        tree = DecisionTreeRegressor(
            criterion="squared_error",
            max_depth=self.max_depth,
            min_samples_leaf=5,
            random_state=self.random_state,
        )
        return NGBRegressor(
            Base=tree,
            n_estimators=n_estimators,
            learning_rate=self.learning_rate,
            minibatch_frac=self.minibatch_frac,
            natural_gradient=True,
            random_state=self.random_state,
            verbose=False,
        )
