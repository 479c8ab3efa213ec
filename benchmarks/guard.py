"""What the guard of VSHGP is worth: its errors over those with constant noise, with and without the guard.

    python benchmarks/guard.py [--points 100] [--seeds 20 21 22] [--only TABLE ...] > table.md

Tables of different character: heteroscedastic or not, smooth or not, without noise, with heavy tails, with
repeated rows; some are rows of fetched data sets. 2,000 rows of each are predicted, or what there is.
"""

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from sklearn import datasets

from hgpbench.data.source import open_source
from hgpbench.data.split import Split
from hgpbench.models import VSGP, VSHGP, Estimator

Array = np.ndarray
Table = Callable[[int], tuple[Array, Array, Array, Array]]
Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]
TRAIN, TEST = 1_000, 2_000


def stored(name: str, variant: str | None, n: int, s: int = TEST) -> Table:
    """Rows of a data set of ours."""

    def table(seed: int) -> tuple[Array, Array, Array, Array]:
        fold = open_source(name, variant).fold(Split(n, s), seed)
        return fold.X_train, fold.y_train, fold.X_test, fold.y_test

    return table


def drawn(draw: Draw) -> Table:
    """Rows that are made up."""

    def table(seed: int) -> tuple[Array, Array, Array, Array]:
        X, y = draw(np.random.default_rng(1000 + seed), TRAIN + TEST)
        return X[:TRAIN], y[:TRAIN], X[TRAIN:], y[TRAIN:]

    return table


def friedman(number: int, noise: float) -> Table:
    make = getattr(datasets, f"make_friedman{number}")
    return drawn(lambda rng, n: make(n, noise=noise, random_state=int(rng.integers(2**31))))


def diabetes(seed: int) -> tuple[Array, Array, Array, Array]:
    X, y = datasets.load_diabetes(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order[:350]], y[order[:350]], X[order[350:]], y[order[350:]]


def free(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.uniform(-1, 1, (n, 5))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + np.cos(2 * X[:, 3] + X[:, 4])


def normal8(noise: Callable[[Array], Array | float]) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        X = rng.normal(size=(n, 8))
        f = np.sin(X[:, 0] + X[:, 1]) + 0.3 * X[:, 2] * X[:, 3]
        return X, f + noise(X) * rng.normal(size=n)

    return draw


def steps(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.uniform(0, 1, (n, 3))
    f = (X[:, 0] > 0.5) + 2 * (X[:, 1] > 0.3) * (X[:, 2] < 0.6)
    return X, f + 0.1 * rng.normal(size=n)


def heavy_tails(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.standard_t(2.5, n)


def quick(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.uniform(0, 1, (n, 2))
    return X, np.sin(25 * X[:, 0]) + np.sin(20 * X[:, 1]) * X[:, 0] + 0.02 * rng.normal(size=n)


def linear(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.uniform(-1, 1, (n, 4))
    return X, X @ [1, 2, 0, -1] + np.exp(X[:, 0] + X[:, 1] - 1) * rng.normal(size=n)


def arm(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    turns, lengths = rng.uniform(-np.pi / 2, np.pi / 2, (n, 6)), np.array([1, 0.8, 0.6, 0.4, 0.3, 0.2])
    angles = np.cumsum(turns, 1)
    reach = np.hypot((lengths * np.cos(angles)).sum(1), (lengths * np.sin(angles)).sum(1))
    return turns, reach + 0.01 * rng.normal(size=n)


def lognormal(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.uniform(0, 1, (n, 3))
    return X, np.exp(2 * X[:, 0] + np.sin(6 * X[:, 1]) + 0.3 * rng.normal(size=n))


def counts(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.integers(0, 8, (n, 3)).astype(float)
    return X, rng.poisson(2 + X[:, 0] * X[:, 1] / 4).astype(float)


TABLES: dict[str, Table] = {
    "toy": stored("toy", None, 500, 484),
    "sinc2d": stored("sinc2d", None, 1_000, 484),
    "protein": stored("protein", None, 2_000),
    "sarcos": stored("sarcos", "subset", 2_000),
    "3droad": stored("3droad", "sample", 2_000),
    "diabetes": diabetes,
    "friedman1": friedman(1, 1.0),
    "friedman1 without noise": friedman(1, 0.0),
    "friedman2": friedman(2, 100.0),
    "friedman3": friedman(3, 0.1),
    "5 inputs without noise": drawn(free),
    "8 inputs, noise varies": drawn(normal8(lambda X: np.exp(0.8 * X[:, 4] - 1))),
    "8 inputs, constant noise": drawn(normal8(lambda X: 0.3)),
    "steps": drawn(steps),
    "heavy tails": drawn(heavy_tails),
    "quick, hardly any noise": drawn(quick),
    "linear, noise varies": drawn(linear),
    "robot arm, hardly any noise": drawn(arm),
    "lognormal": drawn(lognormal),
    "counts, repeated rows": drawn(counts),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=[20, 21, 22])
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    asked = parser.parse_args()
    print("| table | SMSE of vsgp | ratio without guard | with | MSLL of vsgp | without guard | with |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in asked.only:
        scores = np.array([scored(TABLES[name](seed), asked.points, seed) for seed in asked.seeds])
        ratios = np.exp(np.log(scores[:, 1:, 0] / scores[:, :1, 0]).mean(axis=0))
        losses = " | ".join(f"{loss:.3f}" for loss in scores[:, :, 1].mean(axis=0))
        print(
            f"| {name} | {scores[:, 0, 0].mean():.4g} | {ratios[0]:.3f} | {ratios[1]:.3f} | {losses} |",
            flush=True,
        )


def scored(data: tuple[Array, Array, Array, Array], m: int, seed: int) -> list[tuple[float, float]]:
    """SMSE and exact MSLL of vsgp, and of vshgp without and with its guard."""
    models: list[Estimator] = [
        VSGP(m, random_state=seed),
        VSHGP(m, m, guard=False, random_state=seed),
        VSHGP(m, m, random_state=seed),
    ]
    X, y, Xs, ys = data
    trivial = -0.5 * np.log(2 * np.pi * y.var()) - (ys - y.mean()) ** 2 / (2 * y.var())
    scores = []
    for model in models:
        found = model.fit(X, y).predict_dist(Xs)
        loss = float(np.mean(trivial - found.logpdf(ys)))
        scores.append((float(np.mean((ys - found.mean) ** 2) / ys.var()), loss))
    return scores


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
