"""Test rows among the training rows, against a set of their bytes."""

import numpy as np
import pytest

from hgpbench import repeated
from hgpbench.bench.overlap import share_seen


def rows(n: int, d: int, seed: int) -> np.ndarray:
    """Rows of few different values, so that many are alike."""
    return np.random.default_rng(seed).integers(-1, 2, size=(n, d)).astype(float)


@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_share_is_that_of_a_set_of_rows(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "ROWS", 7)  # so that pieces meet
    train, test = rows(100, d, 0), rows(60, d, 1)
    known = {row.tobytes() for row in train}
    expected = sum(row.tobytes() in known for row in test) / 60
    assert share_seen(train, test) == expected
    assert expected > 0


def test_columns_are_not_interchangeable_and_one_bit_counts() -> None:
    train = np.array([[1.0, 2.0], [0.0, 0.0]])
    test = np.array([[2.0, 1.0], [1.0, np.nextafter(2.0, 3.0)], [0.0, 1.0], [1.0, 2.0]])
    assert share_seen(train, test) == 0.25


def test_zeros_of_both_signs_are_one_input() -> None:
    assert share_seen(np.array([[-0.0, 3.0]]), np.array([[0.0, 3.0]])) == 1.0


def test_hashes_of_different_rows_do_not_meet() -> None:
    grid = np.stack(np.meshgrid(np.arange(400.0), np.arange(400.0)), axis=-1).reshape(-1, 2)
    hashes = np.concatenate(list(repeated.hashes(grid)))
    assert np.unique(hashes).size == len(grid)


def test_arrays_in_any_order_and_without_rows() -> None:
    train, test = rows(50, 3, 2), rows(20, 3, 3)
    assert share_seen(np.asfortranarray(train), np.asfortranarray(test)) == share_seen(train, test)
    assert share_seen(train[:0], test) == 0.0
    assert share_seen(train, test[:0]) == 0.0
