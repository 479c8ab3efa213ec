"""Problems times maximisers: they climb, they survive what cannot be evaluated, they say how they ended."""

from typing import get_args

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp.cg import conjugate_gradients
from hgpbench.gp.optim import Evaluation, Outcome, lbfgs

MAXIMISERS = {"lbfgs": lbfgs, "cg": conjugate_gradients}


def rosenbrock(x: np.ndarray) -> Evaluation:
    a, b = x
    value = -(100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2)
    return Evaluation(value, np.array([400.0 * a * (b - a * a) + 2.0 * (1.0 - a), -200.0 * (b - a * a)]))


def quadratic(x: np.ndarray) -> Evaluation:
    weights = 10.0 ** np.linspace(0.0, 3.0, len(x))
    return Evaluation(float(-0.5 * x @ (weights * x)), -weights * x)


def log_wall(x: np.ndarray) -> Evaluation:
    """log x - x summed: undefined at and below zero, its maximum at one."""
    with np.errstate(all="ignore"):
        return Evaluation(float(np.sum(np.log(x) - x)), 1.0 / x - 1.0)


def cliff(x: np.ndarray) -> Evaluation:
    """A quadratic whose far side raises, as a failed Cholesky does."""
    if x[0] > 1.2:
        raise LinAlgError("not positive definite")
    return Evaluation(-float((x[0] - 1.0) ** 2), np.array([-2.0 * (x[0] - 1.0)]), 1e-6)


@pytest.mark.parametrize("maximise", MAXIMISERS.values(), ids=MAXIMISERS)
class TestLineSearchMaximisers:
    def test_curved_valley(self, maximise):
        result = maximise(rosenbrock, np.array([-1.2, 1.0]))
        assert_allclose(result.x, [1.0, 1.0], atol=1e-4)
        assert result.value == rosenbrock(result.x).value

    def test_ill_conditioned_quadratic(self, maximise):
        result = maximise(quadratic, np.ones(30))
        assert result.value > 1e-8 * quadratic(np.ones(30)).value

    def test_undefined_region_is_a_shorter_step(self, maximise):
        result = maximise(log_wall, np.array([1e-3, 5.0, 300.0]))
        assert_allclose(result.x, 1.0, atol=1e-3)

    def test_failed_factorisation_is_a_shorter_step(self, maximise):
        result = maximise(cliff, np.array([-50.0]))
        assert_allclose(result.x, 1.0, atol=1e-6)
        assert result.jitter == 1e-6

    def test_the_bound_never_falls(self, maximise):
        result = maximise(rosenbrock, np.array([-1.2, 1.0]))
        assert (np.diff(result.trace[:, 2]) >= 0.0).all()

    def test_a_start_at_the_maximum_has_converged(self, maximise):
        assert maximise(quadratic, np.zeros(4)).outcome == "converged"

    def test_a_wrong_gradient_is_called_divergence(self, maximise):
        def lying(x: np.ndarray) -> Evaluation:
            return Evaluation(-float(x @ x), 2.0 * x)

        assert maximise(lying, np.ones(3)).outcome == "diverged"


@pytest.mark.parametrize("maximise", MAXIMISERS.values(), ids=MAXIMISERS)
class TestEveryMaximiser:
    def test_climbs(self, maximise):
        start = np.array([3.0, -2.0])
        assert maximise(quadratic, start).value > 0.5 * quadratic(start).value

    def test_trace_and_callback_tell_the_same_story(self, maximise):
        told = []
        result = maximise(rosenbrock, np.array([0.5, 0.5]), callback=lambda *row: told.append(row))
        assert result.trace.shape == (result.iterations + 1, 3)
        assert_array_equal(result.trace[:, 0], np.arange(result.iterations + 1))
        assert (np.diff(result.trace[:, 1]) >= 0.0).all()
        assert [value for _, _, value in told] == result.trace[1:, 2].tolist()
        assert [step for step, _, _ in told] == list(range(1, result.iterations + 1))
        assert {total for _, total, _ in told} != {None}

    def test_counts_every_evaluation(self, maximise):
        calls = []

        def counted(x: np.ndarray) -> Evaluation:
            calls.append(x)
            return quadratic(x)

        assert maximise(counted, np.ones(3)).evaluations == len(calls)

    def test_no_start_is_a_failure_not_a_crash(self, maximise):
        result = maximise(log_wall, np.array([-1.0]))
        assert result.outcome == "failed"
        assert result.iterations == 0
        assert_array_equal(result.x, [-1.0])

    def test_outcomes_are_a_closed_list(self, maximise):
        assert maximise(quadratic, np.ones(3)).outcome in get_args(Outcome)

    def test_the_start_is_left_alone(self, maximise):
        start = np.ones(3)
        maximise(quadratic, start)
        assert_array_equal(start, 1.0)


def test_limits_are_kept_and_reported():
    for result in (
        lbfgs(rosenbrock, np.array([-1.2, 1.0]), max_iter=3),
        conjugate_gradients(rosenbrock, np.array([-1.2, 1.0]), line_searches=3),
    ):
        assert result.outcome == "limit reached"
        assert result.iterations == 3


def test_a_line_search_of_cg_keeps_to_its_evaluations():
    result = conjugate_gradients(rosenbrock, np.array([-1.2, 1.0]), line_searches=5, max_evaluations=4)
    assert result.evaluations <= 1 + 5 * 4


def test_a_bracket_without_a_number_inside_ends_the_line_search():
    """A gradient that round-off has turned promises a gain where there is none, however short the step."""

    def kink(x):
        return Evaluation(float(x[0] if x[0] <= 1.0 else 2.0 - x[0]), np.ones(1))

    result = conjugate_gradients(kink, np.zeros(1), line_searches=1, max_evaluations=2000)
    assert result.value == pytest.approx(1.0, abs=1e-4)
    assert result.evaluations < 1000


def test_runs_join():
    first = lbfgs(rosenbrock, np.array([-1.2, 1.0]), max_iter=4)
    second = conjugate_gradients(rosenbrock, first.x, line_searches=5)
    joined = first.then(second)
    assert joined.iterations == 9
    assert joined.evaluations == first.evaluations + second.evaluations
    assert_array_equal(joined.trace[:, 0], np.arange(10))
    assert (np.diff(joined.trace[:, 1]) >= 0.0).all()
    assert joined.value == second.value
