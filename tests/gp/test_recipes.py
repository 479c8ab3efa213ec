"""Fitting VSHGP on the paper's toy: the natural recipe passes the paper's in a fraction of its evaluations."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.gp import recipes, vshgp

N, M = 500, 20


def toy(seed: int):
    """The paper's toy, standardised, with even inducing points; last, the true log noise variance."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-10.0, 10.0, N))
    std = 0.05 + 0.2 * (1.0 + np.sin(2.0 * x)) / (1.0 + np.exp(-0.2 * x))
    y = np.sinc(x) + std * rng.normal(size=N)
    X, scale = ((x - x.mean()) / x.std())[:, None], y.std()
    grid = np.linspace(X.min(), X.max(), M)[:, None]
    values = {
        "s2_kf": np.asarray(1.0),
        "ell_f": np.array([0.2]),
        "Xm": grid,
        "s2_kg": np.asarray(1.0),
        "ell_g": np.array([0.2]),
        "Xu": grid.copy(),
        "mu0": np.asarray(np.log(0.25)),
        "lam": np.full(N, 0.5),
    }
    return X, (y - y.mean()) / scale, values, 2.0 * np.log(std / scale)


@pytest.fixture(scope="module", params=[0, 1])
def problem(request):
    return toy(request.param)


@pytest.fixture(scope="module")
def by_natural(problem):
    X, y, values, _ = problem
    return recipes.natural(values, X, y, vshgp.Workspace(N, M, M), max_iter=25)


@pytest.fixture(scope="module")
def by_paper(problem):
    X, y, values, _ = problem
    return recipes.paper(values, X, y, vshgp.Workspace(N, M, M))


def test_natural_passes_the_paper_in_less_than_half_the_evaluations(by_natural, by_paper):
    natural, paper = by_natural[1], by_paper[1]
    assert natural.value >= paper.value
    assert natural.evaluations < 0.5 * paper.evaluations
    assert paper.iterations <= 100


def test_the_values_returned_have_the_bound_reported(problem, by_natural, by_paper):
    X, y, _, _ = problem
    for values, run in (by_natural, by_paper):
        found = vshgp.bound(values, X, y, vshgp.Workspace(N, M, M))
        assert found.value == pytest.approx(run.value, rel=1e-12)


def test_the_noise_profile_is_found(problem, by_natural):
    X, y, _, truth = problem
    _, q_g = vshgp.posteriors(by_natural[0], X, y, vshgp.Workspace(N, M, M))
    assert np.corrcoef(q_g.moments(X)[0], truth)[0, 1] > 0.9


def test_held_parameters_stay(problem):
    X, y, values, _ = problem
    held = ("Xm", "Xu", "s2_kf")
    fitted, run = recipes.natural(values, X, y, vshgp.Workspace(N, M, M), max_iter=3, hold=held)
    for name in held:
        assert_array_equal(fitted[name], values[name])
    assert run.iterations == 3
    assert run.outcome == "limit reached"


def test_the_callback_counts_all_line_searches_of_the_paper(problem):
    X, y, values, _ = problem
    told = []
    recipes.paper(
        values,
        X,
        y,
        vshgp.Workspace(N, M, M),
        line_searches=(2, 3),
        callback=lambda *row: told.append(row[:2]),
    )
    assert told == [(step, 5) for step in range(1, 6)]


@pytest.mark.parametrize("recipe", [recipes.natural, recipes.paper])
def test_what_cannot_be_evaluated_fails_without_a_crash(problem, recipe):
    X, y, values, _ = problem
    _, run = recipe(values | {"s2_kf": np.asarray(np.nan)}, X, y, vshgp.Workspace(N, M, M))
    assert run.outcome == "failed"
    _, run = recipe(values, X, np.full(N, np.nan), vshgp.Workspace(N, M, M))
    assert run.outcome == "failed"


def test_an_outlier_beyond_reason_is_survived(problem):
    X, y, values, _ = problem
    wild = y.copy()
    wild[7] = 1e6
    fitted, run = recipes.natural(values, X, wild, vshgp.Workspace(N, M, M), max_iter=10)
    assert run.outcome in ("limit reached", "converged")
    assert np.isfinite(run.value)
    assert all(np.isfinite(value).all() for value in fitted.values())
