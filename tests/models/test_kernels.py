"""The kernels that estimators take by name; that every model works with them is in ``test_conformance``."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from hgpbench.gp.kernels import KERNELS
from tests.models.zoo import ROUGH, WITH_KERNELS, draw, make

TAKEN = [(name, parameter) for name in WITH_KERNELS for parameter in ROUGH if hasattr(make(name), parameter)]


def test_all_gaussian_processes_take_a_kernel_and_those_with_a_noise_process_two():
    assert set(WITH_KERNELS) == {
        *("gp", "vsgp", "fitc", "dpic", "rbcm", "svgp"),
        *("ehsod", "vshgp", "vhgp", "dvshgp", "svshgp"),
        *("nngp", "nnhgp"),
    }
    assert {name for name, parameter in TAKEN if parameter == "noise_kernel"} == {
        *("ehsod", "vshgp", "vhgp", "dvshgp", "svshgp", "nnhgp")
    }
    chosen = {"nngp", "nnhgp"}  # for use, not for the paper
    defaults = {
        name: {getattr(make(name), other) for own, other in TAKEN if own == name} for name in WITH_KERNELS
    }
    assert defaults == {name: {"auto"} if name in chosen else {"se"} for name in WITH_KERNELS}


@pytest.mark.parametrize(("name", "parameter"), TAKEN)
@pytest.mark.parametrize("bad", ["matern", "SE", None, 3])
def test_another_name_is_refused_in_one_line(name, parameter, bad):
    with pytest.raises(ValueError, match=parameter) as refusal:
        make(name, **{parameter: bad}).fit(*draw(30))
    assert str(refusal.value) == (
        f"{parameter}={bad!r} is not allowed: it must be one of 'se', 'matern12', 'matern32', 'matern52', 'auto'"
    )


@pytest.mark.parametrize("name", ["vsgp", "svgp", "dpic", "ehsod", "vshgp", "svshgp"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_each_kernel_learns_and_makes_a_difference(name, kernel):
    brief = {"max_iter": 15}
    model = make(name, **brief, kernel=kernel).fit(*draw(80))
    X, y = draw(200, seed=4)
    found = model.predict_dist(X)
    assert np.mean((found.mean - y) ** 2) < 0.5 * np.var(y)
    if kernel != "se":
        assert np.abs(found.mean - make(name, **brief).fit(*draw(80)).predict(X)).max() > 1e-4
    restored = pickle.loads(pickle.dumps(model))
    assert_array_equal(restored.predict_dist(X).var, found.var)


@pytest.mark.parametrize("name", ["vshgp", "svshgp", "vhgp", "ehsod", "dvshgp"])
def test_the_kernel_of_g_is_that_of_g(name):
    limit = {"optimizer": "natural(n_passes=3)"} if name == "dvshgp" else {"max_iter": 5}
    X, _ = draw(50, seed=4)
    smooth, rough = (
        make(name, **limit, noise_kernel=kernel).fit(*draw(80)).predict_dist(X)
        for kernel in ("se", "matern12")
    )
    assert np.abs(smooth.g_mean - rough.g_mean).max() > 1e-4


@pytest.mark.parametrize("name", ["vsgp", "fitc", "svgp", "dpic", "vshgp", "svshgp"])
def test_the_number_of_threads_changes_no_bit(name):
    X, y = draw(700)
    found = [
        make(f"{name}, rough", n_inducing=40, max_iter=3, n_jobs=jobs).fit(X, y).predict_dist(X)
        for jobs in (1, 2)
    ]
    for one, two in zip(*(prediction.arrays().values() for prediction in found), strict=True):
        assert_array_equal(one, two)


@parametrize_with_checks([make(f"{name}, rough", max_iter=10) for name in ("vsgp", "svshgp")])
def test_scikit_learn_check(estimator, check):
    check(estimator)
