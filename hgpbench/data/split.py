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
EVERY = "*"  # in the place of a column: all inputs, so that rows with the same inputs are one group
_WORDS = {"train": ("all", PUBLISHED), "test": ("rest", "train", PUBLISHED)}


@dataclass(frozen=True)
class Split:
    """What an experiment asks for: a count, a fraction of the rows, or a word.

    ``train`` may be "all" (then ``test`` is "train": scored in sample), ``test`` may be "rest" or "train",
    and both may be "published": the split that the dataset came with. With ``by``, the name of a column, rows
    that share a value of it are on one side (with "*", rows of the same inputs); with ``time``, test rows
    come after the training rows; with ``blocks`` the rows, as they stand in the file, are cut into so many
    pieces of which whole ones are tested on, and no training row stands within ``gap`` rows of them.
    """

    train: Share
    test: Share
    by: str | None = None
    time: str | None = None
    blocks: int | None = None
    gap: int | None = None

    def __post_init__(self) -> None:
        _check_share("train", self.train)
        _check_share("test", self.test)
        if (self.train == PUBLISHED) != (self.test == PUBLISHED):
            raise DataError(f"{self}: 'published' must be asked for both train and test")
        self._check_ways()
        if self.train == "all" and self.test != "train":
            raise DataError(f"{self}: no rows are left to test on; give train a count, or test: train")

    def _check_ways(self) -> None:
        """What a split goes by is of the right kind, one thing only, and leaves rows to choose."""
        for name in ("by", "time"):
            column = getattr(self, name)
            if column is not None and (not isinstance(column, str) or not column):
                raise DataError(f"split: {name} is {column!r:.60}; allowed: the name of a column")
        for name, least in (("blocks", 2), ("gap", 1)):
            count = getattr(self, name)
            if count is not None and (type(count) is not int or count < least):
                raise DataError(f"split: {name} is {count!r:.60}; allowed: a count, {least} at least")
        ways = [name for name in ("by", "time", "blocks") if getattr(self, name) is not None]
        if ways and (self.train in ("all", PUBLISHED) or self.test == "train"):
            raise DataError(f"{self}: {ways[0]} needs counts or fractions to train and test on")
        if len(ways) > 1:
            raise DataError(f"{self}: give {' or '.join(ways)}, not both")
        if self.gap is not None and self.blocks is None:
            raise DataError(f"{self}: gap: says what to leave out between blocks; give blocks too")

    def __str__(self) -> str:
        return f"split {{{', '.join(f'{key}: {value}' for key, value in self.asked().items())}}}"

    @property
    def order(self) -> str | None:
        """The column that the split goes by, if any."""
        return self.by or self.time

    def asked(self) -> dict[str, Share]:
        """What was asked, as plain data: what identifies a run, so nothing that was not asked for."""
        named = {name: getattr(self, name) for name in ("by", "time", "blocks", "gap")}
        return {
            "train": self.train,
            "test": self.test,
            **{name: value for name, value in named.items() if value is not None},
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
        if self.blocks is not None and self.blocks > rows:
            raise DataError(f"{self}: the dataset has {rows:,} rows; ask for fewer blocks")
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
    if split.blocks is not None:
        return _blocks(rows, n_train, n_test, np.random.default_rng(seed), split)
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
    is_test = _drawn(np.unique(values, return_inverse=True)[1], n_test, rng, asked)
    train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    return rng.permutation(train)[:n_train], rng.permutation(test)[:n_test]


def _drawn(group: NDArray[np.int64], n_test: int, rng: np.random.Generator, asked: str) -> NDArray[np.bool_]:
    """The rows of whole groups, numbered from 0, that together have ``n_test`` rows where so many can be."""
    sizes = np.bincount(group)
    if len(sizes) < 2:
        raise DataError(f"{asked}: every row has the same value; a split by groups needs two at least")
    order = rng.permutation(len(sizes))
    reached = np.cumsum(sizes[order])
    count = min(int(np.searchsorted(reached, n_test)) + 1, len(sizes) - 1)
    return np.isin(group, order[:count])


def _blocks(
    rows: int, n_train: int, n_test: int, rng: np.random.Generator, split: Split
) -> tuple[Index, Index]:
    """At most so many rows to train and to test on: blocks are drawn to test on, and rows near them left out.

    What stands together in a file was often measured together: minutes of a day, instants of a movement.
    """
    is_test = _drawn(np.arange(rows) * (split.blocks or 1) // rows, n_test, rng, str(split))
    gap = split.gap or 0
    before = np.concatenate([[0], np.cumsum(is_test)])  # test rows before each row
    place = np.arange(rows)
    near = before[np.minimum(place + gap + 1, rows)] > before[np.maximum(place - gap, 0)]
    train, test = np.flatnonzero(~near), np.flatnonzero(is_test)
    if not len(train):
        raise DataError(f"{split}: leaves no row to train on; ask for a smaller gap or fewer blocks")
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
