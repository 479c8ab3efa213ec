"""The empirical heteroscedastic GP on a subset of the data."""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from hgpbench.errors import FitError
from hgpbench.fitting.calibration import Belief, calibrated
from hgpbench.fitting.checks import check_at_least, check_choice, ensure_started
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.start import (
    FLOOR,
    N_RESTARTS,
    SAMPLE,
    Start,
    Trial,
    grid,
    neighbourhoods,
    noise_grid,
    search,
    told,
)
from hgpbench.fitting.values import Values
from hgpbench.gp.cg import conjugate_gradients
from hgpbench.gp.exact import POSITIVE, ExactPosterior, ExactProblem, LargeExactProblem
from hgpbench.gp.kernels import Family
from hgpbench.gp.optim import OptimResult, lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.scatter import MEAN_LOG_CHI2
from hgpbench.models.base import Array, Callback, Copies, Estimator
from hgpbench.prediction import Prediction
from hgpbench.scaling import is_constant

Optimizer = Literal["lbfgs", "cg"]
Residuals = Literal["left-out", "in-sample"]


class EHSoD(Estimator):
    """Exact GP on a random subset, and a second exact GP on the logarithms of its squared residuals.

    Two separate fits, O(m_sod^3) an iteration and 16 m_sod^2 bytes in all: 15,000 rows take 3.6 GB and a
    minute of one core an evaluation. The second GP predicts the log noise variance g*, mean and variance, so
    that the predictive distribution is a normal mixture. The paper's is ``residuals="in-sample"`` without
    ``bias_correction``.

    Cost: O(m_sod^3) an iteration of each of two fits, whatever n; O(m_sod^2) a test row.

    Parameters
    ----------
    subset_size : int, default=2000
        Rows m_sod of the subset; all rows where they are fewer.
    residuals : {"left-out", "in-sample"}, default="left-out"
        Residuals of each row from a GP of all others, in closed form and less what f itself is uncertain of;
        or, as in the paper, of the rows that the GP was fitted to, which are too small where it over-fits.
    bias_correction : bool, default=True
        The logarithm of a squared normal residual lies 1.27 below the logarithm of its variance, on average:
        without a correction (as in the paper) the noise variance comes out too small, by a factor of 3.6.
        In-sample, 1.27 is added to g. Left-out residuals tell more: g gets the level, and its deviations from
        it are multiplied by the strength of 0, 0.25, 0.5, 0.75 and 1, by which they are most probable.
    optimizer : {"lbfgs", "cg"}, default="lbfgs"
        L-BFGS, or the paper's conjugate gradients, which take several evaluations a line search.
    max_iter : int, default=50
        Most iterations (line searches of "cg") for each of the two GPs.
    n_restarts : int, default=3
        Of a grid of first values, how many of the best are climbed from for some iterations; the best of all
        goes on. 0 for the best of the grid as it is.
    kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="se"
        Kernel of f: squared exponential, or Matern with nu = 1/2 (the roughest), 3/2 or 5/2; "auto" for the
        one with which a smaller fit predicts left-out training rows best.
    noise_kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="se"
        Kernel of g, likewise.
    copies : {"once", "each"} or None, default=None
        Training rows that agree in inputs and target, where targets are so fine that this is no chance:
        "once" to learn from them once, "each" for as many observations as there are rows, as in the paper.
        None for once where they are more than a tenth of the rows.
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
    noise_strength_ : float
        Share of the second GP's deviations from its mean that g keeps.
    kernel_, noise_kernel_ : str
        The kernels in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
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
        residuals: Residuals = "left-out",
        bias_correction: bool = True,
        optimizer: Optimizer = "lbfgs",
        max_iter: int = 50,
        n_restarts: int = N_RESTARTS,
        kernel: Choice = "se",
        noise_kernel: Choice = "se",
        copies: Copies | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.subset_size = subset_size
        self.residuals = residuals
        self.bias_correction = bias_correction
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.kernel = kernel
        self.noise_kernel = noise_kernel
        self.copies = copies
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_kernels(kernel=self.kernel, noise_kernel=self.noise_kernel)
        check_at_least("subset_size", self.subset_size, 2)
        check_choice("residuals", self.residuals, get_args(Residuals))
        check_choice("optimizer", self.optimizer, get_args(Optimizer))
        check_at_least("max_iter", self.max_iter, 1)
        check_at_least("n_restarts", self.n_restarts, 0)

    def _matrix_size(self, n: int) -> int:
        return min(n, self.subset_size)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, rng = self._scaling, np.random.default_rng(self.random_state)
        rows = _subset(X, y, self.subset_size, rng)
        inputs, target = scaling.inputs(X[rows]), scaling.target(y[rows])
        if is_constant(target):
            raise FitError(
                f"the {len(rows):,} targets of the subset are all {y[rows[0]]:g}: take a larger subset_size "
                "or another random_state"
            )
        families, sample = self._families, neighbourhoods(inputs, SAMPLE, rng)
        start = self._start(families.f, inputs, target, sample, grid(inputs, target))
        f = self._fit_gp(families.f, inputs, target, start.values, self._reporter(callback, len(rows)))
        squares = f.residuals**2 if self.residuals == "in-sample" else f.noise_squares()
        z = np.log(np.maximum(squares, FLOOR * np.var(target)))
        mean = float(z.mean())
        z -= mean
        begin = self._start(families.g, inputs, z, sample, noise_grid(inputs))
        g = self._fit_gp(families.g, inputs, z, begin.values, None)
        self._keep(f.result, len(rows))
        self.n_evaluations_ += g.result.evaluations + start.evaluations + begin.evaluations
        self.starts_ = told(start.tried)
        self._f, self._g = f.posterior, g.posterior
        self._belief = self._believe(f, g, z, mean)
        self.noise_strength_ = self._belief.strength
        level = np.asarray(self._belief.level)
        self._tell(f.values | {"ell_g": g.values["ell"], "s2_kg": g.values["s2_k"], "mu0": level})

    def _believe(self, f: "_Fit", g: "_Fit", z: Array, mean: float) -> Belief:
        """The level of g and its strength, for centred log squared residuals ``z`` of this mean."""
        if not self.bias_correction:
            return Belief(mean, 1.0)
        if self.residuals == "in-sample":
            return Belief(mean - MEAN_LOG_CHI2, 1.0)
        e, y_var = f.posterior.left_out()
        deviation, z_var = g.posterior.left_out()
        f_var, g_var = (np.maximum(s2 - fit.noise, 0.0) for s2, fit in ((y_var, f), (z_var, g)))
        return calibrated(e, f_var, z - deviation, g_var, mean - MEAN_LOG_CHI2)

    def _start(
        self, family: Family, X: Array, y: Array, sample: NDArray[np.intp], trials: list[Trial]
    ) -> Start:
        """First values by the evidence of neighbourhoods of rows."""
        some = ExactProblem(X[sample], y[sample], family)
        return search(some.evidence, trials, POSITIVE, n_restarts=self.n_restarts)

    def _fit_gp(self, family: Family, X: Array, y: Array, first: Values, callback: Callback | None) -> "_Fit":
        """An exact GP with such a kernel, from these initial values."""
        problem, layout = LargeExactProblem(X, y, family), Layout.of(first, positive=POSITIVE)
        evidence, x0 = objective(problem.evidence, layout), layout.pack(first)
        if self.optimizer == "lbfgs":
            result = lbfgs(evidence, x0, max_iter=self.max_iter, callback=callback)
        else:
            result = conjugate_gradients(evidence, x0, line_searches=self.max_iter, callback=callback)
        values = layout.unpack(ensure_started(result).x)
        return _Fit(result, values, problem.posterior(values))

    def _moments(self, X: Array) -> Prediction:
        f_mean, f_var = self._f.moments(X)
        return Prediction.mixture(f_mean, f_var, *self._belief.of(*self._g.moments(X)))


class _Fit(NamedTuple):
    """How an exact GP's optimisation ended, at which parameters (scaled), and its posterior."""

    result: OptimResult
    values: Values
    posterior: ExactPosterior

    @property
    def residuals(self) -> Array:
        """y minus the posterior mean at the training rows: A alpha = y, so all of A but K, times alpha."""
        nugget = self.posterior.kd - self.posterior.kernel.s2_k
        return (self.noise + nugget) * self.posterior.alpha

    @property
    def noise(self) -> float:
        """Its constant noise variance."""
        return float(self.values["sigma2"])

    def noise_squares(self) -> Array:
        """Squares of left-out residuals, less the share that f's own variance has in them on average."""
        e, y_var = self.posterior.left_out()
        return e**2 * np.minimum(self.noise / y_var, 1.0)


def _subset(X: Array, y: Array, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows drawn at random, from a sorted list: the answer does not depend on the order of the rows."""
    order = np.lexsort((y, *X.T))
    return order if len(y) <= size else order[np.sort(rng.choice(len(y), size, replace=False))]
