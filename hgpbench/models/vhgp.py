"""The variational heteroscedastic GP without sparsity."""

from dataclasses import replace

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.errors import Refusal
from hgpbench.fitting.checks import check_at_least, check_jobs
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.start import N_RESTARTS, told
from hgpbench.fitting.vshgp import INDUCING, Problem, VshgpFit
from hgpbench.models.base import Array, Callback, Copies, Estimator
from hgpbench.prediction import Prediction

MOST_ROWS = 3_000


class VHGP(Estimator):
    """Variational heteroscedastic GP on all training points: VSHGP with X_m = X_u = X.

    y = f(x) + N(0, e^g(x)). Cubic in the rows: it refuses more than 3,000 of them.

    Cost: O(n^3) an iteration and O(n^2) memory; O(n^2) a test row.

    Parameters
    ----------
    max_iter : int, default=100
        Most iterations on the bound: natural steps on q(g) inside L-BFGS on all else.
    n_restarts : int, default=3
        Of a grid of first values, how many of the best are climbed from for some iterations; the best of all
        goes on. 0 for the best of the grid as it is.
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

    Attributes
    ----------
    lengthscales_f_, lengthscales_g_ : arrays of shape (d,)
        Lengthscales l_i of f and of g.
    signal_var_f_, signal_var_g_ : float
        Signal variances sigma^2_s of f and of g (a log variance, so without units).
    noise_mean_ : float
        Prior mean mu_0 of g, the log noise variance.
    lam_ : array of shape (n,)
        Variational parameters, the diagonal of Lambda_nn.
    kernel_, noise_kernel_ : str
        The kernels in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The bound and how it was reached; see ``hgpbench.models.base``.
    """

    reference = "Lazaro-Gredilla and Titsias (2011), Variational heteroscedastic Gaussian process regression"

    def __init__(
        self,
        max_iter: int = 100,
        n_restarts: int = N_RESTARTS,
        kernel: Choice = "se",
        noise_kernel: Choice = "se",
        n_jobs: int | None = None,
        copies: Copies | None = None,
        standardize: bool = True,
    ) -> None:
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.kernel = kernel
        self.noise_kernel = noise_kernel
        self.n_jobs = n_jobs
        self.copies = copies
        self.standardize = standardize

    def _check_params(self) -> None:
        check_kernels(kernel=self.kernel, noise_kernel=self.noise_kernel)
        check_at_least("max_iter", self.max_iter, 1)
        check_at_least("n_restarts", self.n_restarts, 0)
        check_jobs(self.n_jobs)

    def _check_size(self, n: int, d: int) -> None:
        if n > MOST_ROWS:
            raise Refusal(
                f"vhgp: {n:,} training rows are too many for a GP on all of them (at most {MOST_ROWS:,}); "
                "take a smaller split or the sparse model vshgp"
            )

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling = self._scaling
        inputs = scaling.inputs(X)
        points = np.unique(inputs, axis=0)  # a repeated row would only make the kernel matrix singular
        problem = Problem(
            inputs,
            scaling.target(y),
            points,
            points,
            _sampler(),
            move_inducing=False,
            n_restarts=self.n_restarts,
            families=self._families,
        )
        self._fit = self._searched(problem, self._reporter(callback, len(y)))
        self._keep(self._fit.result, len(y))
        self.starts_ = told(self._fit.tried)
        self._tell({name: value for name, value in self._fit.values.items() if name not in INDUCING})

    def _searched(self, problem: Problem, report: Callback | None) -> VshgpFit:
        """The fit; with half as many iterations where it would end without noise at any row.

        There the bound rises until its matrices have no digits left, and no posterior can be made of them.
        """
        iterations = self.max_iter
        while True:
            try:
                fresh = replace(problem, rng=_sampler())
                return fresh.fit("natural", iterations, report, self.n_jobs)
            except LinAlgError:
                if iterations == 1:
                    raise
                iterations //= 2

    def _moments(self, X: Array) -> Prediction:
        return self._fit.prediction(X, self.n_jobs)


def _sampler() -> np.random.Generator:
    """Who draws the rows by which first values are judged, where there are too many: always the same."""
    return np.random.default_rng(0)
