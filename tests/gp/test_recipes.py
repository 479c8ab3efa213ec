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


def test_guarded_moves_f_where_its_errors_fall_by_it(problem, by_natural):
    """From a poor f of toy both reach the same optimum."""
    X, y, values, _ = problem
    fitted, run = recipes.guarded(values, X, y, vshgp.Workspace(N, M, M), max_iter=80)
    assert run.value > by_natural[1].value - 1.0
    assert not np.allclose(fitted["ell_f"], values["ell_f"], rtol=0.01)
    assert run.iterations <= 80
    assert_array_equal(run.trace[:, 0], np.arange(run.iterations + 1.0))


def test_guarded_leaves_f_where_its_errors_grow(problem, monkeypatch):
    X, y, values, _ = problem
    squares = iter([np.ones(N), np.full(N, 1.02)])
    monkeypatch.setattr(recipes, "left_out_squares", lambda *_: next(squares))
    told = []
    fitted, run = recipes.guarded(
        values, X, y, vshgp.Workspace(N, M, M), max_iter=24, callback=lambda *row: told.append(row[:2])
    )
    for name in recipes.OF_F:
        assert_array_equal(fitted[name], values[name])
    assert not np.allclose(fitted["ell_g"], values["ell_g"], rtol=0.01)
    assert run.iterations == 24
    assert told == [(step, 24) for step in range(1, 25)]  # and none of those that were taken back
    assert (
        run.evaluations
        > recipes.natural(values, X, y, vshgp.Workspace(N, M, M), max_iter=24, hold=recipes.OF_F)[
            1
        ].evaluations
    )
    found = vshgp.bound(fitted, X, y, vshgp.Workspace(N, M, M))
    assert found.value == pytest.approx(run.value, rel=1e-12)


def test_left_out_squares_are_those_of_fits_without_the_row(problem):
    X, y, values, _ = problem
    few = slice(None, None, 25)
    sub = {**values, "lam": values["lam"][few], "Xm": values["Xm"][::2], "w": np.zeros(M)}
    rows, targets = X[few], y[few]
    memory = vshgp.Workspace(len(rows), M // 2, M)
    found = recipes.left_out_squares(sub, rows, targets, memory)
    squares = []
    for row in range(len(rows)):
        others = np.delete(np.arange(len(rows)), row)
        kept = sub | {"lam": sub["lam"][others]}
        smaller = vshgp.Workspace(len(others), M // 2, M)
        f, _ = vshgp.posteriors(kept, rows[others], targets[others], smaller)
        squares.append(float((targets[row] - f.moments(rows[[row]])[0][0]) ** 2))
    # The noise at the others hardly depends on the row that is left out: its mean is free and held at zero.
    assert found.mean() == pytest.approx(float(np.mean(squares)), rel=0.05)


def test_growth_by_chance_is_none():
    rng = np.random.default_rng(0)
    before = rng.normal(size=400) ** 2
    worse = before * 1.05
    assert recipes._grown(before, worse)
    assert not recipes._grown(before, before * 1.005)  # hardly
    one = before.copy()
    one[7] += 100.0  # by a quarter, but a single row
    assert not recipes._grown(before, one)
    assert recipes._grown(before, np.full(400, np.inf))


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


@pytest.mark.parametrize("recipe", [recipes.natural, recipes.guarded, recipes.paper])
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
