"""First values: they follow the units of the data, reach far enough, and the best of them goes on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.fitting.start import (
    Climbed,
    Start,
    Tried,
    as_table,
    contest,
    grid,
    guess,
    lengthscales,
    neighbourhoods,
    noise_grid,
    of_table,
    search,
    spacing,
    spread,
)
from hgpbench.gp.exact import POSITIVE, ExactProblem
from tests.models.zoo import draw


def test_a_guess_follows_the_units_of_the_data():
    X, y = draw(50)
    first, moved = guess(X, y), guess(1e3 * X - 5.0, 10.0 * y)
    assert_allclose(moved["ell"], 1e3 * first["ell"])
    for name in ("s2_k", "sigma2"):
        assert_allclose(moved[name], 100.0 * first[name])


def test_a_constant_column_has_a_spread_of_one():
    X = np.column_stack([np.full(9, 4.0), np.arange(9.0)])
    assert_array_equal(spread(X), [1.0, X[:, 1].std()])


def test_a_column_of_round_off_starts_with_a_lengthscale_of_its_unit():
    # Equal numbers whose mean is rounded, as those of a rare event in a sample without it.
    X, y = draw(999)
    ell = guess(np.column_stack([X, np.full(999, -0.3)]), y)["ell"]
    assert_allclose(ell[2], 0.5 * np.sqrt(3))


def test_the_spacing_is_that_of_neighbouring_rows_whatever_their_order():
    X = np.arange(400.0)[:, None]
    assert spacing(X) == pytest.approx(1.0 / X.std())
    assert spacing(X[np.random.default_rng(0).permutation(400)]) == spacing(X)
    assert spacing(np.repeat(X, 3, axis=0)) == spacing(X)
    assert spacing(np.ones((5, 2))) == 1.0


@pytest.mark.parametrize("n", [2, 30, 3000])
def test_the_grid_reaches_from_the_spacing_to_beyond_the_spread(n: int):
    X = np.linspace(0.0, 1.0, n)[:, None]
    found = lengthscales(X)
    assert found[0] == 8.0
    assert found[-1] <= min(0.5, 2.0 * spacing(X)) * (1 + 1e-9)
    assert len(found) <= 10
    assert np.all(np.diff(found) < 0)
    trials = grid(X, np.sin(7 * X[:, 0]))
    assert len(trials) == 4 * len(found)
    ratios = [float(trial.values["sigma2"] / trial.values["s2_k"]) for trial in trials]
    assert max(ratios) / min(ratios) == pytest.approx(1e3)


def test_the_grid_of_the_noise_holds_its_scatter():
    trials = noise_grid(draw(40)[0], scatter=1.5)
    assert {float(trial.values["sigma2"]) for trial in trials} == {1.5}
    assert len({float(trial.values["ell"][0]) for trial in trials}) == len(trials)


def test_a_contest_climbs_from_the_best_of_other_lengthscales_and_takes_the_best_of_all():
    trials = grid(*draw(30))
    bounds = dict(zip(map(id, trials), np.linspace(0.0, 1.0, len(trials)), strict=True))
    climbed_from = []

    def judge(trial):
        return Tried(trial.lengthscale, trial.noise, bounds[id(trial)])

    def climb(trial):
        climbed_from.append(trial.lengthscale)
        return Climbed({"here": np.asarray(trial.lengthscale)}, 10.0 - len(climbed_from), 5)

    start = contest(trials, judge, climb, n_restarts=3)
    assert climbed_from == [*dict.fromkeys(trial.lengthscale for trial in reversed(trials))][:3]
    assert start.values == {"here": climbed_from[0]}
    assert start.evaluations == len(trials) + 15
    assert [one.climbed for one in start.tried[:4]] == [9.0, 8.0, 7.0, None]
    assert contest(trials, judge, climb, n_restarts=0).values is trials[-1].values


def test_a_bound_that_is_not_a_number_never_wins():
    trials = grid(*draw(30))
    start = contest(
        trials,
        lambda trial: Tried(trial.lengthscale, trial.noise, -1.0 if trial is trials[2] else np.nan),
        lambda trial: Climbed({}, np.nan, 1),
        n_restarts=2,
    )
    assert start.values is trials[2].values


def test_a_search_repeats_and_is_not_below_any_start_it_tried():
    X, y = draw(60)
    problem = ExactProblem(X, y)
    starts: list[Start] = [search(problem.evidence, grid(X, y), POSITIVE) for _ in range(2)]
    assert starts[0].tried == starts[1].tried
    reached = problem.evidence(starts[0].values).value
    assert reached >= max(one.reached for one in starts[0].tried) - 1e-9
    held = search(problem.evidence, grid(X, y), POSITIVE, held=("ell",))
    ratio = held.values["ell"] / guess(X, y)["ell"]
    assert_allclose(ratio, ratio[0])


def test_neighbourhoods_hold_rows_next_to_each_other():
    X = np.arange(5000.0)[:, None]
    rows = neighbourhoods(X, 200, np.random.default_rng(0))
    assert len(rows) == len(set(rows.tolist())) == 200
    assert np.mean(np.diff(rows) == 1) > 0.9
    assert np.ptp(rows) > 1000
    assert_array_equal(neighbourhoods(X[:50], 200, np.random.default_rng(0)), np.arange(50))


def test_trials_survive_a_checkpoint():
    tried = (Tried(0.5, 0.3, -7.0, -3.0), Tried(8.0, 0.003, -np.inf, None))
    assert of_table(as_table(tried)) == tried
    assert of_table(as_table(())) == ()
