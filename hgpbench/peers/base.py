"""What models of others share: which libraries they need, and how training rows are set apart."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hgpbench.errors import Refusal
from hgpbench.models.base import Array, Estimator

Index = NDArray[np.intp]

STOPPING_SHARE = 0.1
"""Of the training rows, that tell boosting when to stop."""

PATIENCE = 50
"""Trees without a gain on the rows set apart, after which boosting stops."""

LEAST_VARIANCE = 1e-12
"""Of a prediction, for a target of unit variance."""

LEAST_ROWS = 10
"""Of training, some of which are set apart; the libraries fail at fewer, each in its own way."""


class Peer(Estimator):
    """An estimator whose arithmetic is a library's, with the contract of ours."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Modules to import, which are also the names to install."""
    extra: ClassVar[str] = ""
    """The extra of hgpbench that brings them; "" where nothing is needed."""

    def _check_size(self, n: int, d: int) -> None:
        absent = missing(type(self))
        if absent:
            raise Refusal(f"needs {' and '.join(absent)}, not installed here: {install(type(self))}")
        if n < LEAST_ROWS:
            raise Refusal(f"{type(self).__name__} needs at least {LEAST_ROWS} training rows, not {n}")


def missing(kind: type[Peer]) -> list[str]:
    """What a peer needs and this Python does not have."""
    return [name for name in kind.needs if find_spec(name) is None]


def install(kind: type[Peer]) -> str:
    """The command that brings what a peer needs."""
    return f"pip install 'hgpbench[{kind.extra}]'"


def set_apart(n: int, rng: np.random.Generator, share: float = STOPPING_SHARE) -> tuple[Index, Index]:
    """Rows to learn from, and at least one to stop by: of two rows, one each."""
    order = rng.permutation(n)
    count = max(1, round(share * n))
    return np.sort(order[count:]), np.sort(order[:count])


def boosted(
    build: Callable[[int], Any],
    stop: Callable[[Any, tuple[Array, Array], tuple[Array, Array]], int],
    X: Array,
    y: Array,
    most: int,
    rng: np.random.Generator,
) -> tuple[Any, int]:
    """A model of all rows, and its number of trees: the one that does best on rows set apart.

    ``stop`` fits a model of ``most`` trees to the first rows it is given and finds that number by the others.
    """
    train, rest = set_apart(len(y), rng)
    n_trees = stop(build(most), (X[train], y[train]), (X[rest], y[rest]))
    return build(n_trees).fit(X, y), n_trees


def folds(n: int, k: int, rng: np.random.Generator) -> Iterator[tuple[Index, Index]]:
    """Training and left-out rows of ``k`` folds, fewer where rows are."""
    parts = np.array_split(rng.permutation(n), max(2, min(k, n)))
    for place, part in enumerate(parts):
        others = np.concatenate([each for other, each in enumerate(parts) if other != place])
        yield np.sort(others), np.sort(part)


def out_of_fold(
    learn: Callable[[Array, Array], Callable[[Array], Array]],
    X: Array,
    y: Array,
    k: int,
    rng: np.random.Generator,
) -> Array:
    """A prediction (n,) of each row by a fit that has not seen it; ``learn`` gives a fit's predictor."""
    predicted = np.empty(len(y))
    for train, left_out in folds(len(y), k, rng):
        predicted[left_out] = learn(X[train], y[train])(X[left_out])
    return predicted
