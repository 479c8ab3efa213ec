"""Who may be silent where: never an expert whose covariances are larger than allowed."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.experts.reach import Reach
from hgpbench.gp.kernels import KERNELS, SEARD, KernelName
from tests.models.zoo import draw


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("silent", [1e-12, 1e-6, 1e-2])
def test_points_that_are_left_out_have_small_covariances(name: KernelName, silent: float) -> None:
    Xs, Z = 50.0 * draw(300)[0], draw(20, seed=1)[0]
    kernel = KERNELS[name](1.3, np.array([0.7, 1.5]))
    near = Reach("rbcm", Xs, 1e-4, 10.0, 5).near(Z, kernel, silent)
    assert 0 < len(near) < 300
    k = kernel.cross(Xs, Z)
    left_out = np.setdiff1d(np.arange(300), near)
    assert np.all((k[left_out] ** 2).sum(axis=1) <= silent)


def test_without_tolerance_nobody_is_left_out() -> None:
    reach = Reach("gpoe", np.array([[0.0], [1e9]]), 0.0, 10.0, 5)
    assert_array_equal(reach.near(np.zeros((3, 1)), SEARD(1.0, np.ones(1)), reach.share), [0, 1])
    assert reach.share == 0.0


def test_a_committee_that_has_heard_nobody_is_the_prior() -> None:
    mean, variance = Reach("rbcm", np.zeros((4, 1)), 1e-4, 10.0, 5).committee(-0.5, 2.0).result()
    assert_array_equal(mean, [-0.5] * 4)
    np.testing.assert_allclose(variance, 2.0, rtol=1e-5)
