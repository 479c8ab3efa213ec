"""F_V and its gradient: dense references, central differences, workspace, natural step."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp import noise, vshgp
from hgpbench.la import JITTER
from tests.gp.reference import (
    central_differences,
    dense_bound,
    dense_q_g,
    draw,
    kernel,
    prior,
    relative_error,
)

X, Y, TIED = draw()
FREE = TIED | {"w": np.random.default_rng(1).normal(size=len(TIED["Xu"]))}
MEANS = {"tied": TIED, "free": FREE}


def workspace(values=TIED, n=None) -> vshgp.Workspace:
    return vshgp.Workspace(n or len(X), len(values["Xm"]), len(values["Xu"]))


def bound(values):
    return vshgp.bound(values, X, Y, workspace(values))


@pytest.mark.parametrize("values", MEANS.values(), ids=MEANS)
def test_value_is_the_sum_of_the_papers_four_terms(values):
    assert bound(values).value == pytest.approx(dense_bound(values, X, Y, JITTER), rel=1e-12)


@pytest.mark.parametrize("values", MEANS.values(), ids=MEANS)
def test_moments_and_kl_of_g_are_the_papers(values):
    g = vshgp.project_g(values, X, workspace(values))
    _, _, mu_g, s2_g, kl = dense_q_g(values, X, JITTER)
    for prepared in (g.factor(values["lam"]), g.condition(values["lam"])):
        q = noise.moments(prepared, float(values["mu0"]), values.get("w"))
        assert_allclose(q.mu_g, mu_g, rtol=1e-11)
        assert_allclose(q.s2_g, s2_g, rtol=1e-11)
        assert_allclose(q.r, np.exp(mu_g - 0.5 * s2_g), rtol=1e-11)
        assert q.kl == pytest.approx(kl, rel=1e-11)


@pytest.mark.parametrize(
    ("mean", "name"), [(mean, name) for mean, values in MEANS.items() for name in values]
)
def test_gradient_matches_central_differences(mean, name):
    values = MEANS[mean]
    found = bound(values).grads[name]
    assert found.shape == values[name].shape
    assert relative_error(found, central_differences(bound, values, name)) < 1e-6


def test_different_numbers_of_inducing_points_and_one_input():
    X1, y1, values = draw(seed=2, n=25, m=3, u=11, d=1)
    found = vshgp.bound(values, X1, y1, workspace(values, 25))
    assert found.value == pytest.approx(dense_bound(values, X1, y1, JITTER), rel=1e-9)


def test_posteriors_match_the_paper():
    Xs = np.random.default_rng(3).normal(size=(13, 3))
    q_f, q_g = vshgp.posteriors(TIED, X, Y, workspace())
    mu_u, _, mu_gn, s2_gn, _ = dense_q_g(TIED, X, JITTER)
    Kuu, Knu, kd_g = prior(X, TIED["Xu"], TIED["s2_kg"], TIED["ell_g"], JITTER)
    Ksu = kernel(Xs, TIED["Xu"], TIED["s2_kg"], TIED["ell_g"])
    KLam = Kuu + Knu.T @ (TIED["lam"][:, None] * Knu)
    mu_g, s2_g = q_g.moments(Xs)
    mu0 = float(TIED["mu0"])
    assert_allclose(mu_g, mu0 + Ksu @ np.linalg.solve(Kuu, mu_u - mu0), rtol=1e-10)
    explained_g = np.diag(Ksu @ (np.linalg.inv(Kuu) - np.linalg.inv(KLam)) @ Ksu.T)
    assert_allclose(s2_g, kd_g - explained_g, rtol=1e-9)

    r = np.exp(mu_gn - 0.5 * s2_gn)
    Kmm, Knm, kd_f = prior(X, TIED["Xm"], TIED["s2_kf"], TIED["ell_f"], JITTER)
    Ksm = kernel(Xs, TIED["Xm"], TIED["s2_kf"], TIED["ell_f"])
    KR = Kmm + Knm.T @ (Knm / r[:, None])
    mu_f, s2_f = q_f.moments(Xs)
    assert_allclose(mu_f, Ksm @ np.linalg.solve(KR, Knm.T @ (Y / r)), rtol=1e-9)
    explained_f = np.diag(Ksm @ (np.linalg.inv(Kmm) - np.linalg.inv(KR)) @ Ksm.T)
    assert_allclose(s2_f, kd_f - explained_f, rtol=1e-9)


def test_order_of_rows_does_not_matter():
    rows = np.random.default_rng(4).permutation(len(X))
    here, there = bound(TIED), vshgp.bound(TIED | {"lam": TIED["lam"][rows]}, X[rows], Y[rows], workspace())
    assert there.value == pytest.approx(here.value, rel=1e-13)
    assert_allclose(there.grads["lam"], here.grads["lam"][rows], rtol=1e-7)
    assert_allclose(there.grads["Xu"], here.grads["Xu"], rtol=1e-7)


def test_one_workspace_serves_many_evaluations_and_arguments_stay_whole():
    shared = workspace()
    before = {name: value.copy() for name, value in FREE.items()}
    first = vshgp.bound(TIED, X, Y, shared)
    vshgp.bound(FREE | {"ell_g": 3.0 * FREE["ell_g"]}, X, -Y, shared)
    vshgp.refine(FREE, Y, vshgp.project(FREE, X, shared))
    again = vshgp.bound(TIED, X, Y, shared)
    assert again.value == first.value
    for name in TIED:
        assert_array_equal(again.grads[name], first.grads[name])
    for name, value in before.items():
        assert_array_equal(FREE[name], value)


def test_memory_is_the_workspace_and_nothing_large_is_allocated_again():
    n, m = 4000, 60
    X4, y4, values = draw(seed=5, n=n, m=m, u=m, d=2)
    matrix = 8 * n * m
    tracemalloc.start()
    shared = workspace(values, n)
    vshgp.bound(values, X4, y4, shared)
    tracemalloc.reset_peak()
    held, _ = tracemalloc.get_traced_memory()
    vshgp.bound(values, X4, y4, shared)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 8.5 * matrix  # K, V and P for f and for g, panels, small matrices: O(n m)
    assert peak - held < 0.5 * matrix  # vectors of length n


def test_a_singular_kernel_matrix_is_reported():
    doubled = TIED | {"Xu": np.repeat(TIED["Xu"], 2, axis=0)}
    found = vshgp.bound(doubled, X, Y, workspace(doubled), jitter=0.0)
    assert 0.0 < found.jitter <= 1e-6
    assert found.value == pytest.approx(vshgp.bound(TIED, X, Y, workspace(), jitter=0.0).value, rel=1e-4)


def refined(values, steps, gamma=1.0):
    projection = vshgp.project(values, X, workspace(values))
    trail = []
    for _ in range(steps):
        step = vshgp.refine(values, Y, projection, gamma)
        trail.append(step.value)
        values = values | {"lam": step.lam, "w": step.w}
    return values, np.array(trail)


def test_natural_steps_climb_to_the_stationary_point_of_the_tied_bound():
    values, trail = refined(FREE, 60)
    assert trail[0] == pytest.approx(bound(FREE).value, rel=1e-13)
    assert trail[-1] > trail[0]
    tied = {name: value for name, value in values.items() if name != "w"}
    assert bound(tied).value == pytest.approx(trail[-1], rel=1e-10)
    # there the optimal q(g_u) of the paper holds: its derivatives by lambda and by the mean vanish
    scale = np.abs(bound(FREE).grads["lam"]).max()
    assert np.abs(bound(tied).grads["lam"]).max() < 1e-5 * scale
    assert np.abs(bound(values).grads["w"]).max() < 1e-5 * scale


def test_a_natural_step_moves_no_mean_further_than_allowed():
    outlier = Y.copy()
    outlier[0] = 1e4
    projection = vshgp.project(FREE, X, workspace(FREE))
    step = vshgp.refine(FREE, outlier, projection, max_shift=0.5)
    shift = projection.g.V @ (step.w - FREE["w"])
    assert np.abs(shift).max() == pytest.approx(0.5, rel=1e-12)


def test_a_natural_step_of_length_zero_stays():
    step = vshgp.refine(FREE, Y, vshgp.project(FREE, X, workspace(FREE)), gamma=0.0)
    assert_array_equal(step.lam, FREE["lam"])
    assert_array_equal(step.w, FREE["w"])


def test_noise_without_bound_leaves_everything_finite():
    loud = FREE | {"mu0": np.asarray(80.0)}
    shared = workspace(loud)
    step = vshgp.refine(loud, Y, vshgp.project(loud, X, shared))
    assert (step.lam > 0.0).all()
    found = vshgp.bound(loud | {"lam": step.lam, "w": step.w}, X, Y, shared)
    assert np.isfinite(found.value)
    assert all(np.isfinite(grad).all() for grad in found.grads.values())
