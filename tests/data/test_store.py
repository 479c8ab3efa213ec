"""The HDF5 file: what goes in comes out, and damage is told."""

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from hgpbench import __version__
from hgpbench.data import store
from hgpbench.data.split import Split
from hgpbench.errors import DataError

ABOUT = store.About(
    name="small",
    variant=None,
    title="Kleinigkeit, Größe 3",
    licence="CC0",
    citation="Nobody",
    notes="",
    source="here",
    raw_sha256="0" * 64 + "  small.csv",
    split=Split(0.5, "rest"),
)


def make_table(rows: int = 30, published: bool = False) -> store.Table:
    rng = np.random.default_rng(1)
    test = np.array([2, 5]) if published else None
    return store.Table(rng.standard_normal((rows, 2)), rng.standard_normal(rows), ("a", "b"), "y", test)


@pytest.mark.parametrize("published", [False, True])
def test_what_goes_in_comes_out(tmp_path: Path, published: bool) -> None:
    path, table = tmp_path / "small.h5", make_table(published=published)
    written = store.write(path, table, ABOUT)
    back = store.read(path)
    np.testing.assert_array_equal(back.X, table.X)
    np.testing.assert_array_equal(back.y, table.y)
    assert (back.columns, back.target) == (("a", "b"), "y")
    assert store.describe(path) == written
    assert (written.about, written.rows, written.hgpbench) == (ABOUT, 30, __version__)
    assert store.published_test_rows(path) == (2 if published else None)
    assert store.verify(path) == written


def test_the_file_is_chunked_by_rows_and_in_doubles(tmp_path: Path) -> None:
    path = tmp_path / "small.h5"
    store.write(path, make_table(100_000), ABOUT)
    with h5py.File(path) as file:
        assert file["X"].dtype == np.dtype("<f8")
        assert file["X"].chunks == (65_536, 2)
        assert set(file.attrs) >= {"source", "sha256", "licence", "columns", "rows", "hgpbench", "date"}


def test_variant_and_published_split_survive(tmp_path: Path) -> None:
    about = replace(ABOUT, variant="subset", split=Split("published", "published"))
    store.write(tmp_path / "small.subset.h5", make_table(published=True), about)
    assert store.describe(tmp_path / "small.subset.h5").about == about


def test_thousands_of_columns_fit(tmp_path: Path) -> None:
    names = tuple(f"a_rather_long_column_name_{place}" for place in range(5_000))
    table = store.Table(np.zeros((2, 5_000)), np.zeros(2), names, "y")
    store.write(tmp_path / "wide.h5", table, ABOUT)
    assert store.describe(tmp_path / "wide.h5").columns == names


def test_the_hash_depends_on_content_alone(tmp_path: Path) -> None:
    table = make_table()
    changed_y = table.y.copy()
    changed_y[3] = np.nextafter(changed_y[3], 9)
    hashes = {
        store.content_hash(other)
        for other in (
            table,
            replace(table, y=changed_y),
            replace(table, columns=("a", "c")),
            replace(table, target="z"),
            replace(table, X=table.X.reshape(15, 4)),
            replace(table, published_test=np.array([0])),
        )
    }
    assert len(hashes) == 6
    fortran = replace(table, X=np.asfortranarray(table.X))
    assert store.content_hash(fortran) == store.content_hash(table)
    first = store.write(tmp_path / "a.h5", table, ABOUT).sha256
    assert store.write(tmp_path / "b.h5", table, replace(ABOUT, title="Another")).sha256 == first


def test_a_changed_value_is_found(tmp_path: Path) -> None:
    path = tmp_path / "small.h5"
    store.write(path, make_table(), ABOUT)
    with h5py.File(path, "r+") as file:
        file["X"][7, 1] += 1e-12
    with pytest.raises(DataError, match="damaged or edited"):
        store.verify(path)


@pytest.mark.parametrize("length", [0, 100, 1500])
def test_a_truncated_file_is_told(tmp_path: Path, length: int) -> None:
    path = tmp_path / "small.h5"
    store.write(path, make_table(), ABOUT)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DataError, match=r"small.h5: .*--force"):
        store.describe(path)


def test_a_foreign_hdf5_file_is_told(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = np.zeros((3, 1))
    with pytest.raises(DataError, match="not a dataset of format 1"):
        store.describe(tmp_path / "other.h5")


def test_a_missing_attribute_and_a_wrong_shape_are_told(tmp_path: Path) -> None:
    path = tmp_path / "small.h5"
    store.write(path, make_table(), ABOUT)
    with h5py.File(path, "r+") as file:
        file.attrs["rows"] = 29
    with pytest.raises(DataError, match="do not have the shape"):
        store.describe(path)
    with h5py.File(path, "r+") as file:
        del file.attrs["target"], file.attrs["rows"]
    with pytest.raises(DataError, match="not a readable dataset"):
        store.describe(path)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        store.read(tmp_path / "none.h5")
