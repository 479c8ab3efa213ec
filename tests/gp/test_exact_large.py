"""The exact GP in one array beside the one in two, and how much memory it takes."""

import tracemalloc

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp import exact
from hgpbench.gp.exact import ExactProblem, LargeExactProblem
from hgpbench.la import JITTER, MAX_JITTER
from tests.gp.reference import central_differences, relative_error

VALUES = {"s2_k": np.asarray(1.7), "ell": np.array([0.6, 1.9, 0.8]), "sigma2": np.asarray(0.21)}


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return 5.0 + rng.normal(size=(n, 3)), rng.normal(size=n)


@pytest.fixture(params=[7, 16, 100])
def width(request, monkeypatch) -> int:
    """Panels that divide 48 rows, that do not, and one for all."""
    monkeypatch.setattr(exact, "WIDTH", request.param)
    return request.param


def test_value_and_gradient_are_the_exact_gps(width):
    X, y = draw(48)
    found, expected = LargeExactProblem(X, y).evidence(VALUES), ExactProblem(X, y).evidence(VALUES)
    assert found.value == pytest.approx(expected.value, rel=1e-13)
    assert found.jitter == expected.jitter == JITTER
    for name, grad in expected.grads.items():
        assert relative_error(found.grads[name], grad) < 1e-11


@pytest.mark.parametrize("name", VALUES)
def test_gradient_matches_central_differences(name):
    evidence = LargeExactProblem(*draw(48)).evidence
    assert relative_error(evidence(VALUES).grads[name], central_differences(evidence, VALUES, name)) < 1e-7


def test_prediction_is_the_exact_gps(width):
    X, y = draw(48)
    Xs = 5.0 + np.random.default_rng(1).normal(size=(9, 3))
    problem = LargeExactProblem(X, y)
    problem.evidence(VALUES)
    expected = ExactProblem(X, y).posterior(VALUES).moments(Xs)
    assert_allclose(problem.posterior(VALUES).moments(Xs), expected, rtol=1e-10, atol=1e-12)


def test_evaluations_repeat_and_leave_the_data_alone():
    X, y = draw(48)
    before = X.copy(), y.copy()
    problem = LargeExactProblem(X, y)
    first = problem.evidence(VALUES)
    problem.evidence(VALUES | {"sigma2": np.asarray(3.0)})
    again = problem.evidence(VALUES)
    assert first.value == again.value
    assert_array_equal(first.grads["ell"], again.grads["ell"])
    assert_array_equal(X, before[0])
    assert_array_equal(y, before[1])


def test_fit_and_posterior_take_one_array(monkeypatch):
    n = 600
    monkeypatch.setattr(exact, "WIDTH", 16)
    X, y = draw(n)
    tracemalloc.start()
    problem = LargeExactProblem(X, y)
    problem.evidence(VALUES)
    posterior = problem.posterior(VALUES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert posterior.Linv.nbytes == 8 * n * n
    assert peak < 1.25 * 8 * n * n


def test_repeated_rows_climb_the_ladder_of_jitter_and_rejected_ones_say_so():
    X, y = draw(48)
    still = VALUES | {"sigma2": np.asarray(-5e-5)}  # less than nothing: only more jitter can mend it
    found = LargeExactProblem(np.repeat(X[:24], 2, axis=0), y).evidence(still)
    assert JITTER < found.jitter <= MAX_JITTER
    assert np.isfinite(found.value)
    for bad in (np.asarray(-1.0), np.asarray(np.nan)):
        with pytest.raises(LinAlgError, match="48 rows is not positive definite"):
            LargeExactProblem(X, y).evidence(VALUES | {"sigma2": bad})
