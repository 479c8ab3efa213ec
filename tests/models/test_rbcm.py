"""RBCM: against the exact GP, its invariances, what training draws, and who computes it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.la import JITTER
from hgpbench.models import RBCM, ExactGP
from tests.models.zoo import draw


def test_far_from_the_data_the_prior_returns():
    X, y = draw(120)
    for tolerance in (0.0, 1e-4):
        model = RBCM(n_experts=4, max_iter=10, skip_tol=tolerance, random_state=0).fit(X, y)
        far = model.predict_dist(np.array([[500.0, -800.0], [1e9, 1e9]]))
        assert_allclose(far.mean, y.mean(), rtol=1e-14)
        assert_allclose(far.f_var, model.signal_var_f_ * (1 + JITTER), rtol=1e-14)


def test_one_expert_alone_is_the_exact_gp():
    X, y = draw(100)
    Xs, _ = draw(20, seed=1)
    alone = RBCM(n_experts=1, aggregation="gpoe", max_iter=15, skip_tol=0).fit(X, y)
    exact = ExactGP(max_iter=15).fit(X, y)
    assert alone.elbo_ == pytest.approx(exact.elbo_, rel=1e-6)
    assert_allclose(alone.predict(Xs, return_std=True), exact.predict(Xs, return_std=True), rtol=1e-3)


def test_two_processes_compute_the_same_bits():
    X, y = draw(200)
    Xs, _ = draw(50, seed=1)
    one, two = (RBCM(n_experts=9, max_iter=4, n_jobs=n, random_state=1).fit(X, y) for n in (1, 2))
    assert one.elbo_ == two.elbo_
    assert_array_equal(one.trace_[:, 2], two.trace_[:, 2])
    first, second = one.predict_dist(Xs), two.predict_dist(Xs)
    assert_array_equal(first.mean, second.mean)
    assert_array_equal(first.var, second.var)


def test_with_a_linear_mean_a_slope_of_the_target_changes_nothing_else():
    X, y = draw(200)
    Xs, _ = draw(40, seed=3)
    slope = np.array([30.0, -20.0])
    small = {"n_experts": 4, "max_iter": 40, "random_state": 0}
    plain, tilted = (RBCM(**small, mean="linear").fit(X, t).predict_dist(Xs) for t in (y, y + X @ slope))
    assert_allclose(tilted.mean - Xs @ slope, plain.mean, atol=0.02)
    assert_allclose(tilted.var, plain.var, rtol=0.02)
    far = np.full((1, 2), 100.0)
    linear, zero = (
        RBCM(**small, mean=kind).fit(X, y + X @ slope).predict(far)[0] for kind in ("linear", "zero")
    )
    assert linear == pytest.approx(100 * slope.sum(), rel=0.2)
    assert zero == pytest.approx(np.mean(y + X @ slope), rel=1e-6)


def test_hyper_parameters_from_a_part_of_the_experts_are_close():
    X, y = draw(900)
    Xs, ys = draw(400, seed=1)
    all_of_them, some = (RBCM(n_experts=12, train_rows=rows, random_state=0).fit(X, y) for rows in (900, 300))
    assert all_of_them.n_train_rows_ == 900
    assert 200 < some.n_train_rows_ <= 300
    assert some.noise_var_ == pytest.approx(all_of_them.noise_var_, rel=0.5)
    error, reference = (np.mean((model.predict(Xs) - ys) ** 2) for model in (some, all_of_them))
    assert error < 1.1 * reference


def test_the_evidence_of_a_part_stands_for_all():
    X, y = draw(900)
    y += 3 * np.random.default_rng(4).normal(size=900)
    all_of_them, some = (
        RBCM(n_experts=12, partition="random", train_rows=rows, random_state=0).fit(X, y)
        for rows in (900, 300)
    )
    assert some.elbo_ == pytest.approx(all_of_them.elbo_, rel=0.05)


def test_sizes_are_reported_and_bounded():
    X, y = draw(300)
    model = RBCM(n_experts=4, max_iter=1).fit(X, y)
    assert model.expert_sizes_.sum() == 300
    assert np.bincount(model.labels_).tolist() == model.expert_sizes_.tolist()
    assert RBCM(expert_size=50, partition="random", max_iter=1).fit(X, y).expert_sizes_.tolist() == [50] * 6
    assert RBCM(n_experts=2, max_expert_size=40, max_iter=1).fit(X, y).expert_sizes_.max() <= 40


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_experts": 0}, "n_experts=0"),
        ({"expert_size": 2.5}, "expert_size=2.5"),
        ({"max_expert_size": 0}, "max_expert_size=0"),
        ({"train_rows": None}, "train_rows=None"),
        ({"skip_tol": -1e-3}, "skip_tol=-0.001"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"mean": "quadratic"}, "'zero', 'linear'"),
        ({"partition": "grid"}, "'kmeans', 'balanced', 'random'"),
        ({"aggregation": "mean"}, "'rbcm', 'gpoe', 'nearest'"),
    ],
)
def test_parameters_out_of_range_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        RBCM(**params).fit(*draw(20))
