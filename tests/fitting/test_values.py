"""Learned parameters in the user's units."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.fitting.values import ATTRIBUTES, learned
from hgpbench.scaling import Scaling

SCALING = Scaling(np.array([1.0, -2.0]), np.array([10.0, 0.5]), 100.0, 3.0)


def test_each_parameter_gets_its_units():
    points = np.array([[0.0, 1.0]])
    values = {"ell_f": np.ones(2), "s2_kf": np.asarray(2.0), "sigma2": np.asarray(0.5), "Xm": points}
    values |= {"ell_g": np.full(2, 3.0), "s2_kg": np.asarray(0.7), "mu0": np.asarray(-1.0), "Xu": points}
    told = learned(values | {"lam": np.full(4, 0.5), "w": np.zeros(1)}, SCALING)
    assert_array_equal(told["lengthscales_f_"], [10.0, 0.5])
    assert_array_equal(told["lengthscales_g_"], [30.0, 1.5])
    assert (told["signal_var_f_"], told["signal_var_g_"], told["noise_var_"]) == (18.0, 0.7, 4.5)
    assert_allclose(np.exp(told["noise_mean_"]), 9.0 * np.exp(-1.0))
    assert_array_equal(told["inducing_f_"], [[1.0, -1.5]])
    assert_array_equal(told["inducing_g_"], told["inducing_f_"])
    assert_array_equal(told["lam_"], [0.5] * 4)
    assert set(told) == {attribute for attribute, _ in ATTRIBUTES.values()}


def test_a_model_of_f_alone_has_no_letters():
    told = learned({"ell": np.ones(2), "s2_k": np.asarray(1.0)}, SCALING)
    assert list(told) == ["lengthscales_f_", "signal_var_f_"]
