"""Adam's update."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp.adam import Adam


def test_first_step_of_adam_is_the_rate_in_each_coordinate():
    assert_allclose(Adam(rate=0.1).step(np.array([5.0, -1e-3])), [0.1, -0.1], rtol=1e-4)


def test_it_climbs_a_quadratic():
    adam, x = Adam(rate=0.05), np.array([3.0, -2.0])
    for _ in range(600):
        x = x + adam.step(-2.0 * x)
    assert np.abs(x).max() < 1e-2
    assert adam.steps == 600


def test_it_is_the_papers_algorithm():
    rng = np.random.default_rng(0)
    adam, mean, square = Adam(rate=0.3, beta1=0.8, beta2=0.95), np.zeros(2), np.zeros(2)
    for step in range(1, 6):
        grad = rng.normal(size=2)
        mean, square = 0.8 * mean + 0.2 * grad, 0.95 * square + 0.05 * grad**2
        expected = 0.3 * (mean / (1 - 0.8**step)) / (np.sqrt(square / (1 - 0.95**step)) + 1e-8)
        assert_allclose(adam.step(grad), expected, rtol=1e-12)


def test_gradients_are_left_alone():
    grad = np.ones(2)
    Adam().step(grad)
    assert_array_equal(grad, 1.0)
