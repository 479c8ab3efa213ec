"""Partitions: every row once, sizes within bounds, local, repeatable, whatever the rows look like."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.experts import rows as module
from hgpbench.experts.rows import KINDS, LARGEST, SMALLEST, Partition, cut, partition
from hgpbench.fitting import filerows
from hgpbench.fitting.filerows import mapped


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


@pytest.fixture(params=["all rows", "sample"])
def branch(request, monkeypatch) -> None:
    """Both ways to k-means: on all rows, and in mini-batches on a sample."""
    if request.param == "sample":
        monkeypatch.setattr(module, "LLOYD_ROWS", 200)
        monkeypatch.setattr(module, "ROWS_PER_CENTRE", 10)


def rows_of(found: Partition, i: int) -> np.ndarray:
    return found.order[found.starts[i] : found.starts[i + 1]]


def clumps(n: int, d: int = 3, seed: int = 0) -> np.ndarray:
    """Uneven clusters: a few dense ones hold most of the rows, and some rows lie far out."""
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(12, d)) * 4
    chosen = rng.choice(12, n, p=rng.dirichlet(np.full(12, 0.4)))
    X = middle[chosen] + 0.3 * rng.normal(size=(n, d))
    X[: n // 50] *= 5
    return X


def split(kind: str, X: np.ndarray, M: int, seed: int = 0, **options) -> Partition:
    return partition(kind, X, M, np.random.default_rng(seed), **options)


def check(found: Partition, n: int) -> None:
    """Every row belongs to exactly one expert, and no expert is empty."""
    assert_array_equal(np.sort(found.order), np.arange(n))
    assert_array_equal(np.concatenate([rows_of(found, i) for i in range(len(found))]), found.order)
    assert found.starts[0] == 0
    assert found.starts[-1] == n
    assert found.sizes.min() >= 1
    for i in range(len(found)):
        assert_array_equal(np.flatnonzero(found.labels == i), np.sort(rows_of(found, i)))


def centres_of(found: Partition, X: np.ndarray) -> np.ndarray:
    return found.gather(X, X[:, 0]).centres


def within(found: Partition, X: np.ndarray) -> float:
    """Mean squared distance to the expert's centre."""
    centres = centres_of(found, X)
    return sum(np.square(X[rows_of(found, i)] - centres[i]).sum() for i in range(len(found))) / len(X)


@pytest.mark.usefixtures("branch")
@pytest.mark.parametrize("M", [1, 2, 17, 60])
def test_every_row_has_one_expert(kind, M):
    X = clumps(900)
    found = split(kind, X, M)
    check(found, 900)
    centres = centres_of(found, X)
    assert len(centres) == len(found)
    for i in range(len(found)):
        assert_allclose(centres[i], X[rows_of(found, i)].mean(axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("branch")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("M", [3, 10, 40])
def test_balanced_sizes_are_bounded(M, seed):
    found = split("balanced", clumps(1200, seed=seed), M, seed)
    check(found, 1200)
    assert found.sizes.min() >= int(SMALLEST * 1200 / M)
    assert found.sizes.max() <= np.ceil(LARGEST * 1200 / M)
    assert 1 / LARGEST <= len(found) / M <= 1 / SMALLEST
    plain = split("kmeans", clumps(1200, seed=seed), M, seed)
    if M == 40:  # what balancing is for
        assert plain.sizes.min() < 0.5 * 1200 / M
        assert plain.sizes.max() > 1.5 * 1200 / M


def test_random_experts_have_equal_sizes():
    found = split("random", clumps(1000), 7)
    assert len(found) == 7
    assert np.ptp(found.sizes) <= 1


@pytest.mark.usefixtures("branch")
def test_all_but_random_are_local():
    X = np.random.default_rng(1).uniform(size=(1500, 2))
    spread = {kind: within(split(kind, X, 25), X) for kind in KINDS}
    cells = 2 * (1 / 5) ** 2 / 12  # 25 equal squares
    assert spread["kmeans"] < 1.1 * cells
    assert spread["balanced"] < 1.2 * cells
    assert spread["random"] > 20 * cells


@pytest.mark.usefixtures("branch")
def test_one_seed_repeats_and_two_differ(kind):
    X = clumps(600)
    first, again, other = split(kind, X, 12), split(kind, X, 12), split(kind, X, 12, seed=5)
    assert_array_equal(first.order, again.order)
    assert_array_equal(first.starts, again.starts)
    assert not np.array_equal(first.order, other.order)


@pytest.mark.usefixtures("branch")
def test_the_order_of_rows_does_not_matter(kind):
    X = clumps(600)
    shuffle = np.random.default_rng(2).permutation(600)
    first, second = split(kind, X, 12), split(kind, X[shuffle], 12)
    assert_array_equal(shuffle[second.order], first.order)
    assert_array_equal(second.starts, first.starts)


@pytest.mark.usefixtures("branch")
def test_units_do_not_matter(kind):
    X = clumps(600)
    first, second = split(kind, X, 12), split(kind, X * 2.0 ** np.array([40, -40, 3]), 12)
    assert_array_equal(second.order, first.order)


@pytest.mark.parametrize("max_size", [1, 10, 33])
def test_no_expert_exceeds_the_largest_size(kind, max_size):
    found = split(kind, clumps(500), 5, max_size=max_size)
    check(found, 500)
    assert found.sizes.max() <= max_size


@pytest.mark.usefixtures("branch")
@pytest.mark.parametrize("distinct", [1, 2, 9])
def test_fewer_distinct_rows_than_experts(kind, distinct):
    X = clumps(distinct)[np.random.default_rng(3).integers(distinct, size=400)]
    found = split(kind, X, 20)
    check(found, 400)
    assert len(found) <= distinct if kind == "kmeans" else len(found) >= 7
    check(split(kind, X, 20, max_size=15), 400)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_as_many_experts_as_rows(kind, n):
    X = np.random.default_rng(4).normal(size=(n, 2))
    for M in (n, n + 5):
        found = split(kind, X, M)
        check(found, n)
        assert len(found) == n


def test_a_constant_column(kind):
    X = np.column_stack([clumps(300), np.full(300, 7.0)])
    check(split(kind, X, 8), 300)


@pytest.mark.parametrize(("k", "fewest", "most"), [(2, 10, 90), (7, 14, 15), (4, 1, 97), (100, 1, 1)])
def test_cut_keeps_the_sizes_that_it_was_given(k, fewest, most):
    Z = clumps(130)
    rows = np.arange(20, 120)
    parts = cut(Z, rows, k, fewest, most)
    assert len(parts) == k
    assert_array_equal(np.sort(np.concatenate(parts)), rows)
    assert all(fewest <= len(part) <= most for part in parts)


def test_cut_finds_the_gap():
    Z = np.concatenate([np.zeros((30, 2)), np.ones((70, 2))]) + 0.1 * np.random.default_rng(5).normal(
        size=(100, 2)
    )
    parts = cut(Z, np.arange(100), 2, 10, 90)
    assert sorted(len(part) for part in parts) == [30, 70]


@pytest.mark.usefixtures("branch")
def test_memory_is_a_few_copies_of_the_rows():
    X = clumps(20_000, d=5)
    tracemalloc.start()
    split("balanced", X, 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * X.nbytes


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="one of kmeans, balanced, random"):
        split("grid", clumps(10), 2)


def test_gathered_rows_lie_together():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    found = partition("kmeans", X, 5, rng)
    rows = found.gather(X, y)
    assert_array_equal(rows.sizes, found.sizes)
    for i in range(len(found)):
        mine, target = rows.of(i)
        assert_array_equal(mine, X[rows_of(found, i)])
        assert_array_equal(target, y[rows_of(found, i)])


@pytest.mark.usefixtures("branch")
def test_mapped_rows_become_the_same_experts(kind):
    X = clumps(900)
    found, expected = split(kind, mapped([X], X.shape), 30), split(kind, X, 30)
    assert_array_equal(found.order, expected.order)
    assert_array_equal(found.starts, expected.starts)
    rows = found.gather(mapped([X], X.shape), X[:, 0])
    assert not rows.X.flags.writeable
    assert_array_equal(rows.X, expected.gather(X, X[:, 0]).X)


def test_memory_has_numbers_of_mapped_rows_and_not_the_rows(kind, monkeypatch):
    monkeypatch.setattr(module, "LLOYD_ROWS", 1000)
    monkeypatch.setattr(module, "ROWS_PER_CENTRE", 1)
    monkeypatch.setattr(filerows, "BUCKET", 1_000_000)
    peaks, sizes, d = [], (140_000, 210_000), 20
    for n in sizes:
        rng = np.random.default_rng(0)
        X = mapped((rng.normal(size=(10_000, d)) for _ in range(n // 10_000)), (n, d))
        y = np.array(X[:, 0])
        tracemalloc.start()
        split(kind, X, 20).gather(X, y)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 8 * (sizes[1] - sizes[0]) * d / 3
