"""Which rows are observations: copies are none where targets are too fine to agree by chance."""

import numpy as np
from numpy.testing import assert_array_equal

from hgpbench.repeated import distinct, observed


def test_the_first_of_equal_rows_stays_and_a_row_with_another_target_is_another():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0], [1.0, 0.0], [2.0, 0.0]])
    y = np.array([5.0, 6.0, 5.0, 7.0, 6.0])
    assert_array_equal(distinct(X, y), [0, 1, 3])
    assert distinct(X[:0], y[:0]).size == 0


def test_copies_of_fine_targets_are_no_observations_and_counts_that_agree_are():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(100, 2)), 2, axis=0)
    fine = np.repeat(rng.normal(size=100), 2)
    fine[-1] += 0.1  # another measurement
    assert_array_equal(observed(X, fine), np.r_[np.arange(0, 198, 2), 198, 199])
    assert_array_equal(observed(X, rng.poisson(3.0, size=200).astype(float)), np.arange(200))
    assert_array_equal(observed(X[::2], fine[::2]), np.arange(100))
