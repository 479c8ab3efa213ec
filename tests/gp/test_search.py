"""The nearest rows: by trees, by products and by all distances the same, in the same order."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.fitting.threads import runner
from hgpbench.gp import search
from hgpbench.gp.search import Search
from hgpbench.la import nearest


def by_all(X: np.ndarray, points: np.ndarray, K: int) -> np.ndarray:
    """Nearest first, and of rows as near the first in the table."""
    squares = sum((x[None] - p[:, None]) ** 2 for x, p in zip(X.T, points.T, strict=True))
    return np.argsort(squares, axis=1, kind="stable")[:, :K]


def tables() -> dict[str, np.ndarray]:
    """Rows of which many are as far as others."""
    rng = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), axis=-1).reshape(-1, 2)
    return {
        "line": 0.1 * np.arange(800.0)[:, None],
        "grid": rng.permutation(grid),
        "cube": rng.integers(0, 3, size=(900, 4)).astype(float),
        "copies": np.repeat(rng.normal(size=(6, 2)), 150, axis=0),
        "half": np.where(rng.random((900, 1)) < 0.5, 0.0, rng.normal(size=(900, 3))),
        "corners": 2.0 * ((np.arange(1024)[:, None] >> np.arange(10)) & 1) - 1.0,
    }


@pytest.mark.parametrize("many", [500, 10**9])
@pytest.mark.parametrize("K", [1, 10, 70, 2000])
@pytest.mark.parametrize("name", tables())
def test_of_rows_as_far_the_first_are_taken(
    name: str, K: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a tree, and by products where these are asked for."""
    monkeypatch.setattr(search, "MANY", many)
    monkeypatch.setattr(search, "FAR", -1.0)
    X = tables()[name]
    rng = np.random.default_rng(4)
    points = np.concatenate([X[:40], X[:20] + 0.05, rng.normal(size=(20, X.shape[1]))])
    assert (Search(X)._all is None) == (many > len(X))
    near = Search(X).nearest(points, K)
    assert_array_equal(near, by_all(X, points, K))
    assert_array_equal(Search(X).nearest(points[7:8], K), near[7:8])


def test_points_without_relation_to_any_row_get_some(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(5).normal(size=(3000, 2))
    closer = search.Copies.nearest
    monkeypatch.setattr(search.Copies, "nearest", lambda *details: pytest.fail(f"{closer} takes long"))
    for distance in (1e4, 1e10, 1e100):
        points = distance * np.array([[1.0, -1.0], [0.0, 1.0]])
        near = Search(X).nearest(points, 20)
        assert near.shape == (2, 20)
        assert len(set(near[0])) == 20


def test_others_are_without_the_row_itself_however_many_copies_it_has() -> None:
    X = np.concatenate([np.zeros((9, 1)), np.arange(1.0, 6.0)[:, None]])
    rows = np.array([0, 8, 9])
    near = Search(X).others(rows, 4)
    assert near.shape == (3, 4)
    assert not (near == rows[:, None]).any()
    assert all(set(near[place]) <= set(range(9)) for place in (0, 1))
    assert Search(X).others(rows, 100).shape == (3, len(X) - 1)


@pytest.mark.parametrize(("rows", "K"), [(64, 10), (64, 100), (5000, 10)])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_all_distances_find_what_a_tree_finds(
    rows: int, K: int, shift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one block of rows, in many, and with more neighbours than a block has rows."""
    monkeypatch.setattr(nearest, "ROWS", rows)
    monkeypatch.setattr(nearest, "POINTS", 7)
    monkeypatch.setattr(search, "MANY", 500)
    rng = np.random.default_rng(5)
    X, points = shift + rng.normal(size=(900, 12)), shift + rng.normal(size=(40, 12))
    points[:5] = X[:5]
    found = Search(X)
    assert found._all is not None
    near = found.nearest(points, K)
    squares = np.square(X[None] - points[:, None]).sum(axis=2)
    assert_array_equal(near, np.argsort(squares, axis=1)[:, :K])
    with runner(3) as run:
        assert_array_equal(found.nearest(points, K, run), near)
    assert_array_equal(found.nearest(points[:2], K), near[:2])


def test_others_by_all_distances_are_without_the_row_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MANY", 500)
    X = np.random.default_rng(6).normal(size=(800, 15))
    X[100:112] = X[0]
    found, rows = Search(X), np.arange(0, 800, 4)
    assert found._all is not None
    near = found.others(rows, 5)
    assert not (near == rows[:, None]).any()
    assert set(near[rows == 100][0]) <= {0, *range(101, 112)}


def test_all_distances_are_for_inputs_that_vary_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree is quick where few inputs matter, where rows lie in clusters, and among few rows."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3000, 15))
    assert Search(X)._all is None
    monkeypatch.setattr(search, "MANY", 1000)
    assert Search(X)._all is not None
    assert Search(X * 0.5 ** np.arange(15))._all is None
    assert Search(X[:, :3].copy())._all is None
    assert Search(X[rng.integers(20, size=3000)] + 1e-3 * X)._all is None
