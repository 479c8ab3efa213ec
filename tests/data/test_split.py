"""Splits are disjoint, seeded and possible; scales come from the training rows and survive any magnitude."""

import numpy as np
import pytest

from hgpbench.data.split import Split, split_rows
from hgpbench.errors import DataError


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        (Split(60, 40), (60, 40)),
        (Split(0.8, "rest"), (80, 20)),
        (Split(0.29, 0.29), (29, 29)),  # 0.29 * 100 is 28.999... in binary
        (Split(90, 0.1), (90, 10)),
        (Split(7, "train"), (7, 7)),
        (Split("all", "train"), (100, 100)),
    ],
)
def test_resolve_gives_counts(split: Split, sizes: tuple[int, int]) -> None:
    assert split.resolve(100) == sizes


@pytest.mark.parametrize("rows", range(2, 60))
@pytest.mark.parametrize("fraction", [0.5, 0.7, 0.9])
def test_complementary_fractions_always_fit_together(rows: int, fraction: float) -> None:
    other = round(1 - fraction, 3)
    if min(fraction, other) * rows < 1:
        with pytest.raises(DataError, match="leaves no"):
            Split(fraction, other).resolve(rows)
    else:
        assert rows - 1 <= sum(Split(fraction, other).resolve(rows)) <= rows


@pytest.mark.parametrize(
    ("split", "complaint"),
    [
        (Split(90, 11), "asks for 101 rows, the dataset has 100"),
        (Split(100, "rest"), "leaves no test rows"),
        (Split(101, "train"), "asks for 101 rows"),
        (Split(0.001, 5), "leaves no train rows"),
        (Split(101, "rest"), "asks for 101 rows"),
        (Split("published", "published"), "not published with a split"),
    ],
)
def test_impossible_splits_say_why(split: Split, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        split.resolve(100)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (0, 5), (-3, 5), (1.5, 5), (0.0, 5), (1.0, "rest"), (True, 5), ("rest", 5), ("some", 5), (5, "all"),
        (5, float("nan")), ("all", "rest"), ("all", 5), ("published", "rest"), (5, "published"),
    ],
)  # fmt: skip
def test_senseless_splits_are_refused(train: object, test: object) -> None:
    with pytest.raises(DataError, match="split"):
        Split(train, test)


def test_rows_are_disjoint_seeded_and_within_the_set() -> None:
    train, test = split_rows(100, Split(70, 30), seed=3)
    assert sorted([*train, *test]) == list(range(100))
    again = split_rows(100, Split(70, 30), seed=3)
    np.testing.assert_array_equal(train, again[0])
    np.testing.assert_array_equal(test, again[1])
    assert set(train) != set(split_rows(100, Split(70, 30), seed=4)[0])


def test_the_test_size_does_not_move_the_training_rows() -> None:
    small, _ = split_rows(100, Split(50, 10), seed=1)
    large, _ = split_rows(100, Split(50, "rest"), seed=1)
    np.testing.assert_array_equal(small, large)


def test_published_rows_ignore_the_seed() -> None:
    published = np.array([1, 4])
    train, test = split_rows(6, Split("published", "published"), seed=9, published_test=published)
    assert train.tolist() == [0, 2, 3, 5]
    assert test.tolist() == [1, 4]


def test_scored_in_sample_means_the_same_rows() -> None:
    train, test = split_rows(5, Split("all", "train"), seed=0)
    assert train.tolist() == test.tolist() == [0, 1, 2, 3, 4]


def test_no_group_is_on_both_sides() -> None:
    groups = np.random.default_rng(0).integers(0, 12, 300)
    for seed in range(5):
        train, test = split_rows(300, Split(200, 60, by="site"), seed, values=groups)
        assert not set(groups[train]) & set(groups[test])
        assert len(test) == 60
        assert 0 < len(train) <= 200
    again = split_rows(300, Split(200, 60, by="site"), 4, values=groups)
    np.testing.assert_array_equal(test, again[1])
    assert set(test) != set(split_rows(300, Split(200, 60, by="site"), 3, values=groups)[1])


def test_test_rows_come_after_training_rows() -> None:
    time = np.random.default_rng(1).integers(0, 60, 200).astype(float)  # many rows of one moment
    starts = set()
    for seed in range(6):
        train, test = split_rows(200, Split(120, 40, time="day"), seed, values=time)
        assert time[train].max() < time[test].min()
        assert len(train) == 120
        starts.add(float(time[train].min()))
    assert len(starts) > 2
    last = split_rows(200, Split(120, 40, time="day"), 0, values=time)[1]
    assert time[last].max() == time.max()


def test_one_group_cannot_be_split() -> None:
    with pytest.raises(
        DataError, match=r"split \{train: 5, test: 3, by: site\}: every row has the same value"
    ):
        split_rows(10, Split(5, 3, by="site"), 0, values=np.zeros(10))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("all", "train", "a"), "by needs counts"),
        ((0.5, "train", "a"), "by needs counts"),
        ((0.5, 0.2, "a", "b"), "give by or time, not both"),
        ((0.5, 0.2, None, "b", 4), "give time or blocks, not both"),
        (("all", "train", None, None, 4), "blocks needs counts"),
        ((0.5, 0.2, 7), "by is 7; allowed: the name of a column"),
        ((0.5, 0.2, None, ""), "time is ''; allowed: the name of a column"),
        ((0.5, 0.2, None, None, 1), "blocks is 1; allowed: a count, 2 at least"),
        ((0.5, 0.2, None, None, True), "blocks is True"),
        ((0.5, 0.2, None, None, 4, 0), "gap is 0; allowed: a count, 1 at least"),
        ((0.5, 0.2, None, None, None, 3), "give blocks too"),
    ],
)
def test_a_column_to_split_by_needs_rows_to_choose(asked: tuple[object, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Split(*asked)


@pytest.mark.parametrize("gap", [None, 1, 7])
@pytest.mark.parametrize("seed", range(4))
def test_whole_blocks_are_tested_on_and_nothing_near_them_is_trained_on(seed: int, gap: int | None) -> None:
    train, test = split_rows(1003, Split(900, 100, blocks=20, gap=gap), seed)
    distance = np.abs(train[:, None] - test).min()
    assert distance > (gap or 0)
    whole = np.arange(1003) * 20 // 1003
    assert len(test) == 100
    assert len(np.unique(whole[test])) <= 3  # 20 blocks of 50 or 51 rows
    assert not set(whole[train]) & set(whole[test])
    near = {
        row
        for row in range(1003)
        if np.abs(row - np.flatnonzero(np.isin(whole, whole[test]))).min() <= (gap or 0)
    }
    assert set(train) <= set(range(1003)) - near
    assert len(train) == min(900, 1003 - len(near))
    again = split_rows(1003, Split(900, 100, blocks=20, gap=gap), seed)
    np.testing.assert_array_equal(train, again[0])
    np.testing.assert_array_equal(test, again[1])


def test_blocks_are_drawn_by_the_seed() -> None:
    drawn = {tuple(sorted(split_rows(100, Split(50, 10, blocks=10), seed)[1])) for seed in range(6)}
    assert len(drawn) > 2


def test_blocks_that_leave_nothing_are_refused() -> None:
    with pytest.raises(DataError, match="ask for fewer blocks"):
        split_rows(10, Split(5, 3, blocks=11), 0)
    with pytest.raises(DataError, match="leaves no row to train on; ask for a smaller gap"):
        split_rows(10, Split(5, 3, blocks=2, gap=9), 0)


def test_what_was_not_asked_for_is_no_part_of_a_run() -> None:
    assert Split(5, 3).asked() == {"train": 5, "test": 3}
    assert Split(5, 3, by="site").asked() == {"train": 5, "test": 3, "by": "site"}
    assert Split(**Split(5, 3, time="day").asked()) == Split(5, 3, time="day")
    assert str(Split(5, 3, blocks=4, gap=2)) == "split {train: 5, test: 3, blocks: 4, gap: 2}"
