"""Experts from rows that stay in a file: the bits of a fit to arrays, in memory that holds no rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench import load
from hgpbench.experts import rows as experts_rows
from hgpbench.fitting import filerows
from hgpbench.models import DVSHGP, RBCM, dvshgp
from tests.models.zoo import draw

DVSHGP_SIZE: dict[str, Any] = {
    "expert_size": 30,
    "n_inducing_f": 8,
    "n_inducing_g": 6,
    "optimizer": "natural(n_passes=3)",
    "random_state": 0,
}
RBCM_SIZE: dict[str, Any] = {"expert_size": 30, "max_iter": 5, "random_state": 0}


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Any]:
    """300 rows, some of them twice, in an HDF5 file."""
    X, y = draw(300)
    X[40:50], y[40:50] = X[:10], y[:10]
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["X"], file["y"] = X, y
        yield file


def assert_same(found: Any, expected: Any) -> None:
    assert_array_equal(found.labels_, expected.labels_)
    assert_array_equal(np.asarray(found.trace_)[:, 2], np.asarray(expected.trace_)[:, 2])
    Xs = draw(200, seed=1)[0]
    for mine, other in zip(
        found.predict_dist(Xs).arrays().values(), expected.predict_dist(Xs).arrays().values(), strict=True
    ):
        assert_array_equal(mine, other)


@pytest.mark.parametrize("partition", ["kmeans", "balanced", "random"])
@pytest.mark.parametrize("mean", ["zero", "linear"])
def test_dvshgp_has_the_bits_of_arrays(stored: Any, partition: str, mean: str) -> None:
    settings = DVSHGP_SIZE | {"partition": partition, "mean": mean}
    found = DVSHGP(**settings).fit(stored["X"], stored["y"])
    expected = DVSHGP(**settings).fit(stored["X"][...], stored["y"][...])
    assert_same(found, expected)
    assert_array_equal(found._experts.flat, expected._experts.flat)
    assert_array_equal(found.lam_, expected.lam_)
    assert_array_equal(found._experts.rows.X, expected._experts.rows.X)
    assert not found._experts.rows.X.flags.writeable  # it lies in a file


@pytest.mark.parametrize("partition", ["kmeans", "balanced", "random"])
def test_rbcm_has_the_bits_of_arrays(stored: Any, partition: str) -> None:
    settings = RBCM_SIZE | {"partition": partition, "max_expert_size": 40}
    assert_same(
        RBCM(**settings).fit(stored["X"], stored["y"]),
        RBCM(**settings).fit(stored["X"][...], stored["y"][...]),
    )


def test_a_sample_chooses_the_centres_and_rows_come_in_many_buckets(
    stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with millions of rows: k-means on some of them, and no bucket for all."""
    monkeypatch.setattr(experts_rows, "LLOYD_ROWS", 100)
    monkeypatch.setattr(experts_rows, "ROWS_PER_CENTRE", 10)
    monkeypatch.setattr(filerows, "BUCKET", 1000)
    assert_same(
        DVSHGP(**DVSHGP_SIZE).fit(stored["X"], stored["y"]),
        DVSHGP(**DVSHGP_SIZE).fit(stored["X"][...], stored["y"][...]),
    )


def test_kernels_are_chosen_from_a_file_too(stored: Any) -> None:
    settings = RBCM_SIZE | {"kernel": "auto"}
    found = RBCM(**settings).fit(stored["X"], stored["y"])
    expected = RBCM(**settings).fit(stored["X"][...], stored["y"][...])
    assert found.kernel_densities_ == expected.kernel_densities_
    assert_same(found, expected)


def test_processes_read_the_rows_of_the_file(stored: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dvshgp, "WORTH_WORKERS", 0)
    found = DVSHGP(**DVSHGP_SIZE, n_jobs=2).fit(stored["X"], stored["y"])
    assert_same(found, DVSHGP(**DVSHGP_SIZE, n_jobs=1).fit(stored["X"][...], stored["y"][...]))


def test_a_checkpoint_of_arrays_is_one_of_the_file(
    stored: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hgpbench.fitting.checkpoint.EVERY", 0.0)

    class Killed(Exception):
        pass

    def kill(step: int, total: int | None, bound: float) -> None:
        if step == 7:
            raise Killed

    path = tmp_path / "checkpoint.h5"
    with pytest.raises(Killed):
        DVSHGP(**DVSHGP_SIZE).fit(stored["X"][...], stored["y"][...], callback=kill, checkpoint=path)
    found = DVSHGP(**DVSHGP_SIZE).fit(stored["X"], stored["y"], checkpoint=path)
    assert found.resumed_seconds_ > 0.0
    assert_same(found, DVSHGP(**DVSHGP_SIZE).fit(stored["X"], stored["y"]))


def test_a_model_of_rows_in_a_file_is_saved_with_them(stored: Any, tmp_path: Path) -> None:
    model = DVSHGP(**DVSHGP_SIZE).fit(stored["X"], stored["y"])
    model.save(tmp_path / "model.h5")
    stored.close()
    assert_same(load(tmp_path / "model.h5"), model)


@pytest.mark.parametrize("model", [DVSHGP(), RBCM()])
def test_bad_rows_of_a_file_are_refused(stored: Any, model: Any) -> None:
    stored["bad"] = np.where(np.arange(300)[:, None] == 20, np.nan, stored["X"][...])
    with pytest.raises(ValueError, match="NaN or infinity in rows 0 to 299"):
        model.fit(stored["bad"], stored["y"])
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(stored["X"], stored["y"][:10])
