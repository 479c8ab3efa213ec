"""Do the neighbours hold on problems of other characters? NNGP and NNHGP by default, beside the truth.

    python benchmarks/characters.py [--rows 1000] [--seeds 20 21 22] [--only CHARACTER ...]
                                    [--models MODEL ...] [--out FILE]

Each problem is made up, so that its truth is known: the density of y given the inputs, which no model beats
but by luck. Beside them an exact GP with the kernel that left-out rows choose, where rows are few enough, and
boosting in two stages, where it is installed. Test rows are 4,000 others.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from hgpbench.metrics import calibration, coverage
from hgpbench.models import NNGP, NNHGP, Estimator, ExactGP
from hgpbench.peers import PEERS
from hgpbench.prediction import Prediction

Array = np.ndarray
Rng = np.random.Generator
TEST, FEW, EXACT = 4_000, 300, 2_000
WIDE = 3.0  # half a side of the cube of inputs, in what a function of unit wavelength has
DECIMALS = 4


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows of inputs and targets, and what is true at each: mean, noise's standard deviation, its shape."""

    X: Array
    y: Array
    f: Array
    std: Array
    tails: float = np.inf  # degrees of freedom of the noise, Student's; normal noise has infinitely many

    def take(self, rows: slice) -> "Drawn":
        """Some of them."""
        return Drawn(self.X[rows], self.y[rows], self.f[rows], self.std[rows], self.tails)

    def logpdf(self) -> Array:
        """The true log density of the targets; infinite where there is no noise."""
        if not self.std.any():
            return np.full(len(self.y), np.inf)
        return stats.t.logpdf(self.y, self.tails, self.f, self.std)


Draw = Callable[[Rng, int], Drawn]


def noisy(rng: Rng, X: Array, f: Array, std: Array | float) -> Drawn:
    """Normal noise about f."""
    std = np.broadcast_to(np.asarray(std, dtype=float), f.shape).copy()
    return Drawn(X, f + std * rng.normal(size=len(f)), f, std)


def inputs(rng: Rng, n: int, d: int = 2) -> Array:
    """Spread evenly over a cube."""
    return rng.uniform(-WIDE, WIDE, (n, d))


def waves(X: Array) -> Array:
    """A smooth function of the first two inputs."""
    return np.sin(1.5 * X[:, 0]) + np.cos(X[:, 1] + 0.5 * X[:, 0])


def smooth(rng: Rng, n: int) -> Drawn:
    """A smooth function of three inputs, without any noise."""
    X = inputs(rng, n, 3)
    return noisy(rng, X, waves(X) + 0.5 * X[:, 2] * np.sin(X[:, 0]), 0.0)


def rough(rng: Rng, n: int) -> Drawn:
    """The sum of two Brownian paths, each over one of two inputs, and a little noise."""
    X, f = inputs(rng, n), np.zeros(n)
    for x in X.T:
        order = np.argsort(x)
        f[order] += np.cumsum(rng.normal(size=n) * np.sqrt(np.diff(x[order], prepend=-WIDE)))
    return noisy(rng, X, f, 0.1)


def rounded(rng: Rng, n: int) -> Drawn:
    """Targets told in quarters, so that each is that of many rows; the truth is that of before."""
    drawn = constant(rng, n)
    return Drawn(drawn.X, np.round(4.0 * drawn.y) / 4.0, drawn.f, np.sqrt(drawn.std**2 + 1.0 / 192.0))


def copies(rng: Rng, n: int) -> Drawn:
    """Every row stands there twice, target and all."""
    drawn = varying(rng, n)
    rows = np.arange(n) // 2 * 2
    return Drawn(drawn.X[rows], drawn.y[rows], drawn.f[rows], drawn.std[rows])


def repeated(rng: Rng, n: int) -> Drawn:
    """About five rows at each place, each with a noise of its own, which varies."""
    places = inputs(rng, max(n // 5, 2))
    X = places[rng.integers(len(places), size=n)]
    return noisy(rng, X, waves(X), np.exp(-2.0 + 0.5 * X[:, 1]))


def idle(rng: Rng, n: int) -> Drawn:
    """25 inputs of which three matter."""
    X = inputs(rng, n, 25)
    return noisy(rng, X, waves(X) + X[:, 2], 0.3)


def heavy(rng: Rng, n: int) -> Drawn:
    """Noise with the tails of Student's t with three degrees of freedom."""
    X = inputs(rng, n)
    f, std = waves(X), np.full(n, 0.3)
    return Drawn(X, f + std * rng.standard_t(3.0, size=n), f, std, 3.0)


def varying(rng: Rng, n: int) -> Drawn:
    """Noise whose standard deviation varies a hundredfold."""
    X = inputs(rng, n)
    return noisy(rng, X, waves(X), np.exp(-2.3 + 2.3 * np.sin(X[:, 0] - X[:, 1])))


def constant(rng: Rng, n: int) -> Drawn:
    """A smooth function, and constant noise."""
    X = inputs(rng, n)
    return noisy(rng, X, waves(X), 0.5)


def step(rng: Rng, n: int) -> Drawn:
    """A cliff across the inputs, on a smooth function."""
    X = inputs(rng, n)
    return noisy(rng, X, 0.3 * waves(X) + np.where(X[:, 0] + 0.5 * X[:, 1] > 0.4, 1.0, -1.0), 0.1)


def nothing(rng: Rng, n: int) -> Drawn:
    """Inputs that say nothing about the target, but for the scale of its noise."""
    X = inputs(rng, n, 4)
    return noisy(rng, X, np.zeros(n), np.exp(0.5 * X[:, 0]))


def few(rng: Rng, n: int) -> Drawn:
    """A noise that varies threefold; there are 300 rows of it."""
    X = inputs(rng, n)
    return noisy(rng, X, waves(X), np.exp(-1.2 + 0.2 * X[:, 0]))


KINDS = (smooth, rough, rounded, copies, repeated, idle, heavy, varying, constant, step, nothing, few)
CHARACTERS: dict[str, Draw] = {draw.__name__: draw for draw in KINDS}


def problem(name: str, rows: int, seed: int, test: int = TEST) -> tuple[Drawn, Drawn]:
    """Training and test rows."""
    n = min(rows, FEW) if name == "few" else rows
    place = list(CHARACTERS).index(name)
    drawn = CHARACTERS[name](np.random.default_rng([seed, place]), n + test)
    return drawn.take(slice(n)), drawn.take(slice(n, None))


def scored(train: Drawn, test: Drawn, mean: Array, logpdf: Array) -> dict[str, float]:
    """SMSE and exact MSLL."""
    trivial = stats.norm.logpdf(test.y, train.y.mean(), train.y.std())
    smse = float(np.mean((test.y - mean) ** 2) / np.var(test.y))
    return {"SMSE": smse, "MSLL": -float(np.mean(logpdf - trivial))}


def scores(train: Drawn, test: Drawn, found: Prediction) -> dict[str, float]:
    """The same of a prediction, with the MSLL of a normal density of its moments, and its calibration."""
    normal = stats.norm.logpdf(test.y, found.mean, np.sqrt(found.var))
    return {
        **scored(train, test, found.mean, found.logpdf(test.y)),
        "normal MSLL": scored(train, test, found.mean, normal)["MSLL"],
        "coverage": coverage(test.y, found, 0.0, 1.0, percent=95),
        "calibration": calibration(test.y, found, 0.0, 1.0),
    }


def models(rows: int, seed: int) -> dict[str, Estimator]:
    """What is compared."""
    found: dict[str, Estimator] = {
        "nngp": NNGP(n_jobs=1, random_state=seed),
        "nnhgp": NNHGP(n_jobs=1, random_state=seed),
    }
    if rows <= EXACT:
        found["gp"] = ExactGP(kernel="auto", random_state=seed)
    if find_spec("lightgbm"):
        found["lightgbm"] = PEERS["lightgbm"](random_state=seed)
    return found


def told(model: Estimator) -> str:
    """What it chose."""
    names = ("kernel_", "noise_kernel_", "n_neighbors_", "weights_", "floor_")
    return " ".join(str(getattr(model, name)) for name in names if hasattr(model, name))


def measured(name: str, rows: int, seed: int, only: list[str] | None) -> list[dict[str, object]]:
    """One line for the truth and each model."""
    train, test = problem(name, rows, seed)
    about = {"character": name, "rows": len(train.y), "seed": seed}
    lines: list[dict[str, object]] = [about | {"model": "truth"} | scored(train, test, test.f, test.logpdf())]
    for label, model in models(len(train.y), seed).items():
        if only and label not in only:
            continue
        start = time.process_time()
        try:
            found = model.fit(train.X, train.y).predict_dist(test.X)
            seconds = time.process_time() - start
            line = scores(train, test, found) | {"seconds": seconds, "chosen": told(model)}
        except (ValueError, ArithmeticError) as error:
            line = {"chosen": f"failed: {error}"}
        lines.append(about | {"model": label} | line)
        print(lines[-1], flush=True)
    return lines


def table(lines: pd.DataFrame) -> str:
    """Means over the seeds, in Markdown."""
    keys = ["character", "rows", "model"]
    means = lines.groupby(keys, sort=False).mean(numeric_only=True).drop(columns="seed")
    columns = [*keys, *means.columns]
    rows = [[*key, *row] for key, row in zip(means.index, means.to_numpy(), strict=True)]
    text = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(_cell(value) for value in row) + " |" for row in text)


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if np.isfinite(value) else "–"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, nargs="*", default=[20, 21, 22])
    parser.add_argument("--only", nargs="*", choices=CHARACTERS, default=list(CHARACTERS))
    parser.add_argument("--models", nargs="*", help="labels; all where none is named")
    parser.add_argument("--out", type=Path, help="a file for the scores of every seed, as CSV")
    options = parser.parse_args()
    lines: list[dict[str, object]] = []
    for seed in options.seeds:
        for name in options.only:
            lines += measured(name, options.rows, seed, options.models)
            if options.out:
                pd.DataFrame(lines).to_csv(options.out, index=False)
    print(table(pd.DataFrame(lines)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
