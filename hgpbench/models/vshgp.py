"""The variational sparse heteroscedastic GP."""

from typing import ClassVar, get_args

import numpy as np

from hgpbench.fitting import authors
from hgpbench.fitting.authors import Length
from hgpbench.fitting.checks import check_at_least, check_choice, check_jobs, check_optional
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.placement import inducing_points, n_points
from hgpbench.fitting.start import N_RESTARTS, told
from hgpbench.fitting.vshgp import Optimizer, Problem
from hgpbench.models.base import Array, Callback, Copies, Estimator, refusing
from hgpbench.prediction import Prediction

LENGTHS = ("initial_lengthscale_f", "initial_lengthscale_g")
# With many inducing points the bound goes on rising: on 9,000 rows of sarcos by 3 % beyond 100 iterations.
MAX_ITER: dict[Optimizer, int] = {"natural": 400, "lbfgs": 400, "paper": 100}


class VSHGP(Estimator):
    """Variational sparse GP whose log noise variance is a second sparse GP: the bound F_V.

    y = f(x) + N(0, e^g(x)); O(n (m^2 + u^2)) an iteration. The predictive distribution is a normal mixture.

    Cost: O(n (m^2 + u^2)) an iteration; O(m^2 + u^2) a test row.

    Parameters
    ----------
    n_inducing_f : int or None, default=None
        Inducing points m of f; all distinct rows where they are fewer. None for sqrt(3e9 / n) of them, but at
        least 100 and at most 500. Their positions X_m are optimised.
    n_inducing_g : int, default=100
        Inducing points u of the log noise variance g, likewise X_u.
    optimizer : {"natural", "lbfgs", "paper"}, default="natural"
        "natural": natural steps on q(g_u) inside L-BFGS on all else, and "lbfgs": L-BFGS on everything, both
        from initial values that sparse GPs on y and on its log squared residuals give. "paper": conjugate
        gradients from the authors' fixed values, three tenths of the line searches on Lambda alone.
    max_iter : int or None, default=None
        Most iterations on F_V. None for 400, and for the authors' 100 line searches of "paper".
    guard : bool, default=True
        "natural" only: f starts from the optimum for constant noise and moves on only if its leave-one-out
        errors do not grow. Without it, the bound is higher where inducing points are few, and the mean worse:
        what f leaves unexplained is taken for noise.
    n_restarts : int, default=3
        Of a grid of first values, how many of the best are climbed from for some iterations; the best of all
        goes on. 0 for the best of the grid as it is.
    initial_lengthscale_f : float, str or None, default=None
        Lengthscale of f that "paper" starts from: a number in the units of the inputs, or text such as
        "0.5 sd" for standard deviations; None for the authors' "0.5 sd". Other recipes find their own.
    initial_lengthscale_g : float, str or None, default=None
        Lengthscale of g, likewise; None for the authors' "0.2 sd".
    kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="se"
        Kernel of f: squared exponential, or Matern with nu = 1/2 (the roughest), 3/2 or 5/2; "auto" for the
        one with which a smaller fit predicts left-out training rows best.
    noise_kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="se"
        Kernel of g, likewise.
    n_jobs : int or None, default=None
        Threads; their number changes no bit of the result. None for as many as BLAS may use.
    copies : {"once", "each"} or None, default=None
        Training rows that agree in inputs and target, where targets are so fine that this is no chance:
        "once" to learn from them once, "each" for as many observations as there are rows, as in the paper.
        None for once where they are more than a tenth of the rows.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the initial inducing points (k-means).

    Attributes
    ----------
    lengthscales_f_, lengthscales_g_ : arrays of shape (d,)
        Lengthscales l_i of f and of g.
    signal_var_f_, signal_var_g_ : float
        Signal variances sigma^2_s of f and of g (a log variance, so without units).
    noise_mean_ : float
        Prior mean mu_0 of g, the log noise variance.
    inducing_f_, inducing_g_ : arrays of shape (m, d) and (u, d)
        Inducing inputs X_m and X_u.
    lam_ : array of shape (n,)
        Variational parameters, the diagonal of Lambda_nn.
    kernel_, noise_kernel_ : str
        The kernels in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The bound F_V and how it was reached (evaluations include the initial sparse GPs'); see
        ``hgpbench.models.base``.
    """

    reference = "Liu, Ong and Cai (2020), Large-scale heteroscedastic regression via Gaussian process"

    shorthands: ClassVar = dict.fromkeys(LENGTHS, authors.write)
    former: ClassVar = {"initial_lengthscale": "initial_lengthscale_f and initial_lengthscale_g"}

    @refusing(former)
    def __init__(
        self,
        n_inducing_f: int | None = None,
        n_inducing_g: int = 100,
        optimizer: Optimizer = "natural",
        max_iter: int | None = None,
        guard: bool = True,
        n_restarts: int = N_RESTARTS,
        initial_lengthscale_f: Length | None = None,
        initial_lengthscale_g: Length | None = None,
        kernel: Choice = "se",
        noise_kernel: Choice = "se",
        n_jobs: int | None = None,
        copies: Copies | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_inducing_f = n_inducing_f
        self.n_inducing_g = n_inducing_g
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.guard = guard
        self.n_restarts = n_restarts
        self.initial_lengthscale_f = initial_lengthscale_f
        self.initial_lengthscale_g = initial_lengthscale_g
        self.kernel = kernel
        self.noise_kernel = noise_kernel
        self.n_jobs = n_jobs
        self.copies = copies
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_optional("n_inducing_f", self.n_inducing_f, 1)
        check_kernels(kernel=self.kernel, noise_kernel=self.noise_kernel)
        check_at_least("n_inducing_g", self.n_inducing_g, 1)
        check_choice("optimizer", self.optimizer, get_args(Optimizer))
        check_optional("max_iter", self.max_iter, 1)
        check_jobs(self.n_jobs)
        check_choice("guard", self.guard, (True, False))
        check_at_least("n_restarts", self.n_restarts, 0)
        for name in LENGTHS:
            authors.check_length(name, getattr(self, name), self.optimizer)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, rng = self._scaling, np.random.default_rng(self.random_state)
        inputs = scaling.inputs(X)
        lengths = (getattr(self, name) for name in LENGTHS)
        problem = Problem(
            inputs,
            scaling.target(y),
            inducing_points(inputs, n_points(self.n_inducing_f, len(y)), rng),
            inducing_points(inputs, self.n_inducing_g, rng),
            rng,
            n_restarts=self.n_restarts,
            authors=authors.values(inputs, scaling, *lengths),
            families=self._families,
            guard=self.guard,
        )
        report = self._reporter(callback, len(y))
        max_iter = MAX_ITER[self.optimizer] if self.max_iter is None else self.max_iter
        self._fit = problem.fit(self.optimizer, max_iter, report, self.n_jobs)
        self._keep(self._fit.result, len(y))
        self._tell(self._fit.values)
        self.starts_ = told(self._fit.tried)

    def _moments(self, X: Array) -> Prediction:
        return self._fit.prediction(X, self.n_jobs)
