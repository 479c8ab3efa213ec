"""Exact experts against their parts done by hand: evidence, committee, and what may be skipped."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.experts import exact
from hgpbench.experts.exact import LANES, ExactOwner, lanes
from hgpbench.experts.rows import Rows, partition
from hgpbench.gp.committee import Committee
from hgpbench.gp.exact import ExactProblem
from hgpbench.gp.kernels import SEARD
from hgpbench.la import JITTER
from tests.models.zoo import draw

VALUES = {"s2_k": np.asarray(1.3), "ell": np.array([0.25, 0.4]), "sigma2": np.asarray(0.05)}


def experts(n: int = 240, M: int = 6, seed: int = 0) -> Rows:
    X, y = draw(n, seed=seed)
    shares = partition("kmeans", X, M, np.random.default_rng(0))
    return Rows(X[shares.order], y[shares.order], shares.starts)


def problems(rows: Rows) -> list[ExactProblem]:
    """The experts' exact GPs, gathered with boolean masks rather than slices."""
    owner = np.searchsorted(rows.starts, np.arange(len(rows.y)), side="right") - 1
    return [ExactProblem(rows.X[owner == i], rows.y[owner == i]) for i in range(len(rows.sizes))]


def predict(rows: Rows, kind: str, Xs: np.ndarray, tolerance: float, values=VALUES) -> np.ndarray:
    reach = exact.reach(rows, kind, Xs, tolerance, values)
    committee = reach.committee(0.0, float(values["s2_k"]))
    for sums in ExactOwner(rows).confer(lanes(rows), len(lanes(rows)), values, reach):
        committee.merge(sums)
    return np.stack(committee.result())


def by_hand(rows: Rows, kind: str, Xs: np.ndarray, values=VALUES) -> np.ndarray:
    committee = Committee(kind, len(Xs), 0.0, float(values["s2_k"]) * (1 + JITTER))
    for problem in problems(rows):
        committee.add(slice(None), *problem.posterior(values).moments(Xs))
    return np.stack(committee.result())


@pytest.mark.parametrize("M", [1, 6, LANES + 7])
def test_the_evidence_is_the_sum_over_experts(M):
    rows = experts(M=M)
    answers = ExactOwner(rows).evidence(lanes(rows), len(lanes(rows)), VALUES)
    bound = exact.evidence(answers, VALUES, scale=2.0)
    alone = [problem.evidence(VALUES) for problem in problems(rows)]
    assert bound.value == pytest.approx(2 * sum(one.value for one in alone), rel=1e-12)
    assert bound.jitter == JITTER
    for name in VALUES:
        assert_allclose(bound.grads[name], 2 * sum(one.grads[name] for one in alone), rtol=1e-10)


def test_evidence_that_cannot_be_evaluated_is_not_a_number():
    rows = experts()
    bad = VALUES | {"s2_k": np.asarray(np.inf)}
    answers = ExactOwner(rows).evidence(lanes(rows), len(lanes(rows)), bad)
    assert np.isnan(exact.evidence(answers, bad).value)


@pytest.mark.parametrize("kind", ["rbcm", "gpoe", "nearest"])
def test_prediction_is_the_committee_of_exact_gps(kind):
    found = experts()
    Xs, _ = draw(90, seed=1)
    assert_allclose(predict(found, kind, Xs, 0.0), by_hand(found, kind, Xs), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["rbcm", "gpoe", "nearest"])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("sigma2", [1e-4, 0.05, 1.0])
def test_skipping_stays_within_the_tolerance(kind, tolerance, sigma2):
    found = experts(n=600, M=30)
    values = VALUES | {"ell": np.array([0.1, 0.2]), "sigma2": np.asarray(sigma2)}
    Xs, _ = draw(300, seed=2)
    Xs *= 1.6  # some of them outside
    mean, variance = predict(found, kind, Xs, tolerance, values)
    exact_mean, exact_variance = by_hand(found, kind, Xs, values)
    assert np.abs(mean - exact_mean).max() <= tolerance * np.sqrt(1.3)
    assert (np.abs(variance - exact_variance) / exact_variance).max() <= tolerance


def test_skipping_does_skip():
    found = experts(n=600, M=30)
    values = VALUES | {"ell": np.array([0.1, 0.2])}
    Xs, _ = draw(300, seed=2)
    kernel = SEARD(float(values["s2_k"]), values["ell"])
    reach = exact.reach(found, "rbcm", Xs, 1e-4, values)
    silent = reach.share * kernel.s2_k * exact.least_noise(values)
    asked = [len(reach.near(problem.X, kernel, silent)) for problem in problems(found)]
    assert 0 < sum(asked) < 0.5 * 30 * 300
    everywhere = exact.reach(found, "rbcm", Xs, 0.0, values)
    assert len(everywhere.near(found.X, kernel, 0.0)) == 300


def test_training_draws_experts_up_to_its_rows():
    rows = experts(n=300, M=10)
    some = rows.drawn(120, np.random.default_rng(0))
    assert 120 - rows.sizes.max() < len(some.y) <= 120
    owned = {rows.X[rows.starts[i] : rows.starts[i + 1]].tobytes() for i in range(10)}
    assert {some.of(i)[0].tobytes() for i in range(len(some.sizes))} < owned
    assert len(rows.drawn(1, np.random.default_rng(0)).sizes) == 1
    everything = rows.drawn(300, np.random.default_rng(0))
    assert_array_equal(everything.X, rows.X)
    assert_array_equal(everything.starts, rows.starts)
