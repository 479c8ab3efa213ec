"""The paper's synthetic problems: drawn afresh from each run's seed, with the truth known."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hgpbench.data.split import Fold, Share, Split
from hgpbench.errors import DataError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Generator:
    """y = sinc(t) + N(0, sigma^2(t)) on the cube [-10, 10]^d, where t is one number made of the inputs."""

    name: str
    n_inputs: int
    scalar: Callable[[Array], Array]
    split: Split
    version: int = 1  # raise it when the drawn values change: it is part of a run's identity

    @property
    def sha256(self) -> str:
        """Stands in for a content hash: the same generator and seed give the same rows."""
        return hashlib.sha256(f"hgpbench synthetic {self.name} {self.version}".encode()).hexdigest()

    def fold(self, split: Split, seed: int) -> Fold:
        """A training set drawn uniformly and an even test grid, both noisy, from independent streams."""
        n_train, n_test = self.sizes(split)
        train_rng, test_rng = np.random.default_rng(seed).spawn(2)
        X_train = train_rng.uniform(-10.0, 10.0, (n_train, self.n_inputs))
        y_train = self._observe(X_train, train_rng)
        if split.test == "train":
            X_test, y_test = X_train, y_train
        else:
            X_test = self._grid(n_test)
            y_test = self._observe(X_test, test_rng)
        truth_mean, truth_noise_var = self.truth(X_test)
        index = np.arange(n_test)
        return Fold(X_train, y_train, X_test, y_test, index, truth_mean, truth_noise_var)

    def truth(self, X: Array) -> tuple[Array, Array]:
        """Latent function and noise variance at ``X``."""
        t = self.scalar(X)
        return np.sinc(t), noise_std(t) ** 2

    def sizes(self, split: Split) -> tuple[int, int]:
        """Numbers of training and test points; only counts make sense where rows are drawn."""
        n_train = self._as_count("train", split.train)
        n_test = n_train if split.test == "train" else self._as_count("test", split.test)
        if split.test != "train" and self._side(n_test) ** self.n_inputs != n_test:
            raise DataError(
                f"{self.name}: {n_test:,} test points do not fill an even grid over {self.n_inputs} inputs; "
                f"take {self._side(n_test) ** self.n_inputs:,}"
            )
        return n_train, n_test

    def _as_count(self, part: str, share: Share) -> int:
        if isinstance(share, int):
            return share
        raise DataError(f"{self.name}: {part} is {share!r}; rows that are drawn, not stored, need a count")

    def _side(self, points: int) -> int:
        return math.isqrt(points) if self.n_inputs == 2 else points

    def _grid(self, points: int) -> Array:
        axis = np.linspace(-10.0, 10.0, self._side(points))
        return np.stack(np.meshgrid(*[axis] * self.n_inputs, indexing="ij"), axis=-1).reshape(points, -1)

    def _observe(self, X: Array, rng: np.random.Generator) -> Array:
        mean, noise_var = self.truth(X)
        return mean + np.sqrt(noise_var) * rng.standard_normal(len(X))


def noise_std(t: Array) -> Array:
    """Standard deviation of the noise (paper, below the equation of the toy example)."""
    return 0.05 + 0.2 * (1 + np.sin(2 * t)) / (1 + np.exp(-0.2 * t))


def _only_input(X: Array) -> Array:
    return X[:, 0]


def _product(X: Array) -> Array:
    return 0.1 * X[:, 0] * X[:, 1]


GENERATORS = {
    "toy": Generator("toy", 1, _only_input, Split(500, 500)),
    "sinc2d": Generator("sinc2d", 2, _product, Split(10_000, 4_900)),
}
