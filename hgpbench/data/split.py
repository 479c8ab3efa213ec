"""Which rows a model trains on, and which it is scored on."""

from dataclasses import dataclass

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
    and both may be "published": the split that the dataset came with.
    """

    train: Share
    test: Share

    def __post_init__(self) -> None:
        _check_share("train", self.train)
        _check_share("test", self.test)
        if (self.train == PUBLISHED) != (self.test == PUBLISHED):
            raise DataError(f"{self}: 'published' must be asked for both train and test")
        if self.train == "all" and self.test != "train":
            raise DataError(f"{self}: no rows are left to test on; give train a count, or test: train")

    def __str__(self) -> str:
        return f"split {{train: {self.train}, test: {self.test}}}"

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


def split_rows(
    rows: int, split: Split, seed: int, published_test: Index | None = None
) -> tuple[Index, Index]:
    """Training and test rows, disjoint unless ``test`` is "train"; the same for the same seed."""
    n_train, n_test = split.resolve(rows, None if published_test is None else len(published_test))
    if split.train == PUBLISHED and published_test is not None:
        return np.setdiff1d(np.arange(rows), published_test), published_test
    if split.train == "all":
        order = np.arange(rows)
    else:
        order = np.random.default_rng(seed).permutation(rows)
    train = order[:n_train]
    return train, train if split.test == "train" else order[n_train : n_train + n_test]


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
