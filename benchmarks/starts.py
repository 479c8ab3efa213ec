"""What the first values are worth: the bound that a fit reaches from one guess, from the search, at random.

    python benchmarks/starts.py [--rows 2000] [--random 20] [--seed 20] [--only DATASET] [--models MODEL ...]
                                [--iterations 300]

For each model and data set: the bound (of the standardised target) from the plain guess of half a root of d
standard deviations and a quarter of the variance, the bound from the default search, the lengthscale that it
started from in terms of that guess, and the best and the median of random starts whose lengthscale and noise
are drawn log-uniformly from the range of the grid. All other settings are the same; vshgp goes without its
guard, which gives up bound for a better mean.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np

from hgpbench.data.source import Fold, open_source
from hgpbench.data.split import Split
from hgpbench.fitting.start import Trial, guess, lengthscales
from hgpbench.models import DVSHGP, RBCM, SVSHGP, VSGP, VSHGP, Estimator, ExactGP

DATASETS = {
    "toy": ("toy", None),
    "solar": ("solar", None),
    "sinc2d": ("sinc2d", None),
    "protein": ("protein", None),
    "sarcos": ("sarcos", "subset"),
}
POINTS = {"n_inducing_f": 100, "n_inducing_g": 50}
MODELS: dict[str, Callable[[int], Estimator]] = {
    "gp": lambda seed: ExactGP(random_state=seed),
    "vsgp": lambda seed: VSGP(n_inducing=100, random_state=seed),
    "rbcm": lambda seed: RBCM(expert_size=250, random_state=seed, n_jobs=1),
    "vshgp": lambda seed: VSHGP(**POINTS, guard=False, random_state=seed),
    "dvshgp": lambda seed: DVSHGP(expert_size=250, **POINTS, random_state=seed, n_jobs=1),
    "svshgp": lambda seed: SVSHGP(**POINTS, batch_size=250, max_iter=500, random_state=seed),
}
GRIDS = (
    "hgpbench.models.gp.grid",
    "hgpbench.models.rbcm.grid",
    "hgpbench.fitting.collapsed.grid",
    "hgpbench.experts.fit.grid",
)
Drawn = Callable[[np.ndarray, np.ndarray], list[Trial]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--random", type=int, default=20)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--only", choices=DATASETS)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--iterations", type=int, help="of vshgp, instead of 100")
    asked = parser.parse_args()
    if asked.iterations:
        MODELS["vshgp"] = lambda seed: VSHGP(
            **POINTS, guard=False, max_iter=asked.iterations, random_state=seed
        )
    print("| data | model | plain guess | search (from) | random: best, median | search less best |")
    print("|---|---|---:|---:|---:|---:|")
    for name in [asked.only] if asked.only else DATASETS:
        data = fold(name, asked.rows, asked.seed)
        for model in asked.models:
            print(row(name, model, MODELS[model], data, asked.random, asked.seed), flush=True)


def fold(name: str, rows: int, seed: int) -> Fold:
    source = open_source(*DATASETS[name])
    if name == "solar":
        return source.fold(Split("all", "train"), seed)
    return source.fold(Split(min(rows, 500) if name == "toy" else rows, 484), seed)  # a grid for sinc2d


def row(name: str, model: str, make: Callable[[int], Estimator], data: Fold, draws: int, seed: int) -> str:
    """One line of the table."""
    found = make(seed).fit(data.X_train, data.y_train)
    plain = bound(make(seed), data, lambda X, y: [Trial(1.0, 0.25, guess(X, y))])
    rng = np.random.default_rng(seed)
    reached = [bound(make(seed), data, at_random(rng)) for _ in range(draws)]
    best, gained = max(reached), found.elbo_ - found.log_jacobian_
    return (
        f"| {name} | {model} | {plain:.1f} | {gained:.1f} ({found.starts_[0]['lengthscale']:.3g}) "
        f"| {best:.1f}, {np.median(reached):.1f} "
        f"| {gained - best:+.1f} ({(gained - best) / abs(best):+.1%}) |"
    )


def bound(model: Estimator, data: Fold, drawn: Drawn) -> float:
    """What a fit reaches from these first values; minus infinity where it fails."""
    try:
        with starting_from(drawn):
            model.set_params(n_restarts=0).fit(data.X_train, data.y_train)
    except (ValueError, RuntimeError, ArithmeticError):
        return -np.inf
    return model.elbo_ - model.log_jacobian_


def at_random(rng: np.random.Generator) -> Drawn:
    """One start, its lengthscale and its noise log-uniform within the grid."""

    def drawn(X: np.ndarray, y: np.ndarray) -> list[Trial]:
        longest, *_, shortest = lengthscales(X)
        stretch = float(np.exp(rng.uniform(np.log(shortest), np.log(longest))))
        share = float(np.exp(rng.uniform(np.log(3e-4), np.log(0.3))))
        first = guess(X, y)
        values = {"ell": stretch * first["ell"], "sigma2": np.asarray(share * first["s2_k"])}
        return [Trial(stretch, share, first | values)]

    return drawn


@contextmanager
def starting_from(drawn: Drawn) -> Iterator[None]:
    """Put these first values in the place of the grid, for every model."""
    patches = [mock.patch(place, drawn) for place in GRIDS]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
