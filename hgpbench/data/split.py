"""Which rows a model trains on, and which it is scored on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hgpbench.errors import DataError

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Share = int | float | str

PUBLISHED = "published"
_WORDS = {"train": ("all", PUBLISHED), "test": ("rest", "train", PUBLISHED)}


@dataclass(frozen=True)
class Split:
    """What an experiment asks for: a count, a fraction of the rows, or a word.

    ``train`` may be "all" (then ``test`` is "train": scored in sample), ``test`` may be "rest" or "train",
    and both may be "published": the split that the dataset came with. With ``by``, the name of a column, rows
    that share a value of it are on one side; with ``time``, test rows come after the training rows.
    """

    train: Share
    test: Share
    by: str | None = None
    time: str | None = None

    def __post_init__(self) -> None:
        _check_share("train", self.train)
        _check_share("test", self.test)
        if (self.train == PUBLISHED) != (self.test == PUBLISHED):
            raise DataError(f"{self}: 'published' must be asked for both train and test")
        if self.order is not None and (self.train in ("all", PUBLISHED) or self.test == "train"):
            raise DataError(f"{self}: by and time need counts or fractions to train and test on")
        if self.by is not None and self.time is not None:
            raise DataError(f"{self}: give by or time, not both")
        if self.train == "all" and self.test != "train":
            raise DataError(f"{self}: no rows are left to test on; give train a count, or test: train")

    def __str__(self) -> str:
        more = "".join(f", {key}: {name}" for key, name in (("by", self.by), ("time", self.time)) if name)
        return f"split {{train: {self.train}, test: {self.test}{more}}}"

    @property
    def order(self) -> str | None:
        """The column that the split goes by, if any."""
        return self.by or self.time

    def asked(self) -> dict[str, Share]:
        """What was asked, as plain data: what identifies a run, so nothing that was not asked for."""
        named = (("by", self.by), ("time", self.time))
        return {
            "train": self.train,
            "test": self.test,
            **{key: name for key, name in named if name is not None},
        }

    def resolve(self, rows: int, published_test: int | None = None) -> tuple[int, int]:
        """Numbers of training and test rows out of ``rows``, or DataError where that cannot be."""
        if self.train == PUBLISHED:
            if published_test is None:
                raise DataError(
                    f"{self}: this dataset was not published with a split; give counts or fractions"
                )
            return rows - published_test, published_test
        n_train = rows if self.train == "all" else _count(self.train, rows)
        if self.test == "train":
            n_test = n_train
        else:
            n_test = rows - n_train if self.test == "rest" else _count(self.test, rows)
        asked = n_train if self.test == "train" else n_train + max(n_test, 0)
        if asked > rows:
            raise DataError(f"{self}: asks for {asked:,} rows, the dataset has {rows:,}; ask for fewer")
        for part, count in (("train", n_train), ("test", n_test)):
            if count < 1:
                raise DataError(f"{self}: leaves no {part} rows out of {rows:,}; ask for at least one")
        return n_train, n_test


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test rows of one run, C-ordered, in the user's units; the truth where it is known."""

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array
    test_index: Index  # rows of the dataset, or points of the test grid
    truth_mean: Array | None = None
    truth_noise_var: Array | None = None
    columns: tuple[str, ...] | None = None  # names of the inputs, where they are not all of the dataset's


def split_rows(
    rows: int,
    split: Split,
    seed: int,
    published_test: Index | None = None,
    values: NDArray[Any] | None = None,
) -> tuple[Index, Index]:
    """Training and test rows, disjoint unless ``test`` is "train"; the same for the same seed.

    ``values`` are those of the column that the split goes by.
    """
    n_train, n_test = split.resolve(rows, None if published_test is None else len(published_test))
    if values is not None and split.by is not None:
        return _groups(values, n_train, n_test, np.random.default_rng(seed), str(split))
    if values is not None and split.time is not None:
        return _window(values, n_train, n_test, np.random.default_rng(seed), seed)
    if split.train == PUBLISHED and published_test is not None:
        return np.setdiff1d(np.arange(rows), published_test), published_test
    if split.train == "all":
        order = np.arange(rows)
    else:
        order = np.random.default_rng(seed).permutation(rows)
    train = order[:n_train]
    return train, train if split.test == "train" else order[n_train : n_train + n_test]


def _groups(
    values: NDArray[Any], n_train: int, n_test: int, rng: np.random.Generator, asked: str
) -> tuple[Index, Index]:
    """At most so many rows to train and to test on, no value on both sides: groups are drawn to test on."""
    _, group = np.unique(values, return_inverse=True)
    sizes = np.bincount(group)
    if len(sizes) < 2:
        raise DataError(f"{asked}: every row has the same value; a split by groups needs two at least")
    order = rng.permutation(len(sizes))
    reached = np.cumsum(sizes[order])
    count = min(int(np.searchsorted(reached, n_test)) + 1, len(sizes) - 1)
    is_test = np.isin(group, order[:count])
    train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    return rng.permutation(train)[:n_train], rng.permutation(test)[:n_test]


def _window(
    values: NDArray[Any], n_train: int, n_test: int, rng: np.random.Generator, seed: int
) -> tuple[Index, Index]:
    """Rows next to each other in time, the later ones to test on; the last such window for seed 0.

    Rows of one moment are on one side: the test begins after the last training row, not at it.
    """
    order = np.argsort(values, kind="stable")
    slack = len(values) - n_train - n_test
    first = slack - (int(rng.integers(0, slack + 1)) if seed else 0)
    train, rest = order[first : first + n_train], order[first + n_train : first + n_train + n_test]
    later = rest[values[rest] > values[train[-1]]]
    return train, later if len(later) else rest


def _check_share(part: str, share: Share) -> None:
    words = _WORDS[part]
    if isinstance(share, str):
        fine = share in words
    elif isinstance(share, bool):
        fine = False
    elif isinstance(share, int):
        fine = share >= 1
    else:
        fine = 0 < share < 1
    if not fine:
        listed = ", ".join(repr(word) for word in words)
        raise DataError(f"split: {part} is {share!r}; allowed: a count, a fraction between 0 and 1, {listed}")


def _count(share: Share, rows: int) -> int:
    """A count as it is, a fraction rounded down: 0.7 and 0.3 of any number of rows fit together."""
    return share if isinstance(share, int) else int(float(share) * rows + 1e-9)
