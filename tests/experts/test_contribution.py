"""Sums over experts: in the order given, and aware of those who have no answer."""

import numpy as np
from numpy.testing import assert_array_equal

from hgpbench.experts.contribution import Contribution, missing, stack, total


def contributions(k: int) -> list[Contribution]:
    rng = np.random.default_rng(0)
    return [Contribution(rng.normal() * 10.0**i, 1e-6 * i, rng.normal(size=3), 0.5) for i in range(k)]


def test_the_sum_is_taken_in_order() -> None:
    heard = contributions(20)
    value, grad = 0.0, np.zeros(3)
    for one in heard:
        value, grad = value + one.value, grad + one.grad
    summed = total(heard)
    assert summed.value == value
    assert_array_equal(summed.grad, grad)
    assert summed.jitter == heard[-1].jitter


def test_stacked_they_tell_which_are_usable() -> None:
    heard = contributions(3)
    stacked = stack([heard[0], missing(3), heard[1], heard[2]._replace(error=np.nan)])
    assert stacked.usable.tolist() == [True, False, True, False]
    assert_array_equal(stacked.grads[2], heard[1].grad)
    assert stacked.values[0] == heard[0].value


def test_the_sum_with_one_that_is_missing_is_not_a_number() -> None:
    assert np.isnan(total([*contributions(2), missing(3)]).value)
