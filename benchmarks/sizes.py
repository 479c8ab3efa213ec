"""Sizes of models by rows and by inputs, for docs/choose.md: scores and processor seconds on made-up tables.

    OPENBLAS_NUM_THREADS=1 python benchmarks/sizes.py [--inputs 4 20] [--rows 1000 5000 20000] > table.md

The function is smooth, its inputs matter less and less, and the noise varies with the second of them by a
factor of seven in its deviation. 2,000 further rows are predicted. Sizes apart, models are as they come.
"""

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np

from hgpbench.metrics import score
from hgpbench.models import DVSHGP, NNGP, VSGP, Estimator, HetLinear
from hgpbench.prediction import Prediction

Array = np.ndarray
Make = Callable[[int], Estimator]
TEST = 2_000
FALL = 0.7  # of the weight of an input to that of the one before
HEAD = ("inputs", "rows", "model", "size", "SMSE", "MSLL", "calibration error [%]", "CPU s")


def table(rng: np.random.Generator, n: int, d: int) -> tuple[Array, Array, Array, Array]:
    """Inputs, targets, and the truth about them: function and noise variance."""
    X = rng.uniform(-1, 1, (n, d))
    weights = FALL ** np.arange(d)
    f = np.sin(3 * X + np.roll(X, -1, axis=1)) @ weights
    noise = np.exp(2 * X[:, 1] - 3)
    return X, f + np.sqrt(noise) * rng.standard_normal(n), f, noise


MODELS: dict[tuple[str, str], Make] = {
    ("hetlinear", ""): lambda seed: HetLinear(),
    **{("vsgp", f"{m} points"): lambda seed, m=m: VSGP(m, random_state=seed) for m in (100, 300)},
    **{
        ("dvshgp", f"{m} points, experts of {size}"): lambda seed, m=m, size=size: DVSHGP(
            n_inducing_f=m, n_inducing_g=m, expert_size=size, random_state=seed
        )
        for m, size in ((100, 500), (300, 1000))
    },
    **{("nngp", f"{k} neighbours"): lambda seed, k=k: NNGP(k, random_state=seed) for k in (25, 50, 100)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, nargs="+", default=[4, 20])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 5_000, 20_000])
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--only", nargs="+", choices=sorted({name for name, _ in MODELS}))
    asked = parser.parse_args()
    say(HEAD)
    say(["---"] * 4 + ["---:"] * 4)
    for d in asked.inputs:
        for n in asked.rows:
            measure(d, n, asked.seed, asked.only)


def measure(d: int, n: int, seed: int, only: list[str] | None) -> None:
    """The truth and each model on one table."""
    X, y, _, _ = table(np.random.default_rng(seed), n, d)
    Xs, ys, f, noise = table(np.random.default_rng(seed + 1_000), TEST, d)

    def told(name: str, size: str, prediction: Prediction, seconds: str) -> None:
        found = score(ys, prediction, float(y.mean()), float(y.var()))
        figures = (f"{found['smse']:.3f}", f"{found['msll']:.3f}", f"{100 * found['calibration']:.1f}")
        say([str(d), f"{n:,}", name, size, *figures, seconds])

    told("the truth", "", Prediction.gaussian(f, np.zeros(TEST), noise), "–")
    for (name, size), make in MODELS.items():
        if only and name not in only:
            continue
        begun = time.process_time()
        prediction = make(seed).fit(X, y).predict_dist(Xs)
        told(f"`{name}`", size, prediction, f"{time.process_time() - begun:.2g}")


def say(cells: tuple[str, ...] | list[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
