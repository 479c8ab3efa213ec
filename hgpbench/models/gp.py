"""The exact GP with constant noise."""

import numpy as np

from hgpbench.errors import Refusal
from hgpbench.fitting.checks import check_at_least, ensure_started
from hgpbench.fitting.start import guess, perturbed
from hgpbench.gp.exact import POSITIVE, ExactProblem
from hgpbench.gp.optim import lbfgs
from hgpbench.gp.params import Layout, objective
from hgpbench.models.base import Array, Callback, Estimator
from hgpbench.prediction import Prediction

MOST_ROWS = 5_000


class ExactGP(Estimator):
    """Exact GP with an SE-ARD kernel and constant noise, fitted by L-BFGS on the evidence.

    Cubic in the rows: it refuses more than 5,000 of them.

    Cost: O(n^3) an iteration and O(n^2) memory; O(n^2) a test row.

    Parameters
    ----------
    max_iter : int, default=100
        Most iterations of L-BFGS.
    restarts : int, default=0
        Further starts from random initial values; the best evidence wins.
    standardize : bool, default=True
        Standardise the inputs and the target first; otherwise the prior mean of f is zero as given.
    random_state : int or None, default=None
        Seed of the restarts.

    Attributes
    ----------
    lengthscales_f_ : array of shape (d,)
        Lengthscales l_i of f.
    signal_var_f_ : float
        Signal variance sigma^2_s of f.
    noise_var_ : float
        Noise variance sigma^2_eps.
    elbo_, trace_, outcome_, n_iter_, n_evaluations_, jitter_
        The log evidence and how it was reached; see ``hgpbench.models.base``.
    """

    reference = "Rasmussen and Williams (2006), Gaussian Processes for Machine Learning"

    def __init__(
        self,
        max_iter: int = 100,
        restarts: int = 0,
        standardize: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.restarts = restarts
        self.standardize = standardize
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("max_iter", self.max_iter, 1)
        check_at_least("restarts", self.restarts, 0)

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
        problem = ExactProblem(scaling.inputs(X), scaling.target(y))
        first = guess(problem.X, problem.y)
        starts = [first, *(perturbed(first, rng) for _ in range(self.restarts))]
        layout = Layout.of(first, positive=POSITIVE)
        evidence = objective(problem.evidence, layout)
        results = []
        for done, start in enumerate(starts):
            report = _after(done, len(starts), self.max_iter, self._reporter(callback, len(y)))
            results.append(lbfgs(evidence, layout.pack(start), max_iter=self.max_iter, callback=report))
        best = ensure_started(max(results, key=lambda result: result.value))
        self._keep(best, len(y))
        values = layout.unpack(best.x)
        self._posterior, self._noise = problem.posterior(values), float(values["sigma2"])
        self._tell(values)

    def _moments(self, X: Array) -> Prediction:
        return Prediction.gaussian(*self._posterior.moments(X), self._noise)


def _after(done: int, runs: int, max_iter: int, report: Callback | None) -> Callback | None:
    """A report of one run among several: its steps follow those of the runs before it."""
    if report is None:
        return None
    return lambda step, _, bound: report(done * max_iter + step, runs * max_iter, bound)
