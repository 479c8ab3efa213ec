"""The empirical heteroscedastic GP on a subset of the data."""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from hgpbench.errors import FitError
from hgpbench.fitting.checks import check_at_least, check_choice, ensure_started
from hgpbench.fitting.start import FLOOR, MEAN_LOG_CHI2, guess
from hgpbench.fitting.values import Values
from hgpbench.gp.cg import conjugate_gradients
from hgpbench.gp.exact import POSITIVE, ExactPosterior, LargeExactProblem
from hgpbench.gp.optim import OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.models.base import Array, Callback, Estimator
from hgpbench.prediction import Prediction

Optimizer = Literal["lbfgs", "cg"]
VAR_LOG_CHI2 = np.pi**2 / 2  # of one degree of freedom: where the scatter of log squared residuals starts


class EHSoD(Estimator):
    """Exact GP on a random subset, and a second exact GP on the logarithms of its squared residuals.

    Two separate fits, O(m_sod^3) an iteration and 16 m_sod^2 bytes in all: 15,000 rows take 3.6 GB and a
    minute of one core an evaluation. The second GP predicts the log noise variance g*, mean and variance, so
    that the predictive distribution is a normal mixture.

    Cost: O(m_sod^3) an iteration of each of two fits, whatever n; O(m_sod^2) a test row.

    Parameters
    ----------
    subset_size : int, default=2000
        Rows m_sod of the subset; all rows where they are fewer.
    bias_correction : bool, default=False
        Add 1.27 to g: the logarithm of a squared normal residual lies that much below the logarithm of its
        variance, on average. Without it (as in the paper) the noise variance comes out too small, by a
        factor of 3.6.
    optimizer : {"lbfgs", "cg"}, default="lbfgs"
        L-BFGS, or the paper's conjugate gradients, which take several evaluations a line search.
    max_iter : int, default=50
        Most iterations (line searches of "cg") for each of the two GPs.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the subset.

    Attributes
    ----------
    lengthscales_f_, lengthscales_g_ : arrays of shape (d,)
        Lengthscales l_i of f and of g.
    signal_var_f_, signal_var_g_ : float
        Signal variances sigma^2_s of f and of g (a log variance, so without units).
    noise_var_ : float
        Noise variance sigma^2_eps of the first GP, which only weighs its data.
    noise_mean_ : float
        Prior mean mu_0 of g: the mean of the log squared residuals, corrected if asked for.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The first GP's log evidence of the subset and how it was reached (evaluations include the second
        GP's); see ``hgpbench.models.base``.
    """

    reference = (
        "Urban, Ludersdorfer and van der Smagt (2015), Sensor calibration and hysteresis compensation with "
        "heteroscedastic Gaussian processes"
    )

    def __init__(
        self,
        subset_size: int = 2000,
        bias_correction: bool = False,
        optimizer: Optimizer = "lbfgs",
        max_iter: int = 50,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.subset_size = subset_size
        self.bias_correction = bias_correction
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("subset_size", self.subset_size, 2)
        check_choice("optimizer", self.optimizer, get_args(Optimizer))
        check_at_least("max_iter", self.max_iter, 1)

    def _matrix_size(self, n: int) -> int:
        return min(n, self.subset_size)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, rng = self._scaling, np.random.default_rng(self.random_state)
        rows = _subset(X, y, self.subset_size, rng)
        inputs, target = scaling.inputs(X[rows]), scaling.target(y[rows])
        if np.ptp(target) == 0.0:
            raise FitError(
                f"the {len(rows):,} targets of the subset are all {y[rows[0]]:g}: take a larger subset_size "
                "or another random_state"
            )
        first = guess(inputs, target)
        f = self._fit_gp(inputs, target, first, self._reporter(callback, len(rows)))
        z = np.log(np.maximum(f.residuals**2, FLOOR * np.var(target)))
        mean = float(z.mean())
        scatter = {"s2_k": np.asarray(1.0), "sigma2": np.asarray(VAR_LOG_CHI2)}
        g = self._fit_gp(inputs, z - mean, first | scatter, None)
        self._keep(f.result, len(rows))
        self.n_evaluations_ += g.result.evaluations
        self._f, self._g = f.posterior, g.posterior
        self._level = mean - MEAN_LOG_CHI2 * self.bias_correction
        self._tell(
            f.values | {"ell_g": g.values["ell"], "s2_kg": g.values["s2_k"], "mu0": np.asarray(self._level)}
        )

    def _fit_gp(self, X: Array, y: Array, first: Values, callback: Callback | None) -> "_Fit":
        """An exact GP, from these initial values."""
        problem, layout = LargeExactProblem(X, y), Layout.of(first, positive=POSITIVE)
        evidence, x0 = objective(problem.evidence, layout), layout.pack(first)
        if self.optimizer == "lbfgs":
            result = lbfgs(evidence, x0, max_iter=self.max_iter, callback=callback)
        else:
            result = conjugate_gradients(evidence, x0, line_searches=self.max_iter, callback=callback)
        values = layout.unpack(ensure_started(result).x)
        return _Fit(result, values, problem.posterior(values))

    def _moments(self, X: Array) -> Prediction:
        f_mean, f_var = self._f.moments(X)
        g_mean, g_var = self._g.moments(X)
        return Prediction.mixture(f_mean, f_var, self._level + g_mean, g_var)


class _Fit(NamedTuple):
    """How an exact GP's optimisation ended, at which parameters (scaled), and its posterior."""

    result: OptimResult
    values: Values
    posterior: ExactPosterior

    @property
    def residuals(self) -> Array:
        """y minus the posterior mean at the training rows: A alpha = y, so all of A but K, times alpha."""
        nugget = self.posterior.kd - self.posterior.kernel.s2_k
        return (float(self.values["sigma2"]) + nugget) * self.posterior.alpha


def _subset(X: Array, y: Array, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows drawn at random, from a sorted list: the answer does not depend on the order of the rows."""
    order = np.lexsort((y, *X.T))
    return order if len(y) <= size else order[np.sort(rng.choice(len(y), size, replace=False))]
