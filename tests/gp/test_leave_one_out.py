"""The leave-one-out density against a plain sum, and its gradient against central differences."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from hgpbench.fitting.threads import runner
from hgpbench.gp.kernels import KERNELS, KernelName
from hgpbench.gp.leave_one_out import POSITIVE, Batch, scattered, signal
from hgpbench.gp.neighbours import Neighbourhood
from hgpbench.gp.params import Layout, objective
from hgpbench.gp.scatter import log_density
from hgpbench.gp.tasks import Run, serially
from tests.models.zoo import draw

ELL = np.array([0.7, 1.2])


def batch(name: KernelName, n: int = 60, run: Run = serially) -> Batch:
    X, y = draw(n)
    w = np.random.default_rng(2).uniform(0.3, 3.0, n)
    return Batch.of(X, y, w, np.arange(0, n, 2), ELL, 9, KERNELS[name], run)


VALUES = {
    "s2_k": np.asarray(1.4),
    "ell": ELL,
    "sigma2": np.asarray(0.2),
}


def check_gradient(bound, values) -> None:
    layout = Layout.of(values, positive=POSITIVE)
    function, x = objective(bound, layout), layout.pack(values)
    found = function(x).grad
    steps = 1e-5 * np.eye(len(x))
    numeric = [(function(x + step).value - function(x - step).value) / 2e-5 for step in steps]
    assert_allclose(found, numeric, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_signal_is_the_sum_of_left_out_densities(name: KernelName) -> None:
    X, y = draw(60)
    w, rows = np.random.default_rng(2).uniform(0.3, 3.0, 60), np.arange(0, 60, 2)
    c = np.random.default_rng(4).uniform(0.5, 2.0, 30)
    mu, s2 = Neighbourhood.of(KERNELS[name](1.4, ELL), X, y, 0.2 * w, 9).left_out(rows)
    expected = norm.logpdf(y[rows], mu, np.sqrt((s2 + 0.2 * w[rows]) * c)).sum()
    assert signal(batch(name), c, VALUES).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_gradient_of_the_signal(name: KernelName) -> None:
    c = np.random.default_rng(4).uniform(0.5, 2.0, 30)
    check_gradient(partial(signal, batch(name), c), VALUES)


@pytest.mark.parametrize("name", KERNELS)
def test_gradient_of_the_scatter(name: KernelName) -> None:
    z = np.random.default_rng(5).normal(size=30)
    check_gradient(partial(scattered, batch(name), z), VALUES | {"mu0": np.asarray(-0.4)})


def test_scatter_is_the_sum_of_densities_given_the_others() -> None:
    X, t = draw(60)
    w, rows = np.random.default_rng(2).uniform(0.3, 3.0, 60), np.arange(0, 60, 2)
    z = np.random.default_rng(5).normal(size=30)
    mu, s2 = Neighbourhood.of(KERNELS["se"](1.4, ELL), X, t, 0.2 * w, 9, mean=-0.4).left_out(rows)
    value = scattered(batch("se"), z, VALUES | {"mu0": np.asarray(-0.4)}).value
    assert value == pytest.approx(log_density(z, mu, s2)[0].sum(), rel=1e-12)


def test_threads_change_no_bit() -> None:
    c = np.ones(1000)
    alone = signal(batch("matern32", 2000), c, VALUES)
    with runner(3) as run:
        together = signal(batch("matern32", 2000, run), c, VALUES)
    assert alone.value == together.value
    for name, grad in alone.grads.items():
        assert_array_equal(grad, together.grads[name])
