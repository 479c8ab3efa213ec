"""Rows that agree in inputs and target are learned from once, where that is no chance."""

import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.errors import CopiedRows
from hgpbench.models import DVSHGP, VSHGP, Estimator, ExactGP, Linear
from tests.models.zoo import WITH_KERNELS, draw, make

ASKED = [name for name in WITH_KERNELS if "copies" in make(name).get_params()]
COPIED = np.r_[np.arange(90), np.repeat(np.arange(30), 4)]  # thirty rows of ninety five times


def learned(model: Estimator, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Means and variances at new rows, of a fit that may have a word about copies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CopiedRows)
        found = model.fit(X, y).predict_dist(draw(40, seed=9)[0])
    return np.stack([found.mean, found.var])


def test_every_model_that_learns_a_noise_from_all_rows_is_asked():
    assert sorted(set(WITH_KERNELS) - set(ASKED)) == ["nngp", "nnhgp"]


@pytest.mark.parametrize("name", ASKED)
def test_copies_change_no_bit(name: str) -> None:
    X, y = draw(90)
    changes = {"n_restarts": 0, "max_iter": 5}
    expected = learned(make(name, **changes), X, y)
    model = make(name, **changes)
    assert_array_equal(learned(model, X[COPIED], y[COPIED]), expected)
    assert model.n_copies_ == 120


@pytest.mark.parametrize("kind", [ExactGP, VSHGP, DVSHGP])
def test_as_many_observations_have_rows_nearby_called_certain(kind: type[Estimator]) -> None:
    """Why: from targets that agree to the last digit follows that there is no noise."""
    X, y = draw(90)
    each = kind(copies="each", random_state=0)
    expected, found = (learned(model, X[COPIED], y[COPIED]) for model in (kind(random_state=0), each))
    assert each.n_copies_ == 0
    f = np.sin(2 * draw(40, seed=9)[0][:, 0]) + draw(40, seed=9)[0][:, 1]
    errors = [np.mean((mean - f) ** 2) for mean, _ in (expected, found)]
    assert errors[1] > 1.5 * errors[0]


def test_coarse_targets_and_nearly_equal_ones_are_measurements() -> None:
    X, y = draw(90)
    model = make("dvshgp", n_restarts=0)
    for targets in (np.round(y[COPIED]), y[COPIED] + 1e-9 * np.arange(210)):
        learned(model, X[COPIED], targets)
        assert model.n_copies_ == 0
        assert len(model.labels_) == 210


def test_copies_are_told_where_they_are_many() -> None:
    X, y = draw(100)
    rows = np.r_[np.arange(100), np.repeat(np.arange(5), 4)]
    few = {"optimizer": "natural(n_passes=2)", "random_state": 0}
    with pytest.warns(
        CopiedRows, match=r"^20 of 120 training rows are copies of others, target and all; they"
    ):
        model = DVSHGP(**few).fit(X[rows], y[rows])
    assert len(model.labels_) == len(model.lam_) == 100
    with pytest.warns(CopiedRows, match=r"^20 of 120 .* and all; each counts as an observation"):
        DVSHGP(copies="each", **few).fit(X[rows], y[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Linear().fit(X[rows], y[rows])  # learns no noise from them
        model.fit(X, y)
        model.fit(X[rows], np.round(y[rows]))


def test_few_copies_are_left_unless_asked() -> None:
    X, y = draw(100)
    model = make("vsgp", n_restarts=0, max_iter=3)
    few, many = np.r_[np.arange(100), :11], np.r_[np.arange(100), :12]  # less than a tenth of all, and more
    for rows, copies, expected in ((few, None, 0), (many, None, 12), (few, "once", 11), (many, "each", 0)):
        model.set_params(copies=copies)
        learned(model, X[rows], y[rows])
        assert model.n_copies_ == expected


def test_rows_that_stay_in_a_file_are_learned_from_once(tmp_path: Path) -> None:
    X, y = draw(90)
    expected = learned(make("dvshgp", n_restarts=0), X, y)
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        stored = file.create_dataset("X", data=X[COPIED])
        model = make("dvshgp", n_restarts=0)
        assert_array_equal(learned(model, stored, y[COPIED]), expected)
    assert model.n_copies_ == 120


def test_a_word_that_is_none_of_both_is_refused() -> None:
    with pytest.raises(ValueError, match="copies='never' is not allowed: it must be one of 'once', 'each'"):
        ExactGP(copies="never").fit(*draw(30))
