"""Mini-batches: every row once a pass, whatever it is read from."""

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.fitting.batches import FILE_BLOCK, WINDOW, Batches
from hgpbench.fitting.filerows import FileRows
from hgpbench.scaling import Scaling

IDENTITY = Scaling(np.zeros(2), np.ones(2), 0.0, 1.0)


def numbered(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that tell their own number."""
    y = np.arange(n, dtype=float)
    return np.column_stack([y, -y]), y


@pytest.fixture(params=["memory", "file"])
def make(request, tmp_path):
    """Batches of numbered rows, in memory or left in a file."""
    opened = []

    def build(n: int, size: int, **options) -> Batches:
        X, y = numbered(n)
        if request.param == "file":
            file = h5py.File(tmp_path / f"{len(opened)}.h5", "w")
            opened.append(file)
            X = FileRows(file.create_dataset("X", data=X))
        return Batches(X, y, IDENTITY, size, seed=3, **options)

    yield build
    for file in opened:
        file.close()


@pytest.mark.parametrize(
    ("n", "size"), [(1000, 100), (1003, 100), (5, 100), (3 * FILE_BLOCK + 7, 33), (9, 1)]
)
def test_a_pass_is_every_row_once(make, n, size):
    batches = make(n, size)
    for number in range(3):
        steps = range(number * batches.per_pass, (number + 1) * batches.per_pass)
        parts = [batches.batch(step) for step in steps]
        for X, y in parts:
            assert_array_equal(X, np.column_stack([y, -y]))
        assert_array_equal(np.sort(np.concatenate([y for _, y in parts])), np.arange(n))
        sizes = [len(y) for _, y in parts]
        assert max(sizes) - min(sizes) <= 1
        assert max(sizes) == batches.largest


def test_passes_differ_and_one_step_is_always_the_same(make):
    first, second = make(1000, 50), make(1000, 50)
    expected = [first.batch(step)[1] for step in range(45)]
    for step in (44, 3, 21, 0, 20):  # in any order, as a resumed fit may ask
        assert_array_equal(second.batch(step)[1], expected[step])
    assert not np.array_equal(expected[0], expected[20])


def test_rows_mix_within_a_window(make):
    batches = make(20 * FILE_BLOCK, 64)
    y = batches.batch(0)[1]
    assert len(np.unique(y // FILE_BLOCK)) >= min(WINDOW * 64 // FILE_BLOCK, 2)
    assert not np.array_equal(y, np.sort(y))


def test_held_out_rows_are_in_no_batch(make):
    n = 12 * FILE_BLOCK
    batches = make(n, 100, holdout=0.25)
    _, held = batches.held_out(n)
    trained = np.concatenate([y for _, y in batches.some(batches.per_pass)])
    assert len(held) == n // 4
    assert batches.n == len(trained)
    assert_array_equal(np.sort(np.concatenate([held, trained])), np.arange(n))


def test_samples(make):
    batches = make(5 * FILE_BLOCK, 100)
    rng = np.random.default_rng(0)
    assert_array_equal(batches.sample(10**6, rng)[1], np.arange(5 * FILE_BLOCK))
    y = batches.sample(300, rng)[1]
    assert 300 <= len(np.unique(y)) == len(y) <= 2 * FILE_BLOCK


def test_batches_are_scaled():
    X, y = numbered(100)
    scaling = Scaling.of(X, y)
    batches = Batches(X, y, scaling, 10, seed=0)
    inputs, target = batches.batch(4)
    assert_array_equal(inputs[:, 0], -inputs[:, 1])
    np.testing.assert_allclose(
        target * scaling.y_scale + scaling.y_shift, np.round(target * scaling.y_scale + scaling.y_shift)
    )
