"""scikit-learn's Gaussian process regressor with a kernel that it learns."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from hgpbench.fitting.checks import check_at_least
from hgpbench.models.base import Array, Callback
from hgpbench.peers.base import LEAST_VARIANCE, Peer
from hgpbench.prediction import Prediction

CHUNK = 2_000  # rows predicted at a time
LENGTHS, VARIANCES, NOISES = (1e-2, 1e3), (1e-3, 1e3), (1e-6, 1e1)  # where the search may go


class SklearnGPR(Peer):
    """Matern kernel with a lengthscale for each input, signal variance and noise, by maximum likelihood.

    An exact GP: of more rows than ``max_rows`` a random sample is used. scikit-learn keeps a derivative of
    the kernel matrix for every parameter, so 2,000 rows with 20 inputs take about a gigabyte.

    Cost: O(m^2 d + m^3) an evaluation of m = min(n, max_rows) rows; O(m^2) a test row.

    Parameters
    ----------
    max_rows : int, default=2000
        Most rows of the exact GP.
    nu : float, default=1.5
        Smoothness of the Matern kernel: 0.5, 1.5 or 2.5, or infinity for the squared exponential.
    n_restarts : int, default=0
        Searches from random values, besides the one from middling ones.
    random_state : int or None, default=None
        Seed of the sample and of the restarts.

    Attributes
    ----------
    kernel_text_ : str
        The learned kernel of scaled inputs, as scikit-learn prints it.
    """

    reference = "Pedregosa et al. (2011), Scikit-learn: Machine learning in Python"

    def __init__(
        self,
        max_rows: int = 2000,
        nu: float = 1.5,
        n_restarts: int = 0,
        random_state: int | None = None,
    ) -> None:
        self.max_rows = max_rows
        self.nu = nu
        self.n_restarts = n_restarts
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("max_rows", self.max_rows, 2)
        check_at_least("nu", self.nu, 0.0, float)
        check_at_least("n_restarts", self.n_restarts, 0)

    def _matrix_size(self, n: int) -> int:
        return min(n, self.max_rows)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        rng, n, d = np.random.default_rng(self.random_state), *X.shape
        rows = np.sort(rng.choice(n, self.max_rows, replace=False)) if n > self.max_rows else np.arange(n)
        first = np.full(d, 0.5 * np.sqrt(d))
        kernel = ConstantKernel(1.0, VARIANCES) * Matern(first, LENGTHS, nu=self.nu)
        gp = GaussianProcessRegressor(
            kernel + WhiteKernel(0.1, NOISES),
            n_restarts_optimizer=self.n_restarts,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # at a bound of the search: the model is fine
            self._gp = gp.fit(self._scaling.inputs(X[rows]), self._scaling.target(y[rows]))
        self.kernel_text_ = str(self._gp.kernel_)

    def _moments(self, X: Array) -> Prediction:
        noise = float(self._gp.kernel_.k2.noise_level)
        mean, var = np.empty(len(X)), np.empty(len(X))
        for start in range(0, len(X), CHUNK):
            part = slice(start, start + CHUNK)
            mean[part], std = self._gp.predict(X[part], return_std=True)
            var[part] = std**2
        return Prediction.gaussian(mean, np.maximum(var - noise, 0.0), max(noise, LEAST_VARIANCE))
