"""The evidence of a basis with varying noise: dense references, closed forms, gradients, invariants."""

from typing import get_args

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import dblquad
from scipy.stats import multivariate_normal

from hgpbench.gp.gpz import (
    ETA_RATE,
    ETA_SHAPE,
    NOISE_FLOOR,
    BasisProblem,
    Kind,
    _noise_prior,
    gamma_shape,
    positive,
)
from tests.gp.reference import central_differences, relative_error
from tests.gp.test_gpz_basis import KINDS, evaluate

N, M, D = 40, 6, 3
RNG = np.random.default_rng(0)
X, Y = 1.0 + RNG.normal(size=(N, D)), RNG.normal(size=N)
NAMES = ("P", "gamma", "alpha", "b", "v", "eta")


def draw(kind: Kind, *, linear: bool = True) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {
        "P": 1.0 + rng.normal(size=(M, D)),
        "gamma": rng.uniform(0.5, 1.2, gamma_shape(kind, M, D)),
        "alpha": rng.uniform(0.3, 3.0, M + D + 1 if linear else M),
        "b": np.asarray(0.3),
        "v": rng.normal(size=M),
        "eta": rng.uniform(0.3, 3.0, M),
    }


def constant_noise(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same without noise weights."""
    return {name: value for name, value in values.items() if name not in ("v", "eta")}


def design(kind: Kind, values: dict[str, np.ndarray], X: np.ndarray, *, linear: bool) -> np.ndarray:
    Phi = evaluate(kind, X, values["P"], values["gamma"])
    return np.hstack([Phi, X, np.ones((len(X), 1))]) if linear else Phi


def noise_variances(kind: Kind, values: dict[str, np.ndarray], X: np.ndarray) -> np.ndarray:
    Phi = evaluate(kind, X, values["P"], values["gamma"])
    return np.exp(-values["b"] - Phi @ values["v"]) + NOISE_FLOOR * Y.var()


def evidence(kind, values, X=X, y=Y, *, linear=True):
    return BasisProblem(X, y, len(values["P"]), kind, linear=linear).evidence(values)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_value_is_a_dense_evidence_plus_the_prior_of_the_noise_weights(kind, linear):
    values = draw(kind, linear=linear)
    H = design(kind, values, X, linear=linear)
    cov = (H / values["alpha"]) @ H.T + np.diag(noise_variances(kind, values, X))
    expected = multivariate_normal(cov=cov).logpdf(Y) + _noise_prior(values["v"], values["eta"])[0]
    assert evidence(kind, values, linear=linear).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_matches_central_differences(kind, linear, name):
    values = draw(kind, linear=linear)
    found = evidence(kind, values, linear=linear).grads[name]
    expected = central_differences(lambda moved: evidence(kind, moved, linear=linear), values, name)
    assert found.shape == values[name].shape
    assert relative_error(found, expected) < 1e-7


@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_weights_it_is_bayesian_linear_regression(kind):
    values = constant_noise(draw(kind))
    H, beta = design(kind, values, X, linear=True), 1 / (np.exp(-values["b"]) + NOISE_FLOOR * Y.var())
    # Bishop (2006), eqs. 3.53, 3.54 and 3.86, with a precision for each weight.
    A = np.diag(values["alpha"]) + beta * H.T @ H
    w = beta * np.linalg.solve(A, H.T @ Y)
    cost = 0.5 * beta * np.sum((Y - H @ w) ** 2) + 0.5 * values["alpha"] @ w**2
    constant = (
        np.log(values["alpha"]).sum() + N * np.log(beta) - np.linalg.slogdet(A)[1] - N * np.log(2 * np.pi)
    )
    problem = BasisProblem(X, Y, M, kind, linear=True)
    assert problem.evidence(values).value == pytest.approx(0.5 * constant - cost, rel=1e-12)
    Xs = 1.0 + np.random.default_rng(2).normal(size=(11, D))
    Hs = design(kind, values, Xs, linear=True)
    mu, s2, noise = problem.posterior(values).moments(Xs)
    assert_allclose(mu, Hs @ w, rtol=1e-10)
    assert_allclose(s2, np.diag(Hs @ np.linalg.solve(A, Hs.T)), rtol=1e-10)
    assert_allclose(noise, 1 / beta, rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_weights_of_zero_add_their_prior_and_nothing_else(kind):
    values = draw(kind) | {"v": np.zeros(M)}
    prior = _noise_prior(values["v"], values["eta"])[0]
    plain = evidence(kind, constant_noise(values))
    full = evidence(kind, values)
    assert full.value == pytest.approx(plain.value + prior, rel=1e-13)
    assert plain.grads.keys() == constant_noise(values).keys()
    for name in plain.grads:
        assert_allclose(full.grads[name], plain.grads[name], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("linear", [True, False])
def test_prediction_is_the_conditional_of_the_dense_gaussian_process(linear):
    values = draw("VC", linear=linear)
    Xs = 1.0 + np.random.default_rng(3).normal(size=(13, D))
    H, Hs = (design("VC", values, inputs, linear=linear) for inputs in (X, Xs))
    cross = (Hs / values["alpha"]) @ H.T
    cov = (H / values["alpha"]) @ H.T + np.diag(noise_variances("VC", values, X))
    posterior = BasisProblem(X, Y, M, "VC", linear=linear).posterior(values)
    mu, s2, noise = posterior.moments(Xs)
    assert_allclose(mu, cross @ np.linalg.solve(cov, Y), rtol=1e-9)
    prior = np.diag((Hs / values["alpha"]) @ Hs.T)
    assert_allclose(s2, prior - np.diag(cross @ np.linalg.solve(cov, cross.T)), rtol=1e-9)
    assert_allclose(noise, noise_variances("VC", values, Xs), rtol=1e-12)


def test_the_prior_of_a_noise_weight_is_a_density():
    def density(v: float, log_eta: float) -> float:
        return float(np.exp(_noise_prior(np.array([v]), np.array([np.exp(log_eta)]))[0]))

    total, _ = dblquad(density, -12, 8, lambda t: -9 * np.exp(-t / 2), lambda t: 9 * np.exp(-t / 2))
    assert total == pytest.approx(1.0, abs=1e-4)


def test_the_prior_of_a_noise_weight_has_a_maximum():
    values = np.exp(np.linspace(-20, 20, 4001))
    heights = [_noise_prior(np.zeros(1), np.array([eta]))[0] for eta in values]
    assert values[int(np.argmax(heights))] == pytest.approx((ETA_SHAPE + 0.5) / ETA_RATE, rel=1e-2)
    assert heights[-1] < heights[0] < max(heights)


def test_units_of_the_target_move_into_the_precisions():
    values, scale = draw("VD"), 1e3
    moved = values | {"alpha": values["alpha"] / scale**2, "b": values["b"] - 2 * np.log(scale)}
    there, here = evidence("VD", values), evidence("VD", moved, y=scale * Y)
    assert here.value + N * np.log(scale) == pytest.approx(there.value, rel=1e-12)
    assert_allclose(here.grads["v"], there.grads["v"], rtol=1e-9)
    assert_allclose(here.grads["gamma"], there.grads["gamma"], rtol=1e-9)


def test_an_irrelevant_function_is_no_function():
    values = draw("VC")
    values["alpha"][2], values["v"][2] = 1e40, 0.0
    keep = np.arange(M) != 2
    fewer = {name: values[name][keep] for name in ("P", "gamma", "v", "eta")}
    fewer |= {"alpha": np.delete(values["alpha"], 2), "b": values["b"]}
    lost = _noise_prior(values["v"][2:3], values["eta"][2:3])[0]
    assert evidence("VC", values).value == pytest.approx(evidence("VC", fewer).value + lost, rel=1e-12)


@pytest.mark.parametrize("kind", ["GD", "VC"])
def test_order_of_rows_and_panels_of_rows_change_nothing(kind, monkeypatch):
    rng = np.random.default_rng(4)
    many, targets, values = rng.normal(size=(301, D)), rng.normal(size=301), draw(kind)
    whole = evidence(kind, values, many, targets)
    monkeypatch.setattr("hgpbench.gp.gpz.PANEL_BYTES", 1)
    order = rng.permutation(301)
    panelled = evidence(kind, values, many[order], targets[order])
    assert panelled.value == pytest.approx(whole.value, rel=1e-13)
    for name in NAMES:
        assert_allclose(panelled.grads[name], whole.grads[name], rtol=1e-9, atol=1e-10)


def test_one_problem_serves_many_evaluations_and_posteriors_outlive_them():
    values = draw("VC")
    other = {name: 1.1 * value for name, value in values.items()}
    problem = BasisProblem(X, Y, M, "VC", linear=True)
    first, posterior = problem.evidence(values), problem.posterior(values)
    before = posterior.moments(X)
    problem.evidence(other)
    again = problem.evidence(values)
    assert again.value == first.value
    for name in NAMES:
        assert_array_equal(again.grads[name], first.grads[name])
        assert_array_equal(values[name], draw("VC")[name])
    values["P"] += 1.0
    for after, earlier in zip(posterior.moments(X), before, strict=True):
        assert_array_equal(after, earlier)


@pytest.mark.parametrize("kind", get_args(Kind))
def test_full_covariances_keep_their_signs(kind):
    assert set(positive(kind, list(NAMES))) == {"alpha", "eta"} | ({"gamma"} if kind[1] != "C" else set())
