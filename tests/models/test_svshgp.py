"""SVSHGP: convergence, files, checkpoints, threads, early stops."""

import tracemalloc

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.data.source import open_source
from hgpbench.data.split import Split
from hgpbench.fitting import batches, checkpoint
from hgpbench.models import SVSHGP, VSHGP
from tests.models.zoo import draw

SIZE = {"n_inducing_f": 10, "n_inducing_g": 6, "batch_size": 40, "random_state": 3}


class Stop(Exception):
    """Raised by a callback to end a fit."""


def same_fit(found: SVSHGP, expected: SVSHGP) -> None:
    """The same bits, times apart."""
    assert_array_equal(found.trace_[:, [0, 2]], expected.trace_[:, [0, 2]])
    Xs, _ = draw(20, seed=1)
    assert_array_equal(found.predict_dist(Xs).var, expected.predict_dist(Xs).var)


def test_on_toy_natural_gradients_pass_adam_and_come_to_vshgp():
    fold = open_source("toy").fold(Split(500, 100), seed=0)
    size = {"n_inducing_f": 20, "n_inducing_g": 20, "random_state": 0}
    best = VSHGP(**size, guard=False).fit(fold.X_train, fold.y_train).elbo_
    ends = {
        method: SVSHGP(**size, batch_size=50, max_iter=800, optimizer=method).fit(fold.X_train, fold.y_train)
        for method in ("ngd+adam", "adam")
    }
    natural, adam = ends["ngd+adam"].elbo_, ends["adam"].elbo_
    assert best - 10.0 < natural < best + 1.0
    assert adam < natural - 20.0
    first = ends["adam"].trace_[0, 2]
    assert adam > first + 0.9 * (best - first)


@pytest.mark.parametrize("stops", [[37], [5, 38]])
def test_a_killed_fit_continues_and_ends_with_the_same_bits(tmp_path, monkeypatch, stops):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    data, path = draw(200), tmp_path / "state.h5"
    options = SIZE | {"max_iter": 60, "holdout": 0.1}
    expected = SVSHGP(**options).fit(*data)
    for last in stops:

        def stop(step: int, total: int | None, bound: float, last: int = last) -> None:
            if step == last:
                raise Stop

        with pytest.raises(Stop):
            SVSHGP(**options).fit(*data, callback=stop, checkpoint=path)
    heard: list[int] = []
    resumed = SVSHGP(**options, n_jobs=1).fit(
        *data, checkpoint=path, callback=lambda step, total, bound: heard.append(step)
    )
    assert heard[0] == stops[-1]  # the state after it was the last one written
    assert resumed.resumed_seconds_ > 0
    same_fit(resumed, expected)
    assert_array_equal(resumed.scores_[:, [0, 2]], expected.scores_[:, [0, 2]])
    assert resumed.n_evaluations_ == expected.n_evaluations_


def test_a_checkpoint_of_another_problem_is_not_continued(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    path = tmp_path / "state.h5"
    SVSHGP(**SIZE, max_iter=10).fit(*draw(200), checkpoint=path)
    changed = SVSHGP(**SIZE, max_iter=12).fit(*draw(200), checkpoint=path)
    assert changed.resumed_seconds_ == 0
    same_fit(changed, SVSHGP(**SIZE, max_iter=12).fit(*draw(200)))


def test_threads_change_no_bit():
    data = draw(200)
    same_fit(*(SVSHGP(**SIZE, max_iter=30, n_jobs=jobs).fit(*data) for jobs in (1, 3)))


def test_mixed_precision_is_close():
    X, y = draw(400)
    found, expected = (
        SVSHGP(**SIZE, max_iter=300, precision=precision).fit(X, y) for precision in ("mixed", "double")
    )
    assert found.elbo_ == pytest.approx(expected.elbo_, abs=0.5)
    difference = found.predict(X) - expected.predict(X)
    assert np.sqrt(np.mean(difference**2)) < 0.01 * np.std(y)


def test_it_stops_where_the_bound_stands_still():
    model = SVSHGP(**SIZE | {"batch_size": 100}, max_iter=3000, tol=0.02).fit(*draw(100))
    assert model.outcome_ == "converged"
    assert 100 <= model.n_iter_ < 3000
    assert model.trace_[-1, 0] == model.n_iter_


def test_held_out_scores_follow_the_fit():
    model = SVSHGP(**SIZE, max_iter=100, holdout=0.25).fit(*draw(400))
    assert model.scores_.shape[1] == 3
    assert model.scores_[-1, 0] == 100
    assert model.scores_[-1, 2] > model.scores_[0, 2]
    assert len(SVSHGP(**SIZE, max_iter=5).fit(*draw(100)).scores_) == 0


def test_inputs_may_stay_in_a_file(tmp_path, monkeypatch):
    X, y = draw(300)
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["X"], file["y"] = X, y
        by_blocks = SVSHGP(**SIZE, max_iter=100).fit(file["X"], file["y"])
        monkeypatch.setattr(batches, "FILE_BLOCK", 1)  # then the batches are those of rows in memory
        model = SVSHGP(**SIZE, max_iter=100).fit(file["X"], file["y"])
    expected = SVSHGP(**SIZE, max_iter=100).fit(X, y)
    same_fit(model, expected)
    Xs, ys = draw(500, seed=1)
    found, other = (one.predict_dist(Xs).logpdf(ys).mean() for one in (by_blocks, expected))
    assert found == pytest.approx(other, abs=0.15)  # other batches of the same rows


def test_memory_does_not_grow_with_the_rows_of_a_file(tmp_path):
    peaks = []
    for n in (140_000, 280_000):  # both are more than is read at a time
        with h5py.File(tmp_path / f"{n}.h5", "w") as file:
            rows = file.create_dataset("X", (n, 12), dtype=float)
            rng = np.random.default_rng(0)
            y = rng.normal(size=n)
            for start in range(0, n, 20_000):
                rows[start : start + 20_000] = rng.normal(size=(20_000, 12))
            tracemalloc.start()
            SVSHGP(**SIZE, max_iter=3).fit(rows, y)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    more = 140_000 * 8
    assert peaks[1] - peaks[0] < 3 * more  # a few vectors as long as the target, where X has twelve columns


def test_bad_data_in_a_file_are_refused(tmp_path):
    X, y = draw(50)
    X[20, 1] = np.nan
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["bad"], file["short"] = X, X[:10]
        with pytest.raises(ValueError, match="NaN"):
            SVSHGP().fit(file["bad"], y)
        with pytest.raises(ValueError, match="inconsistent"):
            SVSHGP().fit(file["short"], y)
        with pytest.raises(ValueError, match="NaN"):
            SVSHGP().fit(file["short"], np.full(10, np.nan))


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("optimizer", "sgd"),
        ("precision", "half"),
        ("step_size", 1.5),
        ("step_size", -0.1),
        ("learning_rate", "fast"),
        ("cooling", 2),
        ("tol", -1),
        ("holdout", 0.9),
        ("batch_size", 0),
        ("n_jobs", 0),
        ("initial_lengthscale_f", 0.5),  # without that of g
    ],
)
def test_parameters_out_of_range(name, bad):
    with pytest.raises(ValueError, match=name):
        SVSHGP(**{name: bad}).fit(*draw(30))


def test_it_starts_from_given_lengthscales_instead_of_a_search():
    X, y = draw(60)
    brief = {"n_inducing_f": 10, "n_inducing_g": 5, "max_iter": 1, "learning_rate": 0.0, "random_state": 0}
    given = SVSHGP(**brief, initial_lengthscale_f=3.0, initial_lengthscale_g="0.2 sd").fit(X, y)
    assert_allclose(given.lengthscales_f_, 3.0)
    assert_allclose(given.lengthscales_g_, 0.2 * X.std(axis=0))
    assert given.signal_var_f_ == pytest.approx(y.var())
    assert np.exp(given.noise_mean_) == pytest.approx(0.25 * y.var())
    assert given.starts_ == []
    assert SVSHGP(**brief).fit(X, y).starts_
    bad = SVSHGP(**brief, initial_lengthscale_f=3.0, initial_lengthscale_g=0.0)
    with pytest.raises(ValueError, match=r"initial_lengthscale_g=0\.0 is not allowed"):
        bad.fit(X, y)
