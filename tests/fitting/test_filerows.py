"""Rows left in a file: as an array has them, to the bit, and without holding them."""

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.columns import moments
from hgpbench.fitting import filerows
from hgpbench.fitting.filerows import FileRows, is_stored, mapped, released, reordered, scaled
from hgpbench.repeated import observed
from hgpbench.scaling import Scaling


@pytest.fixture(name="X")
def inputs() -> np.ndarray:
    X = np.random.default_rng(0).normal(3.0, 2.0, size=(70_000, 3))
    X[:, 1] = np.round(X[:, 1])
    return X


@pytest.fixture
def in_file(X: np.ndarray, tmp_path: Path) -> Iterator[FileRows]:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        stored = file.create_dataset("X", data=X, chunks=(1000, 3))
        assert is_stored(stored)
        yield FileRows(stored)


def test_what_a_file_may_not_hold(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        with pytest.raises(ValueError, match="two dimensions"):
            FileRows(file.create_dataset("flat", data=np.zeros(5)))
        with pytest.raises(ValueError, match="minimum of 2"):
            FileRows(file.create_dataset("one", data=np.zeros((1, 2))))
        bad = np.zeros((10, 2))
        bad[7, 1] = np.nan
        with pytest.raises(ValueError, match="NaN or infinity in rows 0 to 9"):
            FileRows(file.create_dataset("bad", data=bad))


def test_rows_of_a_file_are_those_of_the_array(X: np.ndarray, in_file: FileRows) -> None:
    assert len(in_file) == len(X)
    assert in_file.shape == X.shape
    chosen = np.random.default_rng(1).permutation(len(X))[:500]
    for rows in (3, slice(65_530, 65_540), slice(None, None, 999), chosen, chosen[:0]):
        assert_array_equal(in_file[rows], X[rows])


def test_sums_over_a_file_have_the_bits_of_the_array(X: np.ndarray, in_file: FileRows) -> None:
    for method in ("min", "max", "mean"):
        assert_array_equal(getattr(in_file, method)(axis=0), getattr(X, method)(axis=0))
    for found, expected in zip(moments(in_file), moments(X), strict=True):
        assert_array_equal(found, expected)


def test_scaled_rows_of_a_file_lie_in_a_file(X: np.ndarray, in_file: FileRows) -> None:
    scaling = Scaling.of(X, X[:, 0])
    found = scaled(in_file, scaling)
    assert isinstance(found, np.memmap)
    assert not found.flags.writeable
    assert_array_equal(found, scaled(X, scaling))
    assert not isinstance(scaled(X, scaling), np.memmap)


@pytest.mark.parametrize("bucket", [24, 10_000, 10**9])
@pytest.mark.parametrize("unit", [None, np.array([0.3, 7.0, 1.0])])
def test_rows_in_another_order(bucket: int, unit: np.ndarray | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In buckets of one row, of some, and all in one."""
    monkeypatch.setattr(filerows, "BUCKET", bucket)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3001, 3)) if bucket > 24 else rng.normal(size=(41, 3))
    order = rng.permutation(len(X))
    found = reordered(mapped([X[:7], X[7:]], X.shape), order, unit)
    assert isinstance(found, np.memmap)
    assert_array_equal(found, reordered(X, order, unit))
    assert_array_equal(found, X[order] if unit is None else X[order] / unit)


def test_copies_are_found_by_pieces(in_file: FileRows) -> None:
    """Across pieces, and where the target tells two rows apart."""
    rows = np.r_[np.arange(66_000), 5, 6, 65_999]
    X, y = in_file[rows], np.random.default_rng(3).normal(size=len(rows))
    y[66_000], y[66_002] = y[5], y[65_999]
    assert_array_equal(observed(X, y), np.r_[np.arange(66_000), 66_001])


def resident() -> int:
    """Bytes of files that this process has in memory."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("RssFile:")[2].split()[0])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="tells of Linux")
def test_pages_of_a_mapped_file_are_let_go_and_read_again() -> None:
    X = np.random.default_rng(4).normal(size=(200_000, 10))
    found = np.asarray(mapped([X], X.shape))
    assert_array_equal(found, X)
    before = resident()
    released(found)
    assert before - resident() > 0.9 * X.nbytes
    assert_array_equal(found, X)
    released(X)  # which is no file
    assert_array_equal(found, X)
