"""g from left-out residuals: its responses end at the modes that all rows ask for, found apart by Newton."""

import numpy as np
from numpy.testing import assert_allclose

from hgpbench.fitting.nearest import Task
from hgpbench.fitting.scatter import Residuals, Scatter, learned_from, settled
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.scatter import first_responses
from hgpbench.gp.tasks import serially

N = 120
VALUES = {"s2_k": np.array(1.5), "ell": np.array([0.8]), "sigma2": np.array(0.3), "mu0": np.array(-0.4)}


def problem() -> tuple[Task, Residuals, Scatter]:
    """Residuals of a scale that varies, g with all the other rows near each."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (N, 1))
    z = np.exp(np.sin(2 * X[:, 0])) * rng.normal(size=N)
    task = Task.of(X, z, np.random.default_rng(1), serially)
    residuals = Residuals(X, z, np.zeros(N), task.order)
    return task, residuals, Scatter("se", VALUES, X, first_responses(z), N)


def mode(X: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The g of the greatest sum of log N(z_i | 0, e^g_i) and log N(g | mu0, K), by Fisher scoring."""
    kernel = SEARD(float(VALUES["s2_k"]), VALUES["ell"])
    K, mu0 = kernel.cross(X, X) + 1e-6 * kernel.s2_k * np.eye(N), float(VALUES["mu0"])
    g = np.full(N, mu0)
    for _ in range(200):
        response = g + z**2 * np.exp(-g) - 1.0
        g = mu0 + K @ np.linalg.solve(K + 2.0 * np.eye(N), response - mu0)
    slope = 0.5 * (z**2 * np.exp(-g) - 1.0) - np.linalg.solve(K, g - mu0)
    assert np.abs(slope).max() < 1e-4  # it is the mode
    return g


def test_responses_settle_at_the_mode_of_all_rows(monkeypatch) -> None:
    monkeypatch.setattr("hgpbench.fitting.scatter.MOST_NEIGHBORS", N)
    task, residuals, first = problem()
    found, g = settled(residuals, first, task), mode(residuals.X, residuals.z)
    expected = g + residuals.z**2 * np.exp(-g) - 1.0
    off = np.abs(found.t - expected) / (1.0 + np.abs(expected))
    assert off.max() < 0.02
    assert found.values["sigma2"] == 2.0
    assert_allclose(found.h, found.neighbourhood().left_out(np.arange(N))[0], rtol=1e-9)


def test_what_it_was_told_before_does_not_matter() -> None:
    """Rows kept aside must not be heard through responses that were made with them."""
    task, residuals, first = problem()
    known = settled(residuals, first, task)
    again = learned_from(residuals, known, task)
    assert_allclose(again.t, known.t, rtol=1e-12)
