"""Where PIC is another model: one block is the exact GP, blocks of one row are FITC."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.gp import collapsed
from hgpbench.gp.exact import ExactProblem
from hgpbench.gp.kernels import KERNELS, Family
from hgpbench.gp.pic import Blocks
from hgpbench.gp.process import Process
from hgpbench.gp.tasks import serially
from tests.gp.reference import collapsed_values, draw, relative_error

X, Y, FULL = draw(seed=21, n=36)
VALUES = collapsed_values(FULL)
XS = np.random.default_rng(22).normal(size=(9, 3))
N, M = len(X), len(VALUES["Xm"])


@pytest.fixture(params=KERNELS)
def family(request) -> Family:
    return KERNELS[request.param]


def test_one_block_is_the_exact_gp(family):
    found = Blocks(X, Y, [0, N], family=family).evidence(VALUES)
    expected = ExactProblem(X, Y, family).evidence(VALUES)
    assert found.value == pytest.approx(expected.value, rel=1e-13)
    for name, grad in expected.grads.items():
        assert relative_error(found.grads[name], grad) < 1e-11
    # where the inducing points lie does not matter
    assert np.abs(found.grads["Xm"]).max() < 1e-11 * np.abs(found.grads["ell"]).max()


def test_one_block_predicts_as_the_exact_gp(family):
    block = Blocks(X, Y, [0, N], family=family)
    mu, s2 = block.posterior(VALUES).moments(XS, np.zeros(len(XS), dtype=int))
    mu_exact, s2_exact = ExactProblem(X, Y, family).posterior(VALUES).moments(XS)
    assert_allclose(mu, mu_exact, rtol=1e-10, atol=1e-12)
    assert_allclose(s2, s2_exact, rtol=1e-10)


def test_blocks_of_one_row_are_fitc(family):
    found = Blocks(X, Y, range(N + 1), family=family).evidence(VALUES)
    expected = collapsed.bound(VALUES, X, Y, Process(N, M, serially, family), "fitc")
    assert found.value == pytest.approx(expected.value, rel=1e-13)
    for name, grad in expected.grads.items():
        assert relative_error(found.grads[name], grad) < 1e-11


def test_blocks_of_one_row_predict_as_fitc_at_inducing_points():
    # A test row still shares its block with one training row; where their exact and their approximate
    # covariance agree, at an inducing point, nothing distinguishes it from FITC's.
    Xm = VALUES["Xm"]
    mu, s2 = Blocks(X, Y, range(N + 1)).posterior(VALUES).moments(Xm, np.arange(M))
    mu_fitc, s2_fitc = collapsed.posterior(VALUES, X, Y, Process(N, M), "fitc").moments(Xm)
    assert_allclose(mu, mu_fitc, rtol=0, atol=2e-6)  # the nugget makes Q and K differ by 1e-6 there
    assert_allclose(s2, s2_fitc, rtol=0, atol=2e-6)


@pytest.mark.parametrize("starts", [[0, N], [0, 5, 6, 20, N], list(range(N + 1))])
def test_inducing_points_at_the_data_leave_nothing_to_the_blocks(starts, family):
    # Short lengthscales keep K(X, X) well conditioned, so that no jitter is needed.
    values = VALUES | {"Xm": X, "ell": np.full(3, 0.5)}
    found = Blocks(X, Y, starts, family=family).evidence(values, jitter=0.0)
    expected = Blocks(X, Y, [0, N], family=family).evidence(values, jitter=0.0)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert relative_error(found.grads["ell"], expected.grads["ell"]) < 1e-9


def test_the_order_of_blocks_does_not_matter():
    starts, order = np.array([0, 5, 6, 20, N]), np.array([2, 0, 3, 1])
    rows = np.concatenate([np.arange(starts[b], starts[b + 1]) for b in order])
    moved = np.concatenate([[0], np.cumsum(np.diff(starts)[order])]).tolist()
    plain, shuffled = Blocks(X, Y, starts.tolist()), Blocks(X[rows], Y[rows], moved)
    found, expected = shuffled.evidence(VALUES), plain.evidence(VALUES)
    assert found.value == pytest.approx(expected.value, rel=1e-13)
    for name, grad in expected.grads.items():
        assert relative_error(found.grads[name], grad) < 1e-11
    owners = np.arange(len(XS)) % 4
    assert_allclose(
        shuffled.posterior(VALUES).moments(XS, np.argsort(order)[owners]),
        plain.posterior(VALUES).moments(XS, owners),
        rtol=1e-11,
    )
