"""g, by how much predictions err locally: learned from the residuals at rows that a model has not seen.

A Gaussian process on log squares gives the first responses; scoring gives better ones, from the modes of g
that all rows have (see ``gp.scatter``). Its parameters maximise the density of each residual given those
next to it, g integrated out: that of the predictions which NNHGP then makes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hgpbench.columns import Array
from hgpbench.fitting.ascent import Ascent, with_prior
from hgpbench.fitting.checkpoint import Arrays
from hgpbench.fitting.nearest import Densities, Signal, Task
from hgpbench.fitting.start import N_RESTARTS, noise_grid, search, spread
from hgpbench.fitting.values import Values
from hgpbench.gp.kernels import KERNELS, KernelName
from hgpbench.gp.leave_one_out import POSITIVE, Batch, scattered
from hgpbench.gp.neighbours import Neighbourhood
from hgpbench.gp.params import Bound
from hgpbench.gp.scatter import (
    VAR_SCORE,
    first_responses,
    log_density,
    modes,
    responses,
)
from hgpbench.gp.tasks import Run
from hgpbench.la import Places

STARTED, LEARNED = 1_000, 2_000  # rows that first values, then parameters are learned from ...
MOST_NEIGHBORS = 50  # ... and how many others each of these looks at, and each that is scored
ROUNDS, AGAIN = 2, 1  # of scoring and learning: at first, and of what was learned before
SCORINGS = 8  # each leaves some two fifths of how far the modes are off
LARGEST_VAR, WIDEST = 16.0, 60.0  # variance of g, and its mean either way
PRIOR_STD = 0.5  # of the log variance of g: log noise varies by about one, rarely by ten
NAMES = ("s2_k", "ell", "sigma2", "mu0")
HELD = frozenset({"sigma2"})  # the variance of the responses is known


@dataclass(frozen=True, eq=False)
class Residuals:
    """Left-out residuals ``z`` (n,) over their standard deviations, at rows ``X``."""

    X: Array
    z: Array
    log_scale: Array  # logarithms of those standard deviations
    order: Places  # in which samples take them

    @classmethod
    def of(cls, task: Task, f: Signal, rows: Places) -> "Residuals":
        """What f leaves at these rows, each predicted from the others."""

        def left_out() -> Arrays:
            mu, s2 = f.neighbourhood(task).left_out(rows, task.run)
            return {"mu": mu, "s2": s2}

        found = task.recall(left_out)
        scale = np.sqrt(found["s2"] + float(f.values["sigma2"]))
        order = np.argsort(np.argsort(task.order)[rows])
        return cls(task.X[rows], (task.y[rows] - found["mu"]) / scale, np.log(scale), order)

    @property
    def squares(self) -> Array:
        """Squared errors of the target."""
        return self.z**2 * np.exp(2.0 * self.log_scale)

    def bound(
        self, t: Array, rows: int, ell: Array, kernel: KernelName, K: int, run: Run
    ) -> Callable[[Values], Bound]:
        """The density of so many of them, given responses ``t`` of those nearest in these lengthscales."""
        sample = np.sort(self.order[:rows])
        K = min(K, MOST_NEIGHBORS, len(t) - 1)
        batch = Batch.of(self.X, t, np.ones(len(t)), sample, ell, K, KERNELS[kernel], run)
        constant = -float(self.log_scale[sample].sum())

        def density(values: Values) -> Bound:
            value, grads, jitter = scattered(batch, self.z[sample], values)
            return Bound(value + constant, grads, jitter)

        return with_prior(density, PRIOR_STD)


@dataclass(frozen=True, eq=False)
class Scatter:
    """Parameters of g, its working responses ``t`` at the rows ``X``, and how many of these it looks at."""

    kernel: KernelName
    values: Values
    X: Array
    t: Array
    K: int
    density: float = -np.inf  # of the residuals by which it was found, a row
    h: Array = field(default_factory=lambda: np.empty(0))  # g at each row by the others, once it is scored

    def neighbourhood(self) -> Neighbourhood:
        """To predict g from."""
        kernel = KERNELS[self.kernel](float(self.values["s2_k"]), self.values["ell"])
        r = np.full(len(self.t), float(self.values["sigma2"]))
        return Neighbourhood.of(kernel, self.X, self.t, r, self.K, float(self.values["mu0"]))

    def left_out(self, run: Run) -> tuple[Array, Array]:
        """Moments of g at each of its rows, without that row."""
        return self.neighbourhood().left_out(np.arange(len(self.t)), run)


def begun(residuals: Residuals, kernel: KernelName, K: int, task: Task) -> Scatter:
    """g from the best of the grid, by the first responses."""
    t = first_responses(residuals.z)
    found = task.recall(lambda: _begun(residuals, t, kernel, K, task.run))
    values = {name: found[name] for name in NAMES}
    return Scatter(kernel, values, residuals.X, t, K, float(found["density"]))


def _begun(residuals: Residuals, t: Array, kernel: KernelName, K: int, run: Run) -> Arrays:
    level = {"mu0": np.asarray(np.log(np.mean(residuals.z**2)))}
    trials = [trial._replace(values=trial.values | level) for trial in noise_grid(residuals.X)]
    rows = min(STARTED, len(t))
    bound = residuals.bound(t, rows, spread(residuals.X), kernel, K, run)
    start = search(bound, trials, POSITIVE, n_restarts=N_RESTARTS, held=HELD)
    return _bounded(start.values) | {"density": np.asarray(start.tried[0].reached / rows)}


def _bounded(values: Values) -> Values:
    """With no more variance than densities are computed for: rows that f meets exactly ask for more."""
    level = np.clip(values["mu0"], -WIDEST, WIDEST)
    return values | {"s2_k": np.minimum(values["s2_k"], LARGEST_VAR), "mu0": level}


def best_of(
    residuals: Residuals, kernels: Sequence[KernelName], K: int, task: Task
) -> tuple[Scatter, Densities]:
    """g with the kernel by which residuals are predicted best, and their log densities by all."""
    found = {kernel: begun(residuals, kernel, K, task) for kernel in kernels}
    densities = {str(kernel): scatter.density for kernel, scatter in found.items()}
    winner = max(found, key=lambda kernel: found[kernel].density)
    return found[winner], densities if len(kernels) > 1 else {}


def refined(
    residuals: Residuals, found: Scatter, ascent: Ascent, task: Task, rounds: int = ROUNDS
) -> Scatter:
    """g after rounds of scoring and learning, and with responses that belong to what was learned last."""
    rows = min(LEARNED, len(residuals.z))
    for _ in range(rounds):
        found = settled(residuals, found, task)
        bound = residuals.bound(found.t, rows, found.values["ell"], found.kernel, found.K, task.run)
        found = replace(found, values=_bounded(ascent.climb(bound, found.values, rows, held=HELD)))
    return settled(residuals, found, task)


def settled(residuals: Residuals, found: Scatter, task: Task) -> Scatter:
    """The same with responses at the modes of g given all rows, its parameters as they are."""
    found = replace(found, values=found.values | {"sigma2": np.asarray(VAR_SCORE)})
    kept = task.recall(lambda: _settled(residuals, found, task.run))
    return replace(found, t=kept["t"], h=kept["h"])


def _settled(residuals: Residuals, found: Scatter, run: Run) -> Arrays:
    """As parameters stay, so does what the others' responses count for, and a round costs next to nothing."""
    near = replace(found, K=min(found.K, MOST_NEIGHBORS)).neighbourhood()
    others = near.others(np.arange(len(found.t)), run)
    t = found.t
    for _ in range(SCORINGS):
        t = responses(residuals.z, modes(residuals.z, others.means(t), others.s2))
    return {"t": t, "h": others.means(t)}


def learned_from(residuals: Residuals, g: Scatter, task: Task) -> Scatter:
    """g at its parameters, as other residuals tell it."""
    return settled(residuals, replace(g, X=residuals.X, t=first_responses(residuals.z)), task)


def densities(residuals: Residuals, found: Scatter, run: Run) -> Array:
    """The log density of the target at each row, by the others."""
    return log_density(residuals.z, *found.left_out(run))[0] - residuals.log_scale
