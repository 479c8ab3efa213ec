"""Steps of a stochastic ascent: their sizes, their guards, and going on where one left off."""

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp import factorised
from hgpbench.gp.factorised import Workspace
from hgpbench.gp.stochastic import MAX_SHIFT, Ascent, Diverged, Schedule, natural_step
from hgpbench.gp.whitened import Natural, Pull
from tests.gp.reference import draw

N, M, U = 40, 7, 5


def ascent(seed: int = 0, **schedule) -> tuple[Ascent, np.ndarray, np.ndarray]:
    X, y, values = draw(seed, n=N, m=M, u=U)
    del values["lam"]
    settings = {"steps": 50, **schedule}
    return Ascent(values, N, Schedule(**settings), Workspace(N, M, U)), X, y


def test_the_papers_schedule():
    schedule = Schedule(steps=100)
    found = [schedule.gamma_at(step) for step in range(7)]
    assert_allclose(found, [1e-4, 10**-3.25, 10**-2.5, 10**-1.75, 0.1, 0.1, 0.1], rtol=1e-12)
    assert [schedule.rate_at(step) for step in (0, 50, 99)] == [0.01] * 3


def test_cooling_shrinks_the_last_steps_only():
    schedule = Schedule(steps=100, cooling=0.4)
    rates = np.array([schedule.rate_at(step) for step in range(100)])
    assert np.all(rates[:61] == 0.01)
    assert np.all(np.diff(rates[60:]) < 0)
    assert rates[-1] == pytest.approx(0.01 * schedule.coldest, rel=0.1)
    assert schedule.gamma_at(99) / schedule.gamma_at(60) == pytest.approx(rates[99] / rates[60])


@pytest.mark.parametrize("method", ["ngd+adam", "adam"])
def test_the_bound_rises(method):
    climber, X, y = ascent(method=method, rate=0.02)
    bounds = [climber.step(X, y) for _ in range(50)]
    assert climber.steps == 50
    assert bounds[-1] > bounds[0] + 20
    assert climber.bound([(X, y)]) > bounds[-1]
    assert climber.bound([(X[:9], y[:9]), (X[9:], y[9:])]) == pytest.approx(climber.bound([(X, y)]))


def test_a_state_that_cannot_be_evaluated_is_taken_back(monkeypatch):
    climber, X, y = ascent()
    for _ in range(5):
        climber.step(X, y)
    original, calls = factorised.evaluate, []

    def failing(*arguments):
        calls.append(1)
        if len(calls) in (1, 2):
            raise LinAlgError
        return original(*arguments)

    monkeypatch.setattr(factorised, "evaluate", failing)
    here, before = climber.point.x.copy(), climber._before.x.copy()
    climber.step(X, y)
    assert len(calls) == 3
    assert_allclose(climber._before.x, before + 0.25 * (here - before))  # halved twice, then stepped from
    assert climber.caution == pytest.approx(0.25 * 1.05)
    for _ in range(40):
        climber.step(X, y)
    assert climber.caution == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bound_that_is_not_finite_is_taken_back_too(bad):
    climber, X, y = ascent()
    climber.step(X, y)
    sound = climber.point
    with pytest.raises(Diverged):  # however short the step, this target stays
        climber.step(X, np.where(np.arange(N) == 3, bad, y))
    assert np.isfinite(climber.point.x).all()
    assert climber.point is not sound
    assert climber.step(X, y) < 0


def test_a_start_that_cannot_be_evaluated_is_told_at_once():
    climber, X, _ = ascent()
    with pytest.raises(Diverged, match="after 0 steps"):
        climber.step(X, np.full(N, np.nan))


def test_parameters_out_of_all_range_count_as_unusable():
    climber, X, y = ascent(rate=1e4)
    climber.step(X, y)
    climber.step(X, y)  # the first step went to e^10000
    assert climber.caution < 1
    assert np.abs(climber.point.x).max() < 1e5


def test_an_unsound_natural_step_is_shortened():
    start = Natural.prior(M)
    indefinite = Pull(-20.0 * np.eye(M), np.zeros(M))  # round-off, very much exaggerated
    step = natural_step(start, indefinite, 1.0)
    assert_allclose(step.Lam, (1 - 20 * 0.01) * np.eye(M))  # 1 and 0.1 would leave the cone
    hopeless = Pull(np.full((M, M), np.nan), np.zeros(M))
    assert natural_step(start, hopeless, 1.0) is start


def test_one_step_moves_the_log_noise_of_no_row_by_more_than_the_limit():
    # The noise starts e^10 times too large, with q(g_u) at its prior: the unguarded step is far too long.
    climber, X, y = ascent(gamma=1.0, first_gamma=1.0)
    values = climber.values | {"mu0": np.asarray(10.0)}
    workspace = Workspace(N, M, U)
    state = factorised.evaluate(values, climber.q, X, y, 10**6, workspace)
    free = climber.point.q["g"].step(state.pulls["g"], 1.0)
    batch = state.batches["g"]
    assert batch.shift(free.q.mean) > 2 * MAX_SHIFT
    limited = natural_step(climber.point.q["g"], state.pulls["g"], 1.0, batch)
    assert batch.shift(limited.q.mean) == pytest.approx(MAX_SHIFT)
    assert_array_equal(limited.Lam, free.Lam)
    assert_allclose(limited.Lam @ limited.q.mean, limited.theta1)


@pytest.mark.parametrize("method", ["ngd+adam", "adam"])
def test_a_restored_ascent_goes_on_with_the_same_bits(method):
    straight, X, y = ascent(method=method, cooling=0.5)
    for _ in range(9):
        straight.step(X, y)
    stored = {name: array.copy() for name, array in straight.arrays().items()}
    resumed, _, _ = ascent(method=method, cooling=0.5)
    resumed.restore(stored)
    for _ in range(6):
        assert resumed.step(X, y) == straight.step(X, y)
    for name, array in straight.arrays().items():
        assert_array_equal(resumed.arrays()[name], array)
