"""f from the nearest rows, learned by predicting each row from the others: what NNGP and NNHGP share.

First values come from the grid of all models; then rounds of L-BFGS follow, each on a larger sample of the
rows, with neighbours found anew as lengthscales have moved. Kernels compete on small samples, and the number
of neighbours grows while left-out rows gain by it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hgpbench.columns import Array
from hgpbench.fitting.ascent import Ascent, with_prior
from hgpbench.fitting.checkpoint import Arrays
from hgpbench.fitting.journal import Recall, anew
from hgpbench.fitting.kernels import AUTO, Choice
from hgpbench.fitting.start import Tried, as_table, grid, of_table, search, spread
from hgpbench.fitting.values import Values
from hgpbench.gp.kernels import KERNELS, KernelName
from hgpbench.gp.leave_one_out import POSITIVE, Batch, signal
from hgpbench.gp.neighbours import Neighbourhood
from hgpbench.gp.optim import lbfgs
from hgpbench.gp.params import Bound, Layout, objective
from hgpbench.gp.predictive import normal_logpdf
from hgpbench.gp.tasks import Run
from hgpbench.la import Places

FIRST_NEIGHBORS, MOST_NEIGHBORS = 50, 400  # where left-out rows choose their number
STARTED, COMPARED = 500, 2_000  # rows for first values, and for each kernel
LEARNED, AGAIN = 8_000, 4_000  # for the best, and once more for what was learned before
LEARNING_NEIGHBORS = 100  # at most: more rows with fewer neighbours each tell more of the parameters
LEVELLED = 20_000  # rows for the noise level alone: those that tell of it may be rare
FAINT = 1e-2  # of the variance of the targets: least noise that a search for its level is begun with
SHAPE = frozenset({"s2_k", "ell"})
NAMES = ("s2_k", "ell", "sigma2")
Densities = dict[str, float]
"""Mean log densities of left-out rows, by kernel."""

JUDGED = 4_000  # rows by which kernels, numbers of neighbours and weights are chosen
PRIOR_STD = 1.0  # of the log variance of f in terms of the target's
SURE = 1.0  # standard errors by which twice as many neighbours must win: they cost four times as much
HOPELESS = 0.1  # log density a row by which a kernel may be behind and compete once more
WORSE = 1.01  # times the squared error of left-out rows, which may be given for their density


def asked(choice: Choice) -> tuple[KernelName, ...]:
    """The kernels that a parameter leaves to choose from."""
    return tuple(KERNELS) if choice == AUTO else (choice,)


@dataclass(frozen=True, eq=False)
class Task:
    """Scaled rows and targets, the samples that are taken of them in order, and who does the work.

    The noise of row i is sigma2 w_i; at a row that is predicted, s2 + sigma2 w_i counts times c_i.
    """

    X: Array
    y: Array
    order: Places  # all rows, at random
    single: Places  # those whose inputs no other has, in the same order
    w: Array
    c: Array
    run: Run
    recall: Recall = anew

    @classmethod
    def of(cls, X: Array, y: Array, rng: np.random.Generator, run: Run, recall: Recall = anew) -> "Task":
        """With constant noise; in which order the rows come does not matter, but for those that are equal.

        A row that has the inputs of another tells of noise alone, and few that agree in the target as well
        would swear that there is none. So kernels compete on the others, unless most rows are repeated.
        """
        in_order = np.lexsort((y, *X.T))
        again = (X[in_order[1:]] == X[in_order[:-1]]).all(axis=1)
        single = ~(np.append(again, False) | np.append(False, again))
        shuffle = rng.permutation(len(y))
        order = in_order[shuffle]
        alone = order[single[shuffle]] if 2 * single.sum() >= len(y) else order
        return cls(X, y, order, alone, np.ones(len(y)), np.ones(len(y)), run, recall)

    def only(self, rows: Places) -> "Task":
        """Some of the rows, in order, as if there were no others."""
        place = np.full(len(self.y), -1)
        place[rows] = np.arange(len(rows))
        order, single = place[self.order], place[self.single]
        orders = order[order >= 0], single[single >= 0]
        w, c = self.w[rows], self.c[rows]
        return Task(self.X[rows], self.y[rows], *orders, w, c, self.run, self.recall)

    def learned(self, rows: int) -> Places:
        """Some of all rows, as they lie in the table."""
        return np.sort(self.order[:rows])

    def compared(self, rows: int) -> Places:
        """Some of the rows that no other repeats."""
        return np.sort(self.single[:rows])

    @property
    def judged(self) -> Places:
        """Others of these, where there are enough."""
        return np.sort(self.single[-JUDGED:])

    def bound(self, kernel: KernelName, values: Values, rows: Places, K: int) -> Callable[[Values], Bound]:
        """The leave-one-out density of these rows, their neighbours as they are now."""
        batch = Batch.of(self.X, self.y, self.w, rows, values["ell"], K, KERNELS[kernel], self.run)
        return with_prior(partial(signal, batch, self.c[rows]), PRIOR_STD)


@dataclass(frozen=True, eq=False)
class Signal:
    """Parameters of f and their kernel, and how many rows a prediction looks at."""

    kernel: KernelName
    values: Values
    K: int
    tried: tuple[Tried, ...] = ()
    evaluations: int = 0

    def neighbourhood(self, task: Task) -> Neighbourhood:
        """To predict f from."""
        kernel = KERNELS[self.kernel](float(self.values["s2_k"]), self.values["ell"])
        return Neighbourhood.of(kernel, task.X, task.y, float(self.values["sigma2"]) * task.w, self.K)

    def densities(self, task: Task, rows: Places) -> Array:
        """The log density of each of these rows by the others."""
        return self.judged(task, rows)[0]

    def judged(self, task: Task, rows: Places) -> tuple[Array, Array]:
        """The same, and the squared errors."""
        mu, s2 = self.neighbourhood(task).left_out(rows, task.run)
        v = (s2 + float(self.values["sigma2"]) * task.w[rows]) * task.c[rows]
        return normal_logpdf(task.y[rows], mu, v), (task.y[rows] - mu) ** 2


def begun(task: Task, kernel: KernelName, K: int, n_restarts: int, max_iter: int) -> Signal:
    """f with this kernel, from the best of the grid, learned from a small sample."""
    found = task.recall(lambda: _begun(task, kernel, K, n_restarts, max_iter))
    values = {name: found[name] for name in NAMES}
    return Signal(kernel, values, K, of_table(found["tried"]), int(found["evaluations"]))


def _begun(task: Task, kernel: KernelName, K: int, n_restarts: int, max_iter: int) -> Arrays:
    trials = grid(task.X, task.y)
    # Lengthscales of the grid are in proportion, so that they all have the same neighbours.
    rows = task.compared(STARTED)
    bound = task.bound(kernel, {"ell": spread(task.X)}, rows, K)
    start = search(bound, trials, POSITIVE, n_restarts=n_restarts)
    values, evaluations = start.values, start.evaluations
    bound = task.bound(kernel, values, task.compared(affordable(COMPARED, K)), K)
    values, spent = climbed(bound, values, max_iter)
    # Noise is told by rows that are rare: those that repeat others, and disagree. A sample without any lets
    # its level vanish, and with it the slope by which a search would come back.
    values = values | {"sigma2": np.maximum(values["sigma2"], FAINT * np.var(task.y))}
    bound = task.bound(kernel, values, task.learned(affordable(LEARNED, K)), K)
    values, again = climbed(bound, values, max_iter, SHAPE)
    spent += evaluations + again
    return values | {"tried": as_table(start.tried), "evaluations": np.asarray(spent)}


def climbed(
    bound: Callable[[Values], Bound], values: Values, max_iter: int, held: Collection[str] = ()
) -> tuple[Values, int]:
    """The values after some iterations on a bound, those ``held`` as they are, and evaluations spent."""
    layout = Layout.of(values, positive=POSITIVE).only(values.keys() - set(held))
    result = lbfgs(objective(bound, layout, held=values), layout.pack(values), max_iter=max_iter)
    found = layout.unpack(result.x) if result.outcome != "failed" else {}
    return values | found, result.evaluations


def refined(task: Task, found: Signal, n_neighbors: int | None, ascent: Ascent) -> Signal:
    """The same after the number of neighbours was chosen, and a round on more rows."""
    if n_neighbors is None:
        found = with_neighbours(task, found)
    found = once_more(task, found, task.learned, LEARNED, ascent)
    return once_more(task, found, task.learned, LEVELLED, ascent, held=SHAPE)


def once_more(
    task: Task,
    found: Signal,
    take: Callable[[int], Places],
    rows: int,
    ascent: Ascent,
    held: Collection[str] = (),
) -> Signal:
    """One round, on a sample of the rows that ``take`` takes."""
    K = min(found.K, LEARNING_NEIGHBORS)
    sample = take(affordable(rows, K))
    bound = task.bound(found.kernel, found.values, sample, K)
    return replace(found, values=ascent.climb(bound, found.values, len(sample), held=held))


def affordable(rows: int, K: int) -> int:
    """So many rows with FIRST_NEIGHBORS each, fewer with more."""
    return max(STARTED, rows * FIRST_NEIGHBORS // max(K, FIRST_NEIGHBORS))


def with_neighbours(task: Task, found: Signal) -> Signal:
    """Twice as many neighbours, and again, while that surely predicts better."""
    chosen = task.recall(lambda: {"K": np.asarray(_neighbours(task, found))})
    return replace(found, K=int(chosen["K"]))


def _neighbours(task: Task, found: Signal) -> int:
    rows, most = task.judged, min(MOST_NEIGHBORS, len(task.y) - 1)
    density = found.densities(task, rows)
    while most > found.K:
        more = replace(found, K=min(2 * found.K, most))
        gain = more.densities(task, rows) - density
        if gain.mean() <= SURE * gain.std() / np.sqrt(len(rows)):
            break
        found, density = more, density + gain
    return found.K


def best_of(
    kernels: Sequence[KernelName],
    begin: Callable[[KernelName], Signal],
    judge: Callable[[Signal], tuple[Array, Array]],
) -> tuple[Signal, tuple[Signal, ...], Densities]:
    """f with the kernel that predicts left-out rows best, others not far behind, and the densities of all.

    The judge gives log densities and squared errors of rows; one kernel needs none.
    """
    contenders = {kernel: begin(kernel) for kernel in kernels}
    if len(kernels) == 1:
        return contenders[kernels[0]], (), {}
    judged = {kernel: judge(found) for kernel, found in contenders.items()}
    winner = fittest(judged)
    spent = sum(found.evaluations for found in contenders.values())
    densities = {str(kernel): float(density.mean()) for kernel, (density, _) in judged.items()}
    hope = densities[winner] - HOPELESS
    others = tuple(
        found for kernel, found in contenders.items() if kernel != winner and densities[kernel] > hope
    )
    return replace(contenders[winner], evaluations=spent), others, densities


def fittest(judged: Mapping[KernelName, tuple[Array, Array]]) -> KernelName:
    """The kernel of the greatest density of rows, among those whose errors no other's surely undercut.

    A noise that varies can follow any error, and density alone would then take an f that errs more, if only
    it errs where that is foreseen.
    """
    precise = _precise({kernel: squares for kernel, (_, squares) in judged.items()})
    return max(precise, key=lambda kernel: float(judged[kernel][0].mean()))


def _precise(squares: Mapping[KernelName, Array]) -> list[KernelName]:
    """Those whose squared errors are not surely greater than the least, by more than that may be."""
    least = min(squares.values(), key=lambda errors: float(errors.mean()))
    allowed = (WORSE - 1.0) * least.mean()

    def fine(errors: Array) -> bool:
        more = errors - least
        return bool(more.mean() <= max(allowed, SURE * more.std() / np.sqrt(len(more))))

    return [kernel for kernel, errors in squares.items() if fine(errors)]
