"""Splits are disjoint, seeded and possible; scales come from the training rows and survive any magnitude."""

import numpy as np
import pytest

from hgpbench.data.split import Split, Standardiser, split_rows
from hgpbench.errors import DataError
from hgpbench.prediction import Prediction


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        (Split(60, 40), (60, 40)),
        (Split(0.8, "rest"), (80, 20)),
        (Split(0.29, 0.29), (29, 29)),  # 0.29 * 100 is 28.999... in binary
        (Split(90, 0.1), (90, 10)),
        (Split(7, "train"), (7, 7)),
        (Split("all", "train"), (100, 100)),
    ],
)
def test_resolve_gives_counts(split: Split, sizes: tuple[int, int]) -> None:
    assert split.resolve(100) == sizes


@pytest.mark.parametrize("rows", range(2, 60))
@pytest.mark.parametrize("fraction", [0.5, 0.7, 0.9])
def test_complementary_fractions_always_fit_together(rows: int, fraction: float) -> None:
    other = round(1 - fraction, 3)
    if min(fraction, other) * rows < 1:
        with pytest.raises(DataError, match="leaves no"):
            Split(fraction, other).resolve(rows)
    else:
        assert rows - 1 <= sum(Split(fraction, other).resolve(rows)) <= rows


@pytest.mark.parametrize(
    ("split", "complaint"),
    [
        (Split(90, 11), "asks for 101 rows, the dataset has 100"),
        (Split(100, "rest"), "leaves no test rows"),
        (Split(101, "train"), "asks for 101 rows"),
        (Split(0.001, 5), "leaves no train rows"),
        (Split(101, "rest"), "asks for 101 rows"),
        (Split("published", "published"), "not published with a split"),
    ],
)
def test_impossible_splits_say_why(split: Split, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        split.resolve(100)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (0, 5), (-3, 5), (1.5, 5), (0.0, 5), (1.0, "rest"), (True, 5), ("rest", 5), ("some", 5), (5, "all"),
        (5, float("nan")), ("all", "rest"), ("all", 5), ("published", "rest"), (5, "published"),
    ],
)  # fmt: skip
def test_senseless_splits_are_refused(train: object, test: object) -> None:
    with pytest.raises(DataError, match="split"):
        Split(train, test)


def test_rows_are_disjoint_seeded_and_within_the_set() -> None:
    train, test = split_rows(100, Split(70, 30), seed=3)
    assert sorted([*train, *test]) == list(range(100))
    again = split_rows(100, Split(70, 30), seed=3)
    np.testing.assert_array_equal(train, again[0])
    np.testing.assert_array_equal(test, again[1])
    assert set(train) != set(split_rows(100, Split(70, 30), seed=4)[0])


def test_the_test_size_does_not_move_the_training_rows() -> None:
    small, _ = split_rows(100, Split(50, 10), seed=1)
    large, _ = split_rows(100, Split(50, "rest"), seed=1)
    np.testing.assert_array_equal(small, large)


def test_published_rows_ignore_the_seed() -> None:
    published = np.array([1, 4])
    train, test = split_rows(6, Split("published", "published"), seed=9, published_test=published)
    assert train.tolist() == [0, 2, 3, 5]
    assert test.tolist() == [1, 4]


def test_scored_in_sample_means_the_same_rows() -> None:
    train, test = split_rows(5, Split("all", "train"), seed=0)
    assert train.tolist() == test.tolist() == [0, 1, 2, 3, 4]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.mark.parametrize("magnitude", [1.0, 1e300, 1e-300, 1.7e308, 5e-310])
def test_inputs_are_standardised_at_any_magnitude(rng: np.random.Generator, magnitude: float) -> None:
    unit = rng.uniform(-1, 1, (400, 3))
    X = unit * magnitude
    Z = Standardiser.fit(X, unit[:, 0]).inputs(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(Z.std(axis=0), 1, rtol=1e-6 if magnitude < 1e-307 else 1e-13)
    assert Z.flags.c_contiguous


@pytest.mark.parametrize("magnitude", [1e-120, 1e-12, 1.0, 1e12, 1e120])
def test_target_is_standardised_and_undone(rng: np.random.Generator, magnitude: float) -> None:
    y = magnitude * (3 + rng.standard_normal(200))
    standard = Standardiser.fit(rng.standard_normal((200, 1)), y)
    z = standard.target(y)
    np.testing.assert_allclose([z.mean(), z.std()], [0, 1], atol=1e-13)
    ones = np.ones(200)
    back = standard.undo(Prediction.gaussian(z, 0.5 * ones, 0.5))
    np.testing.assert_allclose(back.mean, y, rtol=1e-13, atol=1e-14 * magnitude)
    np.testing.assert_allclose(back.var, y.var(), rtol=1e-12)
    assert back.f_var is not None
    np.testing.assert_allclose(back.f_var, 0.5 * y.var(), rtol=1e-12)


@pytest.mark.parametrize("spread", [1e-200, 1e200])
def test_a_target_whose_variance_is_no_double_is_refused(rng: np.random.Generator, spread: float) -> None:
    with pytest.raises(DataError, match="rescale the target"):
        Standardiser.fit(rng.standard_normal((50, 1)), spread * rng.standard_normal(50))


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3e250, 1e-250])
def test_constant_columns_keep_scale_one(rng: np.random.Generator, value: float) -> None:
    X = np.column_stack([np.full(1000, value), rng.standard_normal(1000)])
    standard = Standardiser.fit(X, np.full(1000, 4.2))
    assert standard.x_scale[0] == 1.0
    assert (standard.inputs(X)[:, 0] == 0).all()
    assert standard.y_scale == 1.0
    assert (standard.target(np.full(1000, 4.2)) == 0).all()


def test_a_column_that_differs_by_rounding_only_counts_as_constant() -> None:
    X = np.where(np.arange(100) % 2, 0.3, 0.1 + 0.2)[:, None]  # 0.30000000000000004
    standard = Standardiser.fit(X, np.arange(100.0))
    assert standard.x_scale[0] == 1.0


def test_a_far_off_mean_costs_the_spread_no_digits(rng: np.random.Generator) -> None:
    small = rng.integers(0, 1000, 500).astype(float)
    near = Standardiser.fit(small[:, None], small).inputs(small[:, None])
    X = (small + 2.0**40)[:, None]
    far = Standardiser.fit(X, small).inputs(X)
    # The mean itself is one double, good to 2^-13 here; distances between points are untouched.
    np.testing.assert_allclose(far - far[0], near - near[0], rtol=0, atol=1e-12)


def test_scales_come_from_the_rows_they_were_fitted_on() -> None:
    standard = Standardiser.fit(np.array([[0.0], [2.0]]), np.array([10.0, 30.0]))
    np.testing.assert_allclose(standard.inputs(np.array([[5.0]])), [[4.0]])
    np.testing.assert_allclose(standard.target(np.array([40.0])), [2.0])
    assert (standard.x_mean, standard.y_mean, standard.y_scale) == ([1.0], 20.0, 10.0)
