"""Passes over experts: who is visited when, the guard that ends them, and experts without an answer."""

from collections.abc import Callable

import numpy as np
from numpy.testing import assert_array_equal

from hgpbench.experts.ascent import Course, Plan, ascend
from hgpbench.experts.contribution import Contribution
from hgpbench.experts.expert import of_f
from hgpbench.experts.owner import Owner


def test_a_pass_visits_every_expert_once_and_a_batch_every_lane() -> None:
    plan = Plan(np.full(23, 10), lanes=4, passes=3, seed=5)
    for number in range(3):
        batches = [plan.batch(6 * number + step) for step in range(6)]
        assert sorted(expert for batch in batches for expert in batch) == list(range(23))
        assert all([expert % 4 for expert in batch] == list(range(len(batch))) for batch in batches)
    assert plan.batch(0) != plan.batch(6)
    assert plan.steps == 18
    heats = [plan.heat(step) for step in range(18)]
    assert heats[0] == 1.0
    assert np.all(np.diff(heats) < 0)


class Scripted:
    """A pool whose experts answer as told: a bound of -1, a slope, and the leave-one-out error of the step."""

    def __init__(self, errors: list[float]) -> None:
        self.errors = errors
        self.questions: list[Callable] = []
        self.moved_f: list[bool] = []

    def ask(self, question: Callable, numbers: list[int], *given: object) -> list[Contribution | None]:
        self.questions.append(question)
        if question is not Owner.visit:
            return [None for _ in numbers]
        flat, step = given
        self.moved_f.append(step.moves_f)
        error = self.errors[len(self.moved_f) - 1]
        return [Contribution(-1.0, 1e-6, np.full(flat.size, 1e3), error) for _ in numbers]


def test_the_guard_takes_f_back_to_its_best_and_goes_on_with_the_noise() -> None:
    errors = [1.0] * 10 + [0.8] * 10 + [0.82] * 10 + [0.5] * 70
    plan = Plan(np.full(40, 10), lanes=4, passes=10, seed=0)
    course = Course(np.zeros(5), np.zeros(5), np.full(40, np.nan))
    pool, flats = Scripted(errors), {}
    outcome = ascend(course, plan, pool, lambda course: flats.update({course.step: course.flat}))
    assert outcome == "converged"
    assert (course.held_at, course.step) == (30, 60)  # three passes of ten steps about the noise
    assert pool.moved_f == [True] * 30 + [False] * 30
    assert [question for question in pool.questions if question is not Owner.visit] == [
        Owner.keep,
        Owner.keep,
        Owner.revert,
    ]
    f = of_f(course.flat)
    for step in (30, 45, 60):
        assert_array_equal(flats[step][f], flats[20][f])
    assert np.all(flats[60][f.stop :] > flats[29][f.stop :])


def test_without_a_guard_all_passes_are_made_and_f_is_never_held() -> None:
    plan = Plan(np.full(40, 10), lanes=4, passes=5, seed=0, guard=False)
    course, pool = Course(np.zeros(5), np.zeros(5), np.full(40, np.nan)), Scripted([1.0] * 10 + [9.0] * 40)
    assert ascend(course, plan, pool, lambda course: None) == "limit reached"
    assert course.step == 50
    assert set(pool.questions) == {Owner.visit}
    assert course.bound(plan.sizes) == -40.0


def test_small_growth_of_leave_one_out_errors_is_no_reason_to_stop() -> None:
    plan = Plan(np.full(40, 10), lanes=4, passes=3, seed=0)
    course = Course(np.zeros(5), np.zeros(5), np.full(40, np.nan))
    errors = [0.8] * 10 + [0.803] * 10 + [0.806] * 10
    assert ascend(course, plan, Scripted(errors), lambda course: None) == "limit reached"


def test_experts_without_an_answer_shorten_the_steps_and_end_a_hopeless_fit() -> None:
    plan = Plan(np.full(4, 10), lanes=1, passes=3, seed=0)
    course = Course(np.zeros(5), np.zeros(5), np.full(4, np.nan))
    assert ascend(course, plan, Scripted([np.nan] * 100), lambda course: None) == "failed"
    course = Course(np.zeros(5), np.zeros(5), np.full(4, np.nan))
    assert ascend(course, plan, Scripted([1.0] * 5 + [np.nan] * 100), lambda course: None) == "diverged"
    assert course.step == 5


def test_a_course_comes_back_from_its_arrays() -> None:
    course = Course(np.arange(5.0), np.ones(5), np.array([-1.0, np.nan]), step=3, evaluations=7, jitter=1e-6)
    course.adam.step(np.arange(5.0))
    course.errors, course.trace = [0.5, 0.25], [(0.0, 0.1, -9.0), (1.0, 0.2, -8.0)]
    again = Course.of(course.arrays())
    assert again.arrays().keys() == course.arrays().keys()
    for name, array in course.arrays().items():
        assert_array_equal(again.arrays()[name], array, err_msg=name)
    assert (again.step, again.errors, again.trace) == (3, course.errors, course.trace)
    assert_array_equal(again.adam.step(np.ones(5)), course.adam.step(np.ones(5)))
