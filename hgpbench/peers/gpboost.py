"""GPBoost's Gaussian process with Vecchia's approximation."""

from typing import Any

import numpy as np

from hgpbench.fitting.checks import check_at_least
from hgpbench.models.base import Array, Callback
from hgpbench.peers.base import LEAST_VARIANCE, Peer
from hgpbench.prediction import Prediction


class GPBoost(Peer):
    """A GP with constant noise, each row given its nearest neighbours among those before it.

    Matern kernel with a lengthscale for each input, by maximum likelihood of Vecchia's approximation.

    Cost: O(n k^3) an evaluation with k neighbours; O(k^3) a test row, and the search for its neighbours.

    Parameters
    ----------
    n_neighbors : int, default=20
        Neighbours k of a row in the likelihood; predictions use twice as many.
    nu : float, default=1.5
        Smoothness of the Matern kernel.
    n_jobs : int, default=1
        Threads.
    random_state : int or None, default=None
        Seed of the order of the rows.

    Attributes
    ----------
    noise_share_ : float
        Noise variance, of a target of unit variance.
    """

    reference = "Sigrist (2022), Gaussian process boosting"
    needs = ("gpboost",)
    extra = "peers"

    def __init__(
        self,
        n_neighbors: int = 20,
        nu: float = 1.5,
        n_jobs: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.nu = nu
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("n_neighbors", self.n_neighbors, 1)
        check_at_least("nu", self.nu, 0.0, float)
        check_at_least("n_jobs", self.n_jobs, 1)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        import gpboost

        model = gpboost.GPModel(
            gp_coords=self._scaling.inputs(X),
            cov_function="matern_ard",
            cov_fct_shape=self.nu,
            likelihood="gaussian",
            gp_approx="vecchia",
            num_neighbors=min(self.n_neighbors, len(y) - 1),
            vecchia_ordering="random",
            num_parallel_threads=self.n_jobs,
            seed=self.random_state or 0,
        )
        model.fit(self._scaling.target(y))
        self._gp, self._n = model, len(y)
        self._set_prediction()
        self.noise_share_ = float(np.ravel(np.asarray(model.get_cov_pars()))[0])

    def _set_prediction(self) -> None:
        """Each row to predict is given training rows alone: it does not depend on the others."""
        self._gp.set_prediction_data(
            vecchia_pred_type="order_obs_first_cond_obs_only",
            num_neighbors_pred=min(2 * self.n_neighbors, self._n - 1),
        )

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_gp" in state:  # a handle to memory of the library's
            state["_gp"] = state["_gp"].model_to_dict(include_response_data=True)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_gp" in state:
            import gpboost

            self._gp = gpboost.GPModel(model_dict=state["_gp"])
            self._set_prediction()

    def _moments(self, X: Array) -> Prediction:
        found = self._gp.predict(gp_coords_pred=X, predict_var=True, predict_response=False)
        f_var = np.maximum(np.asarray(found["var"], dtype=float), 0.0)
        return Prediction.gaussian(
            np.asarray(found["mu"], dtype=float), f_var, max(self.noise_share_, LEAST_VARIANCE)
        )
