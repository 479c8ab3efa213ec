"""Rows that lie in a file: those that were laid there, or none."""

from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.columns import Array
from hgpbench.experts import shelf
from hgpbench.experts.shelf import Place, Shelf
from tests.models.zoo import draw

SIZES = (7, 1, 12)


def experts() -> Iterator[tuple[Array, Array]]:
    X, y = draw(sum(SIZES))
    ends = np.cumsum(SIZES)
    return ((X[end - size : end], y[end - size : end]) for size, end in zip(SIZES, ends, strict=True))


@pytest.fixture
def laid() -> Iterator[tuple[Shelf, list[Place]]]:
    with shelf.opened() as found:
        d = draw(2)[0].shape[1]
        yield found, found.lay(sum(SIZES), d, experts())


def test_rows_come_back_to_the_bit_in_any_order(laid: tuple[Shelf, list[Place]]) -> None:
    sign, places = laid[0].sign, laid[1]
    assert shelf.sees(sign)
    found = shelf.rows(sign, [places[2], places[0]])
    expected = list(experts())
    assert found is not None
    for (X, y), (X_laid, y_laid) in zip(found, (expected[2], expected[0]), strict=True):
        assert_array_equal(X, X_laid)
        assert_array_equal(y, y_laid)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with shelf.opened() as found:
        assert list(tmp_path.iterdir()) == [Path(found.sign.path).parent]
        assert Path(found.sign.path).parent.stat().st_mode & 0o077 == 0  # rows may be nobody else's business
    assert not list(tmp_path.iterdir())
    assert not shelf.sees(found.sign)


def _remove(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _garble(path: Path) -> None:
    path.write_text("no HDF5")


def _change(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file["y"][3] += 1e-9


def _change_inputs(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file["X"][3, 0] += 1e-9


def _replace(path: Path) -> None:
    """By the same rows of another shelf."""
    with h5py.File(path, "r+") as file:
        file.attrs[shelf.MARK] = "another"


def _drop(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        del file["X"]


@pytest.mark.parametrize("harm", [_remove, _cut, _garble, _change, _change_inputs, _replace, _drop])
def test_a_file_that_is_another_gives_no_rows(
    laid: tuple[Shelf, list[Place]], harm: Callable[[Path], None]
) -> None:
    sign, places = laid[0].sign, laid[1]
    harm(Path(sign.path))
    assert shelf.rows(sign, places) is None


@pytest.mark.parametrize("harm", [_remove, _garble, _replace])
def test_such_a_file_is_not_seen_either(
    laid: tuple[Shelf, list[Place]], harm: Callable[[Path], None]
) -> None:
    harm(Path(laid[0].sign.path))
    assert not shelf.sees(laid[0].sign)
