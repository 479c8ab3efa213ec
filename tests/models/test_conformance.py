"""What every entry of MODELS must do, whatever its mathematics and whatever its kernels."""

import inspect
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad_vec
from sklearn.base import clone

from hgpbench.models import DVSHGP
from hgpbench.models.base import Estimator
from hgpbench.prediction import Prediction
from tests.models.zoo import VARIANTS, draw, kind, make


@pytest.fixture(scope="module", params=VARIANTS)
def name(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def fitted(name) -> Estimator:
    return make(name).fit(*draw(80))


def scores(prediction: Prediction, y: np.ndarray, scale: float) -> np.ndarray:
    """Scores free of units: standardised squared errors and log densities, one row each."""
    return np.array([((y - prediction.mean) / scale) ** 2, prediction.logpdf(y) + np.log(scale)])


def test_it_says_what_it_is(name):
    model = kind(name)
    first_line = inspect.getdoc(model).splitlines()[0]
    assert first_line.endswith(".")
    assert "(" in model.reference
    for parameter in inspect.signature(model).parameters:
        assert f"\n{parameter} : " in inspect.getdoc(model), f"{parameter} is not documented"


def test_predictions_have_one_finite_entry_per_row(fitted):
    X, _ = draw(33, seed=1)
    prediction = fitted.predict_dist(X)
    for values in prediction.arrays().values():
        assert values.shape == (33,)
        assert np.isfinite(values).all()
    assert np.all(prediction.noise_var > 0)
    assert np.all(prediction.var >= prediction.noise_var)
    assert np.all(prediction.f_var >= 0)
    mean, std = fitted.predict(X, return_std=True)
    assert_array_equal(mean, prediction.mean)
    assert_array_equal(mean, fitted.predict(X))
    assert_allclose(std**2, prediction.var)


def test_the_density_is_normalised_and_quantiles_invert_the_cdf(fitted):
    X, _ = draw(3, seed=2)
    prediction = fitted.predict_dist(X)
    scale = np.sqrt(prediction.var)

    def density(z: float) -> np.ndarray:
        return scale * np.exp(prediction.logpdf(prediction.mean + scale * z))

    parts = [quad_vec(density, a, b)[0] for a, b in [(-40, -3), (-3, 0), (0, 3), (3, 40)]]
    assert_allclose(sum(parts), 1.0, atol=1e-6)
    for q in (0.025, 0.5, 0.9):
        assert_allclose(prediction.cdf(prediction.quantile(q)), q, rtol=1e-9)


def test_prediction_at_one_row_does_not_depend_on_the_others(fitted):
    X, _ = draw(50, seed=3)
    whole, part = fitted.predict_dist(X), fitted.predict_dist(X[17:18])
    assert_allclose(part.mean, whole.mean[17:18], rtol=1e-9)
    assert_allclose(part.var, whole.var[17:18], rtol=1e-9)


def test_the_bound_and_its_trace_agree(fitted):
    if not hasattr(fitted, "elbo_"):
        assert not hasattr(fitted, "trace_")
        return
    trace = fitted.trace_
    assert trace.shape[1] == 3
    assert fitted.outcome_ in {"converged", "limit reached"}
    assert trace[-1, 2] == pytest.approx(fitted.elbo_, rel=1e-12)
    assert getattr(fitted, "stochastic", False) or np.all(np.diff(trace[:, 2]) >= 0)
    assert np.all(np.diff(trace[:, 0]) == 1)
    assert np.all(np.diff(trace[:, 1]) >= 0)
    assert fitted.n_iter_ == trace[-1, 0]
    assert fitted.n_evaluations_ >= fitted.n_iter_
    assert 0 <= fitted.jitter_ <= 1e-2


def test_the_callback_hears_every_iteration(name):
    heard: list[tuple[int, int | None, float]] = []
    model = make(name).fit(*draw(80), callback=lambda *news: heard.append(news))
    if not hasattr(model, "elbo_"):
        assert not heard
        return
    assert [step for step, _, _ in heard] == list(range(1, model.n_iter_ + 1))
    assert all(total is None or step <= total for step, total, _ in heard)
    assert_allclose([bound for _, _, bound in heard], model.trace_[1:, 2])


def test_it_learns_something(name, fitted):
    X, y = draw(400, seed=4)
    error = np.mean((fitted.predict(X) - y) ** 2) / np.var(y)
    assert error > 0.9 if name == "mean" else error < 0.45


def test_far_from_the_rows_it_predicts_the_prior(fitted):
    if not hasattr(fitted, "signal_var_f_"):
        return
    far = fitted.predict_dist(np.array([[1e4, -1e4], [1e9, 1e9]]))
    assert_allclose(far.f_mean, draw(80)[1].mean(), rtol=1e-9)
    assert_allclose(far.f_var, fitted.signal_var_f_, rtol=1e-4)  # which is the largest jitter
    if hasattr(fitted, "noise_mean_"):
        assert_allclose(far.g_mean, fitted.noise_mean_, rtol=1e-9)
        assert_allclose(far.g_var, fitted.signal_var_g_, rtol=1e-4)


def test_one_seed_repeats(name, fitted):
    X, _ = draw(20, seed=5)
    again = make(name).fit(*draw(80))
    assert_array_equal(again.predict_dist(X).logpdf(0.3), fitted.predict_dist(X).logpdf(0.3))


def test_pickle_and_clone(fitted):
    X, _ = draw(20, seed=6)
    restored = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(restored.predict_dist(X).var, fitted.predict_dist(X).var)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not [attribute for attribute in vars(copy) if attribute.endswith("_")]


def test_fitting_leaves_the_data_alone(name):
    X, y = draw(60)
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    make(name).fit(X, y).predict(X)
    assert_array_equal(X, before[0])
    assert_array_equal(y, before[1])


# An optimiser amplifies round-off from one iteration to the next, and where it ends depends on it; a few
# iterations tell whether the estimator's arithmetic is free of units and of order, to many digits.
def few(name: str, **changes) -> Estimator:
    limit = {"optimizer": "natural(n_passes=3)"} if kind(name) is DVSHGP else {"max_iter": 3}
    return make(name, **limit, **changes)


@pytest.fixture(scope="module")
def brief(name) -> Estimator:
    return few(name).fit(*draw(80))


@pytest.mark.parametrize(("scale", "shift"), [(1e-12, 0.0), (1e12, -3e12), (250.0, 1e4)])
def test_units_of_the_target_do_not_matter(name, brief, scale, shift):
    X, y = draw(80)
    Xs, ys = draw(30, seed=7)
    moved = few(name).fit(X, shift + scale * y)
    found = scores(moved.predict_dist(Xs), shift + scale * ys, scale)
    assert_allclose(found, scores(brief.predict_dist(Xs), ys, 1.0), rtol=1e-4, atol=1e-4)
    if hasattr(moved, "elbo_"):
        assert moved.elbo_ + 80 * np.log(scale) == pytest.approx(brief.elbo_, abs=1e-3)


@pytest.mark.parametrize(("scale", "shift"), [(1e-12, 0.0), (1e12, -3e12)])
def test_units_of_the_inputs_do_not_matter(name, brief, scale, shift):
    X, y = draw(80)
    Xs, ys = draw(30, seed=7)
    moved = few(name).fit(shift + scale * X, y)
    found = scores(moved.predict_dist(shift + scale * Xs), ys, 1.0)
    assert_allclose(found, scores(brief.predict_dist(Xs), ys, 1.0), rtol=1e-4, atol=1e-4)
    if hasattr(moved, "lengthscales_f_"):
        assert_allclose(moved.lengthscales_f_, scale * brief.lengthscales_f_, rtol=1e-4)


def test_the_order_of_rows_does_not_matter(name, brief):
    X, y = draw(80)
    Xs, ys = draw(30, seed=8)
    order = np.random.default_rng(9).permutation(80)
    moved = few(name).fit(X[order], y[order])
    expected = scores(brief.predict_dist(Xs), ys, 1.0)
    assert_allclose(scores(moved.predict_dist(Xs), ys, 1.0), expected, rtol=1e-4, atol=1e-4)


def test_without_standardisation_it_works_in_the_given_units(name, brief):
    if "standardize" not in kind(name)().get_params():
        return
    X, y = draw(80)
    shift, scale = X.mean(axis=0), X.std(axis=0)
    outside = few(name, standardize=False).fit((X - shift) / scale, (y - y.mean()) / y.std())
    Xs, _ = draw(30, seed=10)
    found = outside.predict_dist((Xs - shift) / scale).rescale(y.mean(), y.std())
    expected = brief.predict_dist(Xs)
    assert_allclose(found.mean, expected.mean, rtol=1e-4, atol=1e-4)
    assert_allclose(found.var, expected.var, rtol=1e-4)
