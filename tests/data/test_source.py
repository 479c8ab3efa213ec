"""Sources: the same face for stored and drawn datasets, and a way out when one is missing."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from hgpbench.data import store
from hgpbench.data.source import data_folder, open_source, parse_name
from hgpbench.data.split import Split
from hgpbench.errors import DataError


@pytest.fixture
def stored(folder: Path) -> store.Table:
    rng = np.random.default_rng(0)
    table = store.Table(rng.standard_normal((50, 2)), np.arange(50.0), ("a", "b"), "y", np.arange(40, 50))
    about = store.About("mine", None, "Mine", "CC0", "Nobody", "", "here", "", Split(30, 10))
    store.write(folder / "mine.h5", table, about)
    return table


def test_a_stored_source_describes_itself(stored: store.Table) -> None:
    source = open_source("mine")
    assert (source.name, source.variant, source.rows, source.n_inputs) == ("mine", None, 50, 2)
    assert (source.columns, source.target, source.synthetic) == (("a", "b"), "y", False)
    assert source.default_split == Split(30, 10)
    assert source.sha256 == store.content_hash(stored)


def test_a_fold_has_the_rows_of_its_index(stored: store.Table) -> None:
    fold = open_source("mine").fold(Split(30, 10), seed=4)
    np.testing.assert_array_equal(fold.y_test, stored.y[fold.test_index])
    np.testing.assert_array_equal(fold.X_test, stored.X[fold.test_index])
    assert not set(fold.y_train) & set(fold.y_test)
    assert fold.truth_mean is None
    for array in (fold.X_train, fold.y_train, fold.X_test, fold.y_test):
        assert array.flags.c_contiguous
        assert array.dtype == np.float64


@pytest.mark.parametrize("part", ["X", "y", "published_test"])
def test_rows_that_were_changed_since_are_not_used(part: str, stored: store.Table, folder: Path) -> None:
    with h5py.File(folder / "mine.h5", "r+", libver="latest") as file:
        file[part][3] = file[part][3] + 1  # a bit of the disk, or somebody's hand
    source = open_source("mine")
    assert source.sha256 == store.content_hash(stored)  # as the file still says
    with pytest.raises(DataError, match=r"mine\.h5: content has sha256 .*fetch it again"):
        source.fold(Split(30, 10), seed=4)


def test_the_published_split_is_kept(stored: store.Table) -> None:
    source = open_source("mine")
    fold = source.fold(Split("published", "published"), seed=4)
    assert fold.y_test.tolist() == list(range(40, 50))
    assert fold.y_train.tolist() == list(range(40))
    assert source.sizes(Split("published", "published")) == (40, 10)


def test_an_impossible_split_names_the_dataset(stored: store.Table) -> None:
    for act in (open_source("mine").sizes, lambda split: open_source("mine").fold(split, 0)):
        with pytest.raises(DataError, match=r"mine: split .* asks for 60 rows, the dataset has 50"):
            act(Split(50, 10))


def test_a_synthetic_source_has_the_same_face(folder: Path) -> None:
    source = open_source("sinc2d")
    assert (source.rows, source.n_inputs, source.columns, source.target) == (14_900, 2, ("x1", "x2"), "y")
    assert source.synthetic
    fold = source.fold(Split(20, 9), seed=1)
    assert fold.truth_noise_var is not None
    assert fold.truth_noise_var.shape == (9,)


def test_a_dataset_that_is_not_there_says_how_to_get_it(folder: Path) -> None:
    with pytest.raises(DataError, match="run `hgpbench fetch protein`"):
        open_source("protein")
    with pytest.raises(DataError, match="run `hgpbench fetch sarcos:subset`"):
        open_source("sarcos", "subset")
    with pytest.raises(DataError, match="run `hgpbench fetch sarcos`"):
        open_source("sarcos", "merged")
    with pytest.raises(DataError, match="no such variant; known: sarcos:merged"):
        open_source("sarcos", "submerged")
    with pytest.raises(DataError, match="no such dataset; did you mean 'protein'"):
        open_source("protien")


def test_a_variant_that_is_not_the_default_has_a_file_of_its_own(
    folder: Path, make_card: Callable[..., Path]
) -> None:
    make_card("two", variants={"big": {}, "tiny": {}})
    table = store.Table(np.ones((3, 1)), np.arange(3.0), ("a",), "y")
    about = store.About("two", "tiny", "Two", "CC0", "Nobody", "", "here", "", Split(2, 1))
    store.write(folder / "two.tiny.h5", table, about)
    assert open_source("two", "tiny").variant == "tiny"
    with pytest.raises(DataError, match="not fetched yet"):
        open_source("two", "big")


def test_names() -> None:
    assert parse_name("sarcos:subset") == ("sarcos", "subset")
    assert parse_name("3droad") == ("3droad", None)
    for odd in ("", ":", "a:", ":b", "a:b:c", "../a", "a/b", "a.b", "a b", "-a"):
        with pytest.raises(DataError, match="no dataset name"):
            parse_name(odd)
    with pytest.raises(DataError, match="no dataset name"):
        open_source("../../etc/passwd")


def test_the_folder_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HGPBENCH_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("HGPBENCH_DATA")
    assert data_folder() == Path("datasets")


def test_opening_a_dataset_does_not_import_the_fetcher() -> None:
    heavy = "{'pandas', 'pooch', 'requests', 'rich', 'scipy', 'sklearn', 'matplotlib'}"
    code = f"import sys, hgpbench.data.source; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_column_that_groups_rows_is_no_input(folder: Path) -> None:
    rng = np.random.default_rng(0)
    site = rng.integers(0, 5, 60)
    X = np.column_stack([rng.standard_normal(60), site == 0, site == 1, site > 1, np.arange(60.0)])
    table = store.Table(X, site.astype(float), ("a", "site=A", "site=B", "site=C", "day"), "y")
    about = store.About("sites", None, "Sites", "CC0", "Nobody", "", "here", "", Split(0.8, "rest"))
    store.write(folder / "sites.h5", table, about)
    source = open_source("sites")
    fold = source.fold(Split(40, 20, by="site"), seed=1)
    assert fold.columns == ("a", "day")
    assert fold.X_train.shape[1] == fold.X_test.shape[1] == 2
    kinds = [{min(int(y), 2) for y in part} for part in (fold.y_train, fold.y_test)]
    assert not kinds[0] & kinds[1]
    later = source.fold(Split(30, 20, time="day"), seed=1)
    assert later.columns == table.columns
    assert later.X_train[:, 4].max() < later.X_test[:, 4].min()
    for split, message in (
        (Split(40, 20, by="sit"), "not a column"),
        (Split(40, 20, time="site"), "not a column"),
    ):
        with pytest.raises(DataError, match=message):
            source.sizes(split)


def test_rows_of_the_same_inputs_stay_together(folder: Path) -> None:
    X = np.repeat(np.arange(30.0).reshape(15, 2), 4, axis=0)
    table = store.Table(X, np.arange(60.0), ("a", "b"), "y")
    about = store.About("copies", None, "Copies", "CC0", "Nobody", "", "here", "", Split(0.8, "rest"))
    store.write(folder / "copies.h5", table, about)
    source = open_source("copies")
    for seed in range(5):
        fold = source.fold(Split(40, 20, by="*"), seed)
        assert fold.columns == ("a", "b")  # they group rows and stay inputs
        assert (len(fold.X_train), len(fold.X_test)) == (40, 20)
        assert not {*map(tuple, fold.X_train)} & {*map(tuple, fold.X_test)}


def test_drawn_rows_have_no_groups(folder: Path) -> None:
    with pytest.raises(DataError, match="no column to split by"):
        open_source("toy").sizes(Split(30, 20, by="x"))
    with pytest.raises(DataError, match="no order to split by"):
        open_source("toy").sizes(Split(30, 20, blocks=4))


def test_a_stored_dataset_keeps_how_it_is_to_be_split(folder: Path) -> None:
    table = store.Table(np.arange(40.0).reshape(20, 2), np.arange(20.0), ("a", "b"), "y")
    split = Split(10, 5, blocks=4, gap=2)
    store.write(folder / "walk.h5", table, store.About("walk", None, "W", "CC0", "N", "", "h", "", split))
    assert open_source("walk").default_split == split
