"""What a run stores beside its record, so that small problems can be drawn."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessRegressor

from hgpbench.bench import code, estimators
from hgpbench.bench import execute as executing
from hgpbench.bench import record as records
from hgpbench.bench.execute import PICTURE_ROWS, arrays, execute, outcome, scaled
from hgpbench.bench.job import Job
from hgpbench.bench.record import Arrays, Record
from hgpbench.data.split import Fold
from hgpbench.errors import DataError
from hgpbench.models import DVSHGP, VSHGP, ExactGP
from hgpbench.models.base import Estimator
from hgpbench.prediction import Prediction
from hgpbench.scaling import Scaling
from tests.bench.troubles import Plain

TRAIN, TEST = 60, 7


def fold_of(d: int, train: int = TRAIN) -> Fold:
    rng = np.random.default_rng(0)
    X, Xs = rng.uniform(-2, 2, (train, d)), rng.uniform(-2, 2, (TEST, d))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(train)
    return Fold(X_train=X, y_train=y, X_test=Xs, y_test=np.zeros(TEST), test_index=np.arange(TEST))


def stored(fold: Fold, model: Estimator, columns: tuple[str, ...] = ()) -> Arrays:
    flat = Prediction.gaussian(np.zeros(TEST), np.ones(TEST), 1.0)
    return arrays(fold, columns, flat, model, None)


@pytest.mark.parametrize(
    ("told", "seconds"),
    [(2.5, 2.5), (np.float32(2.5), 2.5), ("soon", 0.0), ([1, 2], 0.0), (None, 0.0), (-1.0, 0.0)],
)
def test_odd_words_on_earlier_attempts_do_not_cost_a_fit(
    told: object, seconds: float, tmp_path: Path
) -> None:
    class Tells(Plain):
        resumed_seconds_ = told

    fold = fold_of(1)
    assert estimators.fit(Tells(), fold.X_train, fold.y_train, lambda *_: None, tmp_path / "c") == seconds


@pytest.fixture(scope="module")
def experts() -> DVSHGP:
    fold = fold_of(1)
    model = DVSHGP(3, n_inducing_f=6, n_inducing_g=4, optimizer="natural(n_passes=2)", random_state=0)
    return model.fit(fold.X_train, fold.y_train)


def test_experts_and_variational_parameters_go_with_the_training_rows(experts: DVSHGP) -> None:
    fold = fold_of(1)
    extras = stored(fold, experts).extras
    assert_array_equal(extras["expert"], experts.labels_)
    assert_array_equal(extras["variational"], experts.lam_)
    # Experts of neighbouring rows: in order of their input, the rows change owner as seldom as possible.
    owners = extras["expert"][np.argsort(extras["X_train"][:, 0])]
    assert np.count_nonzero(np.diff(owners)) == len(set(owners)) - 1
    for name in ("inducing_f", "inducing_g"):
        assert fold.X_train.min() - 1 < extras[name].min() < extras[name].max() < fold.X_train.max() + 1


@pytest.mark.parametrize("train", [TRAIN + 1, PICTURE_ROWS + 1])
def test_what_does_not_belong_to_stored_rows_is_left_out(experts: DVSHGP, train: int) -> None:
    assert not {"expert", "variational"} & stored(fold_of(1, train), experts).extras.keys()


def test_models_without_experts_store_none() -> None:
    fold = fold_of(1)
    assert "expert" not in stored(fold, VSHGP(5, 5, max_iter=1).fit(fold.X_train, fold.y_train)).extras
    assert not {"expert", "variational"} & stored(fold, ExactGP()).extras.keys()


def test_names_of_inputs_survive_the_file(tmp_path: Path) -> None:
    names = ("Länge [m]", "year")
    kept = stored(fold_of(2), ExactGP(), names)
    about = {"experiment": "e", "label": "gp", "model": "gp", "params": {}, "seed": 0, "identity": "a"}
    records.write(tmp_path, Record("done", None, **about, dataset={}, split={}), kept)
    back = records.read_arrays(tmp_path).extras["input_names"]
    assert tuple(name.decode() for name in back.tolist()) == names
    assert "input_names" not in stored(fold_of(2), ExactGP()).extras
    assert not stored(fold_of(3), ExactGP(), ("a", "b", "c")).extras


def test_our_models_get_the_rows_as_they_are_whether_they_standardise_them_or_not() -> None:
    fold = fold_of(2)
    for model in (ExactGP(), ExactGP(standardize=False)):
        assert estimators.scaling(model, fold.X_train, fold.y_train) is None
    assert scaled(fold, None) == (fold.X_train, fold.y_train, fold.X_test)
    scaling = estimators.scaling(GaussianProcessRegressor(), fold.X_train, fold.y_train)
    assert scaling is not None
    X, y, Xs = scaled(fold, scaling)
    assert_allclose([X.mean(), X.std(), y.mean(), y.std()], [0, 1, 0, 1], atol=0.1)
    assert_allclose(scaling.undo_inputs(Xs), fold.X_test)


def test_bounds_are_those_of_the_standardised_target() -> None:
    fold = fold_of(1)
    scaling = Scaling.of(fold.X_train, fold.y_train)
    whole = ExactGP().fit(fold.X_train, 1e3 * fold.y_train)
    apart = ExactGP(standardize=False).fit(scaling.inputs(fold.X_train), scaling.target(fold.y_train))
    assert outcome(whole)["elbo"] == pytest.approx(outcome(apart)["elbo"], rel=1e-6)
    trace = stored(fold, whole).trace
    assert trace is not None
    assert trace[-1, 2] == pytest.approx(apart.trace_[-1, 2], rel=1e-6)


def test_a_target_beyond_double_precision_is_the_data_s_fault() -> None:
    fold = fold_of(1)
    with pytest.raises(DataError, match="rescale y"):
        estimators.scaling(GaussianProcessRegressor(), fold.X_train, 1e200 * fold.y_train)


def test_the_record_tells_how_many_test_rows_were_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold = fold_of(3)
    copies = fold.X_test.copy()
    copies[:2] = fold.X_train[[5, 9]]
    given = replace(fold, X_test=copies, y_test=np.linspace(0, 1, TEST))
    source = SimpleNamespace(sha256="a", columns=(), fold=lambda split, seed: given)
    monkeypatch.setattr(executing, "open_source", lambda name, variant: source)
    about = {
        "dataset": {"name": "d", "variant": None, "sha256": "a"},
        "split": {"train": TRAIN, "test": TEST},
    }
    job = Job("e", "mean", "mean", {}, 0, **about, threads=1, code=code.of_shipped("hgpbench.models.mean"))
    record, _ = execute(job, {}, lambda *told: None, tmp_path / "checkpoint")
    assert record.seen_share == 2 / TEST
    records.write(tmp_path, record)
    assert records.read(tmp_path).seen_share == 2 / TEST
