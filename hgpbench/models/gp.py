"""The exact GP with constant noise."""

from typing import ClassVar

import numpy as np

from hgpbench.errors import Refusal
from hgpbench.fitting.checks import check_at_least, ensure_started
from hgpbench.fitting.kernels import Choice, check_kernels
from hgpbench.fitting.start import N_RESTARTS, SAMPLE, Start, grid, neighbourhoods, search, told
from hgpbench.gp.exact import POSITIVE, ExactProblem
from hgpbench.gp.optim import lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.models.base import Array, Callback, Copies, Estimator, refusing
from hgpbench.prediction import Prediction

MOST_ROWS = 5_000


class ExactGP(Estimator):
    """Exact GP with constant noise, fitted by L-BFGS on the evidence.

    Cubic in the rows: it refuses more than 5,000 of them.

    Cost: O(n^3) an iteration and O(n^2) memory; O(n^2) a test row.

    Parameters
    ----------
    max_iter : int, default=100
        Most iterations of L-BFGS.
    n_restarts : int, default=3
        Of a grid of first values, how many of the best are climbed from for some iterations; the best of all
        goes on. 0 for the best of the grid as it is.
    kernel : {"se", "matern12", "matern32", "matern52", "auto"}, default="se"
        Kernel of f: squared exponential, or Matern with nu = 1/2 (the roughest), 3/2 or 5/2; "auto" for the
        one with which a smaller fit predicts left-out training rows best.
    copies : {"once", "each"} or None, default=None
        Training rows that agree in inputs and target, where targets are so fine that this is no chance:
        "once" to learn from them once, "each" for as many observations as there are rows, as in the paper.
        None for once where they are more than a tenth of the rows.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the rows by which first values are judged, where there are more than 1,000.

    Attributes
    ----------
    lengthscales_f_ : array of shape (d,)
        Lengthscales l_i of f.
    signal_var_f_ : float
        Signal variance sigma^2_s of f.
    noise_var_ : float
        Noise variance sigma^2_eps.
    kernel_ : str
        The kernel in use; ``kernel_densities_`` has the log densities behind "auto".
    starts_ : list of dicts
        First values that were tried, the best first; see ``hgpbench.models.base``.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The log evidence and how it was reached; see ``hgpbench.models.base``.
    """

    reference = "Rasmussen and Williams (2006), Gaussian Processes for Machine Learning"

    former: ClassVar = {"restarts": "n_restarts"}

    @refusing(former)
    def __init__(
        self,
        max_iter: int = 100,
        n_restarts: int = N_RESTARTS,
        kernel: Choice = "se",
        copies: Copies | None = None,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.kernel = kernel
        self.copies = copies
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_kernels(kernel=self.kernel)
        check_at_least("max_iter", self.max_iter, 1)
        check_at_least("n_restarts", self.n_restarts, 0)

    def _check_size(self, n: int, d: int) -> None:
        if n > MOST_ROWS:
            raise Refusal(
                f"gp: {n:,} training rows are too many for an exact GP (at most {MOST_ROWS:,}); "
                "take a smaller split or a sparse model such as vsgp"
            )

    def _matrix_size(self, n: int) -> int:
        return n

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        scaling, rng = self._scaling, np.random.default_rng(self.random_state)
        problem = ExactProblem(scaling.inputs(X), scaling.target(y), self._families.f)
        start = self._start(problem, rng)
        layout = Layout.of(start.values, positive=POSITIVE)
        evidence, report = objective(problem.evidence, layout), self._reporter(callback, len(y))
        result = lbfgs(evidence, layout.pack(start.values), max_iter=self.max_iter, callback=report)
        self._keep(ensure_started(result), len(y))
        self.n_evaluations_ += start.evaluations
        self.starts_ = told(start.tried)
        values = layout.unpack(result.x)
        self._posterior, self._noise = problem.posterior(values), float(values["sigma2"])
        self._tell(values)

    def _start(self, problem: ExactProblem, rng: np.random.Generator) -> Start:
        """First values by the evidence of neighbourhoods of rows."""
        rows = neighbourhoods(problem.X, SAMPLE, rng)
        some = ExactProblem(problem.X[rows], problem.y[rows], self._families.f)
        trials = grid(problem.X, problem.y)
        return search(some.evidence, trials, POSITIVE, n_restarts=self.n_restarts)

    def _moments(self, X: Array) -> Prediction:
        return Prediction.gaussian(*self._posterior.moments(X), self._noise)
