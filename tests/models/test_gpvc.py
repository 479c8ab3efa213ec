"""GPVC as an estimator: the noise of the GPz demo, its limits, its options, its first values."""

from typing import get_args

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.fitting.basis import first_width
from hgpbench.gp.gpz import Kind
from hgpbench.gp.predictive import normal_logpdf
from hgpbench.models import GPVC, Linear, gpvc
from tests.models.zoo import draw

KINDS = get_args(Kind)


def demo_noise(x: np.ndarray) -> np.ndarray:
    """Noise standard deviation of the authors' demo."""
    return 0.05 + 0.2 * (1 + np.sin(2 * x)) / (1 + np.exp(-0.2 * x))


def demo(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Their one-dimensional sinc."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-10, 10, n))
    return x[:, None], np.sinc(x) + demo_noise(x) * rng.normal(size=n)


@pytest.mark.parametrize("kind", ["GL", "VL", "VC"])
def test_the_noise_profile_of_the_demo_is_recovered(kind):
    X, y = demo(2_000, seed=0)
    model = GPVC(n_basis=30, kind=kind, max_iter=150, random_state=0).fit(X, y)
    x = np.linspace(-9.5, 9.5, 400)
    prediction = model.predict_dist(x[:, None])
    found, truth = np.log(prediction.noise_var), 2 * np.log(demo_noise(x))
    assert np.corrcoef(found, truth)[0, 1] > 0.9
    assert abs(np.mean(found - truth)) < 0.15
    assert np.mean((prediction.mean - np.sinc(x)) ** 2) < 0.02 * np.var(np.sinc(x))


def test_varying_noise_is_worth_its_weights():
    X, y = demo(1_000, seed=1)
    Xs, ys = demo(1_000, seed=2)
    varying, constant = (
        GPVC(n_basis=30, kind="VL", heteroscedastic=on, random_state=0).fit(X, y) for on in (True, False)
    )
    assert np.mean(varying.predict_dist(Xs).logpdf(ys)) > np.mean(constant.predict_dist(Xs).logpdf(ys)) + 0.1
    assert np.ptp(constant.predict_dist(Xs).noise_var) == 0.0
    assert not constant.noise_weights_.any()
    assert constant.noise_mean_ == pytest.approx(np.log(constant.predict_dist(Xs).noise_var[0]), rel=1e-12)


def test_constant_noise_gives_the_evidence_of_bayesian_linear_regression():
    X, y = draw(60)
    model = GPVC(n_basis=8, kind="VC", linear_mean=False, heteroscedastic=False, max_iter=20, random_state=0)
    model.fit(X, y)
    basis = model._posterior.basis
    Phi = basis.evaluate((X - X.mean(axis=0)) / X.std(axis=0) / model._unit)
    cov = (Phi / model.relevances_) @ Phi.T * y.var() + np.exp(model.noise_mean_) * np.eye(60)
    t = y - y.mean()
    expected = -0.5 * (t @ np.linalg.solve(cov, t) + np.linalg.slogdet(2 * np.pi * cov)[1])
    assert model.elbo_ == pytest.approx(expected, rel=1e-9)
    assert_allclose(
        model.predict(X),
        y.mean() + (cov - np.exp(model.noise_mean_) * np.eye(60)) @ np.linalg.solve(cov, t),
        rtol=1e-7,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_learns(kind):
    X, y = draw(300, seed=1)
    Xs, ys = draw(300, seed=2)
    model = GPVC(n_basis=20, kind=kind, max_iter=40, random_state=0).fit(X, y)
    assert model.centres_.shape == (20, 2)
    assert model.relevances_.shape == (23,)
    linear = Linear().fit(X, y).predict_dist(Xs)
    found = model.predict_dist(Xs)
    assert np.mean((found.mean - ys) ** 2) < 0.5 * np.mean((linear.mean - ys) ** 2)
    assert np.mean(found.logpdf(ys)) > np.mean(linear.logpdf(ys)) + 0.3
    assert_allclose(found.logpdf(ys), normal_logpdf(ys, found.mean, found.f_var + found.noise_var))


def test_away_from_the_centres_the_linear_mean_and_the_mean_noise_remain():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(200, 1))
    y = 3 * X[:, 0] + 5 + 0.1 * rng.normal(size=200)
    far = np.array([[1e20], [2e20], [3e20]])  # a function may become very wide
    model, without = (
        GPVC(n_basis=10, kind="VL", linear_mean=on, max_iter=50, random_state=0).fit(X, y)
        for on in (True, False)
    )
    rise = np.diff(model.predict(far))
    assert rise[0] > 1.5e20
    assert rise[1] == pytest.approx(rise[0], rel=1e-9)
    assert np.log(model.predict_dist(far).noise_var[0]) == pytest.approx(model.noise_mean_, rel=1e-12)
    assert_allclose(without.predict(far), y.mean(), rtol=1e-12)
    assert without.predict_dist(far).f_var[0] == 0.0


def test_the_first_width_follows_the_rule_of_the_authors():
    rng = np.random.default_rng(4)
    X, P = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    squares = ((X[:, None] - P) ** 2).sum(axis=-1).mean(axis=0)
    assert 1 / first_width(X, P) == pytest.approx(np.sqrt(2 * 7 ** (1 / 3) / squares).mean(), rel=1e-12)
    assert first_width(np.ones((5, 2)), np.ones((1, 2))) > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "VX"}, "kind='VX' is not allowed: it must be one of 'GL', 'VL'"),
        ({"n_basis": 0}, "n_basis=0 is not allowed"),
        ({"max_iter": 1.5}, "max_iter=1.5 is not allowed"),
    ],
)
def test_parameters_out_of_range_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        GPVC(**changes).fit(*draw(20))


def test_more_functions_than_rows():
    X, y = draw(15)
    model = GPVC(n_basis=40, max_iter=20, random_state=0).fit(X, y)
    assert model.centres_.shape == (15, 2)
    assert np.isfinite(model.predict_dist(X).logpdf(y)).all()


@pytest.mark.parametrize("kind", ["VD", "VC"])
def test_a_target_without_noise_does_not_end_the_search(kind):
    # The precision of the noise has no bound: without a floor, its matrix is singular at the second step.
    X = np.random.default_rng(7).normal(size=(300, 4))
    for y in (X @ [1.0, 2.0, 3.0, 4.0], X[:, 0] ** 2 + X[:, 1]):
        model = GPVC(n_basis=30, kind=kind, random_state=0).fit(X[:200], y[:200])
        error = np.mean((model.predict(X[200:]) - y[200:]) ** 2) / np.var(y)
        assert error < 1e-4
        assert model.n_iter_ > 10


def test_few_rows_choose_few_functions_and_a_noise_that_new_rows_have():
    # A function at nearly every row explains the noise.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=600)
    inside, density = [], []
    for n_basis in (None, 100):
        model = GPVC(n_basis, max_iter=60, random_state=0).fit(X[:120], y[:120])
        prediction = model.predict_dist(X[120:])
        low, high = prediction.quantile([0.025, 0.975])
        inside.append(np.mean((y[120:] >= low) & (y[120:] <= high)))
        density.append(prediction.logpdf(y[120:]).mean())
        assert len(model.centres_) == n_basis or len(model.centres_) <= 20
    assert abs(inside[0] - 0.95) < 0.04
    assert inside[1] < 0.8
    assert density[0] > density[1] + 0.5


def test_many_rows_get_all_functions_and_no_choice(monkeypatch):
    monkeypatch.setattr(gpvc, "FEW_ROWS", 150)
    model = GPVC(max_iter=3, random_state=0).fit(*draw(150))
    assert len(model.centres_) == 100
    assert model.noise_strength_ == 1.0


def test_quick_functions_are_found_and_small_gains_of_evidence_are_not_sought() -> None:
    X = np.linspace(0.0, 1.0, 400)[:, None]
    y = np.sin(60.0 * np.pi * X[:, 0]) + 0.2 * np.random.default_rng(0).normal(size=400)
    model = GPVC(n_basis=100, random_state=0).fit(X[::2], y[::2])
    assert np.mean((model.predict(X[1::2]) - y[1::2]) ** 2) < 0.25 * np.var(y)  # 1.03 of it from one start
    assert model.starts_[0]["lengthscale"] < 0.1
    first, *others = GPVC(n_basis=10, random_state=0).fit(*draw(200)).starts_
    assert first["noise"] == 1.0  # the authors' start, though another one is ahead by a nat
    assert 0.0 < max(one["climbed"] or -np.inf for one in others) - first["climbed"] < 20.0
    with pytest.raises(ValueError, match="n_restarts=-1 is not allowed"):
        GPVC(n_restarts=-1).fit(*draw(20))
