"""What each part of NNHGP is worth: kernel of f, neighbours K, and where the noise comes from.

    python benchmarks/ablation.py [--data protein] [--rows 5000] [--seed 20] [--kernels KERNEL ...]
                                  [--neighbors 25 50 100]

For each kernel parameters of f are learned once, with 50 neighbours; for each K then the noise is

    constant    sigma2
    in-sample   e^g from residuals at rows that f has seen
    left-out    e^g from residuals at rows that f has not seen
    reserve     the same, believed as far as rows kept from f and g ask for
    weights     the same, f learned again with its rows weighed by e^g

Scores are those of training rows that were left out of all of this, by which to choose, and of test rows.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from hgpbench.data.source import open_source
from hgpbench.data.split import Split
from hgpbench.fitting import nearest, reserve, scatter, weights
from hgpbench.fitting.ascent import Ascent
from hgpbench.fitting.nearest import Signal, Task
from hgpbench.fitting.reserve import Reserves
from hgpbench.fitting.scatter import Residuals, Scatter
from hgpbench.gp.kernels import KERNELS, KernelName
from hgpbench.gp.tasks import serially
from hgpbench.metrics import score
from hgpbench.prediction import Prediction
from hgpbench.scaling import Scaling

TEST, LEFT_OUT, MAX_ITER, RESTARTS, NOISE_NEIGHBORS = 4_000, 4_000, 20, 3, 100
FIGURES = {"SMSE": "smse", "exact MSLL": "msll", "normal MSLL": "msll_gaussian", "calibration": "calibration"}
Array = np.ndarray
Say = Callable[[Array], Prediction]


@dataclass(frozen=True, eq=False)
class Rows:
    """Scaled rows to score."""

    X: Array
    y: Array


def drawn(data: str, rows: int, seed: int) -> tuple[Task, Rows, Rows]:
    """Rows to learn from, others of the training rows, and test rows."""
    name, _, variant = data.partition(":")
    fold = open_source(name, variant or None).fold(Split(rows + LEFT_OUT, TEST), seed)
    scaling = Scaling.of(fold.X_train[:rows], fold.y_train[:rows])
    X, y = scaling.inputs(fold.X_train), scaling.target(fold.y_train)
    task = Task.of(X[:rows], y[:rows], np.random.default_rng(seed), serially)
    test = Rows(scaling.inputs(fold.X_test), scaling.target(fold.y_test))
    return task, Rows(X[rows:], y[rows:]), test


def in_sample(task: Task, f: Signal) -> Residuals:
    """What f leaves at rows that it has seen."""
    mu, s2 = f.neighbourhood(task).moments(task.X)
    scale = np.sqrt(s2 + float(f.values["sigma2"]))
    return Residuals(task.X, (task.y - mu) / scale, np.log(scale), np.argsort(task.order))


def left_out(task: Task, f: Signal) -> Residuals:
    """What it leaves at rows that it has not seen."""
    return Residuals.of(task, f, np.arange(len(task.y)))


def scale_of(task: Task, residuals: Residuals) -> Scatter:
    """g from these residuals."""
    begun = scatter.begun(residuals, "matern12", NOISE_NEIGHBORS, task)
    return scatter.refined(residuals, begun, Ascent(len(task.y), MAX_ITER), task)


def constant(task: Task, f: Signal) -> Say:
    """Prediction with the noise variance of f."""
    near = f.neighbourhood(task)
    return lambda X: Prediction.gaussian(*near.moments(X), float(f.values["sigma2"]))


def varying(task: Task, f: Signal, g: Scatter, reserves: Reserves | None = None) -> Say:
    """Prediction with e^g."""
    near, noise, kept = f.neighbourhood(task), g.neighbourhood(), reserves or Reserves()

    def say(X: Array) -> Prediction:
        mean, var = noise.moments(X)
        level, width, share, rare = kept.of(near.holds(X))
        scale = mean + level, width * var
        return Prediction.scaled(*near.moments(X), float(f.values["sigma2"]), scale, share, rare)

    return say


def noises(task: Task, f: Signal) -> dict[str, Say]:
    """All of them for one kernel and K."""
    seen, unseen = scale_of(task, in_sample(task, f)), scale_of(task, left_out(task, f))
    weighed = weights.weighted(task, unseen.left_out(serially)[0], 1.0)
    again = weights.relearned(weighed, f, MAX_ITER)
    ascent = Ascent(len(task.y), MAX_ITER)
    anew = scatter.refined(left_out(weighed, again), unseen, ascent, weighed, scatter.AGAIN)
    return {
        "constant": constant(task, f),
        "in-sample": varying(task, f, seen),
        "left-out": varying(task, f, unseen),
        "reserve": varying(task, f, unseen, reserve.reserves(task, f, unseen)),
        "weights": varying(weighed, again, anew, reserve.reserves(weighed, again, anew)),
    }


def line(say: Say, task: Task, parts: list[Rows]) -> list[str]:
    """Scores of each part."""
    mean, var = float(task.y.mean()), float(task.y.var())
    found = [score(part.y, say(part.X), mean, var) for part in parts]
    return [f"{scores[name]:.3f}" for scores in found for name in FIGURES.values()]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="protein")
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--kernels", nargs="*", choices=KERNELS, default=list(KERNELS))
    parser.add_argument("--neighbors", type=int, nargs="*", default=[25, 50, 100])
    options = parser.parse_args()
    columns = ["kernel", "K", "noise", *FIGURES, *(f"test: {name}" for name in FIGURES)]
    print("\n".join("| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns))))
    with threadpool_limits(1, user_api="blas"):
        task, *parts = drawn(options.data, options.rows, options.seed)
        for kernel in options.kernels:
            table(task, parts, kernel, options.neighbors)


def table(task: Task, parts: list[Rows], kernel: KernelName, neighbors: list[int]) -> None:
    """Lines of one kernel."""
    begun = nearest.begun(task, kernel, nearest.FIRST_NEIGHBORS, RESTARTS, MAX_ITER)
    learned = nearest.refined(task, begun, begun.K, Ascent(len(task.y), MAX_ITER))
    for K in neighbors:
        for name, say in noises(task, replace(learned, K=K)).items():
            print("| " + " | ".join([kernel, str(K), name, *line(say, task, parts)]) + " |", flush=True)


if __name__ == "__main__":
    main()
