"""dPIC as an estimator, beside the exact GP and FITC."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.models import DPIC, FITC, ExactGP
from tests.models.zoo import draw


def quick(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A function of one input that varies too quickly for a few inducing points."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, size=(n, 1))
    return X, np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=n)


def test_one_block_is_the_exact_gp():
    X, y = draw(70)
    Xs, _ = draw(20, seed=1)
    model, exact = DPIC(5, n_blocks=1, random_state=0).fit(X, y), ExactGP().fit(X, y)
    assert model.elbo_ == pytest.approx(exact.elbo_, abs=1e-3)
    found, expected = model.predict_dist(Xs), exact.predict_dist(Xs)
    assert_allclose(found.mean, expected.mean, atol=2e-3)
    assert_allclose(found.var, expected.var, rtol=5e-3)
    assert_allclose(model.lengthscales_f_, exact.lengthscales_f_, rtol=0.02)
    assert model.signal_var_f_ == pytest.approx(exact.signal_var_f_, rel=0.05)
    assert model.noise_var_ == pytest.approx(exact.noise_var_, rel=0.02)


def test_blocks_of_one_row_start_at_the_evidence_of_fitc():
    X, y = draw(60)
    # Both draw their inducing points by k-means; with one at every row they are the same.
    model = DPIC(60, n_blocks=60, max_iter=1, random_state=0).fit(X, y)
    fitc = FITC(60, max_iter=1, random_state=0).fit(X, y)
    assert_array_equal(model.block_sizes_, np.ones(60))
    assert model.trace_[0, 2] == pytest.approx(fitc.trace_[0, 2], rel=1e-9)


def test_blocks_see_what_inducing_points_miss():
    X, y = quick(400)
    Xs, ys = quick(300, seed=1)
    model = DPIC(8, n_blocks=8, max_iter=50, random_state=0).fit(X, y)
    fitc = FITC(8, max_iter=50, random_state=0).fit(X, y)
    errors = [np.mean((each.predict(Xs) - ys) ** 2) / np.var(ys) for each in (model, fitc)]
    assert errors[0] < 0.05
    assert errors[1] > 0.3
    coverage = np.mean(np.abs(model.predict_dist(Xs).cdf(ys) - 0.5) < 0.475)
    assert 0.9 < coverage < 0.99


def test_a_test_row_belongs_to_the_block_with_the_nearest_centre():
    X, y = quick(100)
    model = DPIC(4, n_blocks=5, max_iter=3, random_state=0).fit(X, y)
    Xs, _ = quick(40, seed=2)
    starts, rows = np.concatenate([[0], np.cumsum(model.block_sizes_)]), model._posterior.X
    centres = np.array([rows[a:b].mean() for a, b in pairwise(starts)])
    scaled = (Xs - X.mean()) / X.std()
    owners = np.abs(scaled - centres).argmin(axis=1)
    mean, var = model._posterior.moments(scaled, owners)
    prediction = model.predict_dist(Xs)
    assert_allclose(prediction.f_mean, y.mean() + y.std() * mean, rtol=1e-9)
    assert_allclose(prediction.f_var, y.var() * var, rtol=1e-9)


@pytest.mark.parametrize("partition", ["kmeans", "balanced", "random"])
def test_every_row_is_in_one_block_and_large_ones_are_cut(partition):
    X, y = draw(150)
    model = DPIC(5, n_blocks=4, partition=partition, max_block_size=30, max_iter=1, random_state=0).fit(X, y)
    assert model.block_sizes_.sum() == 150
    assert_array_equal(np.bincount(model.labels_), model.block_sizes_)
    assert model.block_sizes_.max() <= 30
    by_size = DPIC(5, block_size=60, partition=partition, max_iter=1, random_state=0).fit(X, y)
    assert len(by_size.block_sizes_) == pytest.approx(3, abs=1)


def test_the_number_of_threads_changes_no_bit():
    X, y = draw(120)
    one, two = (DPIC(6, n_blocks=20, max_iter=5, n_jobs=jobs, random_state=0).fit(X, y) for jobs in (1, 3))
    assert one.elbo_ == two.elbo_
    assert_array_equal(one.inducing_f_, two.inducing_f_)
    assert_array_equal(one.predict_dist(X).var, two.predict_dist(X).var)


def test_conjugate_gradients_climb_as_well():
    X, y = draw(60)
    cg = DPIC(6, n_blocks=3, optimizer="cg", max_iter=40, random_state=0).fit(X, y)
    lbfgs = DPIC(6, n_blocks=3, max_iter=40, random_state=0).fit(X, y)
    assert cg.elbo_ > cg.trace_[0, 2] + 0.8 * (lbfgs.elbo_ - lbfgs.trace_[0, 2])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_blocks", 0),
        ("block_size", 0),
        ("max_block_size", 2.5),
        ("n_jobs", 0),
        ("partition", "grid"),
        ("optimizer", "adam"),
    ],
)
def test_parameters_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r} is not allowed"):
        DPIC(**{name: value}).fit(*draw(30))


def test_repeated_rows_say_how_noisy_it_is_at_least():
    """A rough kernel takes noise for signal: a row that occurs again with another target tells."""
    X, y = draw(240)
    rng = np.random.default_rng(5)
    again = np.r_[np.arange(240), np.arange(40)]
    targets = y[again] + np.r_[np.zeros(240), 0.5 * rng.normal(size=40)]
    size = {"n_blocks": 3, "n_inducing": 10, "kernel": "matern12", "max_iter": 5, "random_state": 0}
    model = DPIC(**size).fit(X[again], targets)
    published = DPIC(**size, noise_floor=False).fit(X[again], targets)
    differences = targets[240:] - targets[:40]
    assert model.noise_floor_ == pytest.approx(float(np.mean(differences**2)) / 2.0, rel=1e-9)
    assert published.noise_floor_ == 0.0
    plain = published.predict_dist(X)
    assert_allclose(model.predict_dist(X).var, np.maximum(plain.var, model.noise_floor_))
    assert plain.var.min() < model.noise_floor_
    assert_allclose(published.predict_dist(X).noise_var, published.noise_var_)
    assert DPIC(**size).fit(X, y).noise_floor_ == 0.0  # no row twice
    with pytest.raises(ValueError, match="noise_floor='no' is not allowed"):
        DPIC(noise_floor="no").fit(X, y)


@pytest.mark.parametrize("kernel", ["se", "matern12"])
def test_copies_of_rows_do_not_have_other_measurements_called_impossible(kernel: str) -> None:
    """Targets that agree to the bit drive the learned noise to zero; left-out rows know better."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=400)
    rows = np.r_[np.arange(300), rng.integers(0, 300, size=100)]
    Xs, ys = np.r_[X[300:], X[:10]], np.r_[y[300:], y[:10] + 0.4 * rng.normal(size=10)]
    size = {
        "n_blocks": 3,
        "n_inducing": 20,
        "kernel": kernel,
        "max_iter": 60,
        "copies": "each",
        "random_state": 0,
    }
    model = DPIC(**size).fit(X[rows], y[rows])
    published = DPIC(**size, noise_floor=False).fit(X[rows], y[rows])
    assert model.noise_var_ == published.noise_var_ < 1e-6
    assert published.predict_dist(Xs).logpdf(ys).mean() < -1000.0
    assert model.predict_dist(Xs).logpdf(ys).mean() > -1.0
    assert 0.05 < model.noise_floor_ < 0.3
