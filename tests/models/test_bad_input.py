"""Odd and bad data: every model works on it, or says in one line what is wrong."""

import numpy as np
import pytest

from hgpbench.models import MODELS
from tests.models.zoo import VARIANTS, draw, make


@pytest.fixture(params=MODELS)
def name(request) -> str:
    return request.param


@pytest.fixture(params=VARIANTS)
def variant(request) -> str:
    return request.param


def check(name: str, X: np.ndarray, y: np.ndarray, **params) -> None:
    """Fit and predict, finite and with a positive variance."""
    prediction = make(name, **params).fit(X, y).predict_dist(X)
    assert all(np.isfinite(values).all() for values in prediction.arrays().values())
    assert np.all(prediction.var > 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(name, bad):
    X, y = draw(30)
    poisoned = X.copy()
    poisoned[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        make(name).fit(poisoned, y)
    poisoned_y = y.copy()
    poisoned_y[5] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        make(name).fit(X, poisoned_y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        make(name).fit(X, y).predict(poisoned)


def test_one_row_is_refused(name):
    with pytest.raises(ValueError, match="minimum of 2"):
        make(name).fit([[1.0, 2.0]], [3.0])


def test_two_rows_are_enough(name):
    check(name, np.array([[0.0], [1.0]]), np.array([1.0, 2.0]))


@pytest.mark.parametrize("value", [0.0, 3.0, -1e12])
def test_a_constant_target_is_refused(name, value):
    X, _ = draw(30)
    with pytest.raises(ValueError, match="y is constant"):
        make(name).fit(X, np.full(30, value))


def test_a_target_constant_up_to_round_off_is_refused(name):
    X, _ = draw(30)
    with pytest.raises(ValueError, match="y is constant"):
        make(name).fit(X, 1e9 + 1e-7 * np.arange(30) % 2)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_targets_beyond_double_precision_are_refused(name, scale):
    X, y = draw(30)
    with pytest.raises(ValueError, match="rescale y"):
        make(name).fit(X, scale * y)


def test_constant_and_duplicated_columns(name):
    X, y = draw(50)
    check(name, np.column_stack([X, np.full(50, 7.0), X[:, 0], np.zeros(50)]), y)


def test_a_column_of_round_off_is_a_constant_one(variant):
    X, y = draw(60)
    rounded, constant = np.where(np.arange(60) % 2, 0.3, 0.1 + 0.2), np.full(60, 0.3)
    means = [make(variant).fit(A, y).predict(A) for A in (np.c_[rounded, X], np.c_[constant, X])]
    np.testing.assert_array_equal(*means)


def test_all_columns_constant(variant):
    _, y = draw(50)
    check(variant, np.ones((50, 2)), y)


def test_duplicated_rows(variant):
    X, y = draw(20)
    check(variant, np.repeat(X, 3, axis=0), np.repeat(y, 3))
    rng = np.random.default_rng(0)
    check(variant, np.repeat(X, 3, axis=0), rng.normal(size=60))


def test_more_inducing_points_than_rows(variant):
    X, y = draw(15)
    check(variant, X, y, n_inducing=40, n_inducing_f=40, n_inducing_g=40)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_columns_of_very_different_scales(name, scale):
    X, y = draw(50)
    check(name, X * np.array([scale, 1.0]), y)
    check(name, X * 1e150 * scale, y)


def test_a_target_without_noise(variant):
    X, _ = draw(50)
    check(variant, X, X @ np.array([1.0, 2.0]))
    check(variant, X, np.sin(X[:, 0]))


def test_an_outlier(name):
    X, y = draw(50)
    y[7] = 1e6
    check(name, X, y)


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: (10 * X).astype(int),
        lambda X: X.astype(np.float32),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X.tolist(),
    ],
    ids=["int", "float32", "fortran", "strided", "list"],
)
def test_layouts_and_types_of_the_inputs(name, convert):
    X, y = draw(50)
    converted = convert(X)
    plain = np.ascontiguousarray(converted, dtype=float)
    found, expected = (make(name).fit(inputs, y).predict_dist(inputs) for inputs in (converted, plain))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.var, expected.var, rtol=1e-5)


def test_an_integer_target(name):
    X, _ = draw(50)
    check(name, X, np.arange(50) % 5)


def test_parameters_out_of_range_are_refused(name):
    X, y = draw(30)
    model = make(name)
    for parameter in {"n_inducing", "n_inducing_f", "n_inducing_g", "max_iter"} & model.get_params().keys():
        for bad in (0, -1, 2.5, "ten", *([] if type(model)().get_params()[parameter] is None else [None])):
            with pytest.raises(ValueError, match=parameter):
                make(name, **{parameter: bad}).fit(X, y)


FAR = [1e1, 1e4, 1e7, 1e8, 1e9, 1e11, 1e14, 1e16, 1e80, 1e150, 1e160, 1e300, 1.7e308]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_rows_however_far_spoil_no_prediction(variant, side):
    X, y = draw(60)
    model = make(variant).fit(X, y)
    near = model.predict_dist(X)
    far = np.concatenate([X, side * np.repeat(np.array(FAR)[:, None], 2, axis=1)])
    prediction = model.predict_dist(far)
    for moment, values in prediction.arrays().items():
        assert np.isfinite(values).all(), moment
        np.testing.assert_allclose(values[:60], near.arrays()[moment], rtol=1e-9, atol=1e-12)
    assert (prediction.var > 0).all()
    if variant not in ("linear", "hetlinear", "gpvc"):  # these extrapolate
        np.testing.assert_allclose(prediction.mean[62:], y.mean(), rtol=1e-9)
        np.testing.assert_allclose(prediction.var[62:], prediction.var[-1], rtol=1e-6)


@pytest.mark.parametrize("scale", [5e-310, 1e-200, 1e99, 1e300])
@pytest.mark.parametrize("name", [each for each in MODELS if "standardize" in make(each).get_params()])
def test_targets_beyond_squares_are_refused_unless_standardised(name, scale):
    X, y = draw(30)
    with pytest.raises(ValueError, match="rescale y or leave standardize=True"):
        make(name, standardize=False).fit(X, scale * y)
