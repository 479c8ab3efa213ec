"""VSGP and FITC: dense references, gradients, invariants, and memory that is reused safely."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp import collapsed
from hgpbench.gp.process import Process
from hgpbench.la import JITTER
from tests.gp.reference import (
    central_differences,
    collapsed_values,
    dense_fitc,
    dense_vfe,
    draw,
    kernel,
    relative_error,
)

KINDS = ("vfe", "fitc")
X, Y, FULL = draw()
VALUES = collapsed_values(FULL)


def bound(values, kind="vfe", jitter=JITTER):
    return collapsed.bound(values, X, Y, Process(len(X), len(values["Xm"])), kind, jitter)


def test_vfe_equals_the_dense_formula():
    expected = dense_vfe(VALUES, X, Y, np.full(len(X), 0.3), JITTER)
    assert bound(VALUES).value == pytest.approx(expected, rel=1e-12)


def test_fitc_equals_the_dense_formula():
    assert bound(VALUES, "fitc").value == pytest.approx(dense_fitc(VALUES, X, Y, JITTER), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", VALUES)
def test_gradient_matches_central_differences(kind, name):
    found = bound(VALUES, kind).grads[name]
    expected = central_differences(lambda values: bound(values, kind), VALUES, name)
    assert found.shape == VALUES[name].shape
    assert relative_error(found, expected) < 1e-7


@pytest.mark.parametrize("kind", KINDS)
def test_derivative_by_each_noise_variance(kind):
    r = np.random.default_rng(1).uniform(0.1, 2.0, len(X))
    f = Process(len(X), len(VALUES["Xm"]))

    def value(r):
        return collapsed.evaluate(collapsed._project(VALUES, X, f, JITTER), r, Y, kind)

    found, step = value(r).dr, 1e-6
    expected = [(value(r + h).value - value(r - h).value) / (2 * step) for h in step * np.eye(len(X))]
    assert relative_error(found, np.array(expected)) < 1e-7


def test_noise_derivative_alone_agrees_with_the_full_one():
    r = np.random.default_rng(2).uniform(0.1, 2.0, len(X))
    f = collapsed._project(VALUES, X, Process(len(X), len(VALUES["Xm"])), JITTER)
    value, t = collapsed.evaluate_noise(f, r, Y)
    full = collapsed.evaluate(f, r, Y)
    assert value == pytest.approx(full.value, rel=1e-14)
    assert_allclose(t, full.t, rtol=1e-9)
    assert_allclose(full.t, 0.5 + r * full.dr, rtol=1e-9)


def test_vfe_is_below_the_exact_evidence_and_more_inducing_points_close_the_gap():
    sigma2 = float(VALUES["sigma2"])
    K = kernel(X, X, VALUES["s2_k"], VALUES["ell"]) + sigma2 * np.eye(len(X))
    exact = -0.5 * (Y @ np.linalg.solve(K, Y) + np.linalg.slogdet(2 * np.pi * K)[1])
    bounds = [bound(VALUES | {"Xm": X[:m]}, jitter=0.0).value for m in (5, 10, 20, 30)]
    assert all(np.diff(bounds) > 0.0)
    assert bounds[-1] < exact


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_rows_does_not_matter(kind):
    rows, inducing = np.random.default_rng(3).permutation(len(X)), np.arange(len(VALUES["Xm"]))[::-1]
    there = bound(VALUES, kind)
    shuffled = VALUES | {"Xm": VALUES["Xm"][inducing]}
    here = collapsed.bound(shuffled, X[rows], Y[rows], Process(len(X), len(inducing)), kind)
    assert here.value == pytest.approx(there.value, rel=1e-13)
    assert_allclose(here.grads["Xm"], there.grads["Xm"][inducing], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_panels_of_rows_change_nothing(kind, monkeypatch):
    monkeypatch.setattr("hgpbench.gp.process.PANEL_BYTES", 1)
    rng = np.random.default_rng(4)
    many, targets = rng.normal(size=(101, 3)), rng.normal(size=101)
    panelled = collapsed.bound(VALUES, many, targets, Process(101, len(VALUES["Xm"])), kind)
    monkeypatch.undo()
    unbroken = collapsed.bound(VALUES, many, targets, Process(101, len(VALUES["Xm"])), kind)
    assert panelled.value == pytest.approx(unbroken.value, rel=1e-13)
    for name in VALUES:
        assert_allclose(panelled.grads[name], unbroken.grads[name], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_one_workspace_serves_many_evaluations_and_arguments_stay_whole(kind):
    f = Process(len(X), len(VALUES["Xm"]))
    before = {name: value.copy() for name, value in VALUES.items()}
    X_before, y_before = X.copy(), Y.copy()
    first = collapsed.bound(VALUES, X, Y, f, kind)
    other = VALUES | {"ell": 2.0 * VALUES["ell"], "Xm": VALUES["Xm"] + 0.1}
    collapsed.bound(other, X, Y, f, "fitc" if kind == "vfe" else "vfe")
    again = collapsed.bound(VALUES, X, Y, f, kind)
    assert again.value == first.value
    for name in VALUES:
        assert_array_equal(again.grads[name], first.grads[name])
        assert_array_equal(VALUES[name], before[name])
    assert_array_equal(X, X_before)
    assert_array_equal(Y, y_before)


def test_duplicated_inducing_points_cost_jitter_which_is_reported():
    doubled = VALUES | {"Xm": np.repeat(VALUES["Xm"], 2, axis=0)}
    assert bound(VALUES).jitter == JITTER
    single, found = bound(VALUES, jitter=0.0), bound(doubled, jitter=0.0)
    assert single.jitter == 0.0
    assert 0.0 < found.jitter <= 1e-6
    assert found.value == pytest.approx(single.value, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_posterior_matches_the_paper(kind):
    Kmm = kernel(VALUES["Xm"], VALUES["Xm"], VALUES["s2_k"], VALUES["ell"])
    Kmm += JITTER * VALUES["s2_k"] * np.eye(len(Kmm))
    Knm = kernel(X, VALUES["Xm"], VALUES["s2_k"], VALUES["ell"])
    kd = float(VALUES["s2_k"]) * (1 + JITTER)
    Xs = np.random.default_rng(5).normal(size=(17, 3))
    Ksm = kernel(Xs, VALUES["Xm"], VALUES["s2_k"], VALUES["ell"])
    r = np.full(len(X), float(VALUES["sigma2"]))
    if kind == "fitc":
        r += kd - np.diag(Knm @ np.linalg.solve(Kmm, Knm.T))
    KR = Kmm + Knm.T @ (Knm / r[:, None])
    f = Process(len(X), len(Kmm))
    mu, s2 = collapsed.posterior(VALUES, X, Y, f, kind).moments(Xs)
    assert_allclose(mu, Ksm @ np.linalg.solve(KR, Knm.T @ (Y / r)), rtol=1e-9)
    explained = np.diag(Ksm @ (np.linalg.inv(Kmm) - np.linalg.inv(KR)) @ Ksm.T)
    assert_allclose(s2, kd - explained, rtol=1e-9)


def test_posterior_outlives_its_workspace_and_works_in_chunks(monkeypatch):
    f = Process(len(X), len(VALUES["Xm"]))
    found = collapsed.posterior(VALUES, X, Y, f)
    Xs = np.random.default_rng(6).normal(size=(500, 3))
    before = found.moments(Xs)
    collapsed.bound(VALUES | {"ell": 3.0 * VALUES["ell"]}, X, -Y, f)
    monkeypatch.setattr("hgpbench.gp.posterior.CHUNK_BYTES", 1)
    for chunked, whole in zip(found.moments(Xs), before, strict=True):
        assert_allclose(chunked, whole, rtol=1e-12)


def test_far_from_the_data_the_prior_returns():
    f = Process(len(X), len(VALUES["Xm"]))
    mu, s2 = collapsed.posterior(VALUES, X, Y, f).moments(np.full((1, 3), 1e3))
    assert mu[0] == 0.0
    assert s2[0] == pytest.approx(float(VALUES["s2_k"]) * (1 + JITTER), rel=1e-14)
