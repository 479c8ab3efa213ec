"""Committees against the paper's formulas and their limits; what may be left out is left out within bounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp.committee import KINDS, Committee, negligible

PRIOR_MEAN, PRIOR_VAR = -1.3, 1.7


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


def experts(M: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (M, n) of experts, from nearly certain to nearly ignorant."""
    rng = np.random.default_rng(seed)
    s2 = PRIOR_VAR * (1 - rng.uniform(1e-3, 1 - 1e-4, size=(M, n)) ** 2)
    return PRIOR_MEAN + rng.normal(size=(M, n)) * np.sqrt(PRIOR_VAR - s2), s2


def aggregate(kind: str, mu: np.ndarray, s2: np.ndarray, prior_mean: float = PRIOR_MEAN) -> np.ndarray:
    """Mean and variance (2, n) by streaming the experts in their order."""
    committee = Committee(kind, mu.shape[1], prior_mean, PRIOR_VAR)
    for mean, variance in zip(mu, s2, strict=True):
        committee.add(slice(None), mean, variance)
    return np.stack(committee.result())


def dense(kind: str, mu: np.ndarray, s2: np.ndarray) -> np.ndarray:
    """The formulas as printed, all experts at once."""
    w = 0.5 * (np.log(PRIOR_VAR) - np.log(s2))
    if kind == "nearest":
        best = np.argmax(w, axis=0)
        return np.stack([np.take_along_axis(a, best[None], axis=0)[0] for a in (mu, s2)])
    if kind == "gpoe":
        w = w / w.sum(axis=0)
    rest = 1 - w.sum(axis=0)
    variance = 1 / ((w / s2).sum(axis=0) + rest / PRIOR_VAR)
    return np.stack([variance * ((w / s2 * mu).sum(axis=0) + rest / PRIOR_VAR * PRIOR_MEAN), variance])


@pytest.mark.parametrize("M", [1, 2, 7, 40])
def test_it_is_the_paper_s_formula(kind, M):
    mu, s2 = experts(M, 50)
    assert_allclose(aggregate(kind, mu, s2), dense(kind, mu, s2), rtol=1e-9, atol=1e-12)


def test_the_order_of_experts_does_not_matter(kind):
    mu, s2 = experts(12, 30)
    order = np.random.default_rng(1).permutation(12)
    assert_allclose(aggregate(kind, mu[order], s2[order]), aggregate(kind, mu, s2), rtol=1e-13)


def test_experts_that_equal_the_prior_return_it_exactly(kind):
    mu, s2 = np.full((5, 3), PRIOR_MEAN), np.full((5, 3), PRIOR_VAR)
    assert_array_equal(aggregate(kind, mu, s2), [[PRIOR_MEAN] * 3, [PRIOR_VAR] * 3])


def test_nobody_is_the_prior(kind):
    assert_array_equal(
        aggregate(kind, np.empty((0, 2)), np.empty((0, 2))), [[PRIOR_MEAN] * 2, [PRIOR_VAR] * 2]
    )


@pytest.mark.parametrize("excess", [0.0, 1e-15, 1e-7])
def test_an_expert_that_equals_the_prior_up_to_round_off_changes_nothing(kind, excess):
    mu, s2 = experts(4, 20)
    ignorant = np.full((1, 20), PRIOR_VAR * (1 + excess))
    for where in (0, 2, 4):
        with_it = aggregate(
            kind, np.insert(mu, where, PRIOR_MEAN, axis=0), np.insert(s2, where, ignorant, axis=0)
        )
        assert_array_equal(with_it, aggregate(kind, mu, s2))


def test_the_prior_mean_shifts_everything_alike(kind):
    mu, s2 = experts(6, 25)
    mean, variance = aggregate(kind, mu, s2)
    shifted = aggregate(kind, mu + 40.0, s2, prior_mean=PRIOR_MEAN + 40.0)
    assert_allclose(shifted, [mean + 40.0, variance], rtol=1e-13)


def test_certainty_is_no_division_by_zero(kind):
    mu, s2 = experts(3, 2)
    s2[1] = [0.0, 1e-300]
    found = aggregate(kind, mu, s2)
    assert np.isfinite(found).all()
    assert_allclose(found[0], mu[1], rtol=1e-10)
    assert (found[1] > 0).all()


@pytest.mark.parametrize("M", [3, 500])
def test_weights_that_sum_to_more_than_one_leave_a_positive_variance(M):
    mu, s2 = experts(M, 20)
    assert (np.log(PRIOR_VAR / s2).sum(axis=0) / 2 > 1).any()
    for kind in KINDS:
        variance = aggregate(kind, mu, s2)[1]
        assert (variance > 0).all()
        assert (variance <= PRIOR_VAR).all()


def test_a_product_of_one_expert_is_that_expert():
    mu, s2 = experts(1, 10)
    for kind in ("gpoe", "nearest"):
        assert_allclose(aggregate(kind, mu, s2), [mu[0], s2[0]], rtol=1e-12)


def test_of_equal_experts_the_first_is_the_nearest():
    mu = np.array([[1.0], [2.0]])
    assert aggregate("nearest", mu, np.full((2, 1), 0.5))[0] == pytest.approx(1.0, rel=1e-15)


def test_experts_may_speak_at_some_rows_only(kind):
    mu, s2 = experts(3, 10)
    heard = np.array([7, 0, 4])
    committee = Committee(kind, 10, PRIOR_MEAN, PRIOR_VAR)
    committee.add(slice(None), mu[0], s2[0])
    committee.add(heard, mu[1, heard], s2[1, heard])
    committee.add(slice(2, 5), mu[2, 2:5], s2[2, 2:5])
    silent = s2.copy()
    silent[1, np.setdiff1d(np.arange(10), heard)] = PRIOR_VAR
    silent[2, [0, 1, 5, 6, 7, 8, 9]] = PRIOR_VAR
    spoken = np.where(silent == PRIOR_VAR, PRIOR_MEAN, mu)
    assert_array_equal(np.stack(committee.result()), aggregate(kind, spoken, silent))


def test_shards_merged_in_order_are_one_committee(kind):
    mu, s2 = experts(9, 15)
    shards = [Committee(kind, 15, PRIOR_MEAN, PRIOR_VAR) for _ in range(3)]
    for i in range(9):
        shards[i // 3].add(slice(None), mu[i], s2[i])
    whole = Committee(kind, 15, PRIOR_MEAN, PRIOR_VAR)
    for shard in shards:
        whole.merge(shard.sums)
    assert_allclose(np.stack(whole.result()), aggregate(kind, mu, s2), rtol=1e-13)


def test_memory_does_not_grow_with_the_experts():
    assert Committee("rbcm", 1000, 0.0, 1.0).sums.nbytes == 3 * 1000 * 8


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="one of rbcm, gpoe, nearest"):
        Committee("mean", 3, 0.0, 1.0)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("energy", [0.1, 30.0, 1e5])
@pytest.mark.parametrize("M", [2, 30, 300])
def test_leaving_out_the_negligible_stays_within_the_tolerance(kind, tolerance, energy, M):
    # The worst that ``negligible`` allows: all but a few experts at the threshold, all pulling one way.
    threshold = negligible(kind, tolerance, M, energy)
    sizes = np.concatenate(
        [threshold * np.array([1.0, 1.1, 3.0]), np.geomspace(min(0.2, 10 * threshold), 1 - 1e-9, 12)]
    )
    worst = np.zeros(2)
    for keep in {1, M // 2, M - 1}:
        q = np.full((M, len(sizes)), threshold)
        q[:keep] = sizes
        for sign in (1.0, -1.0):
            mu = PRIOR_MEAN + np.sqrt(q * energy * PRIOR_VAR)
            mu[:keep] = PRIOR_MEAN + sign * (mu[:keep] - PRIOR_MEAN)
            s2 = PRIOR_VAR * (1 - q)
            whole, part = aggregate(kind, mu, s2), aggregate(kind, mu[:keep], s2[:keep])
            error = np.abs(part - whole) / [np.full(len(sizes), np.sqrt(PRIOR_VAR)), whole[1]]
            worst = np.maximum(worst, error.max(axis=1))
    assert (worst <= tolerance).all()
    if kind in ("rbcm", "bcm"):
        assert worst[0] > 1e-3 * tolerance  # the test does leave something out


def test_nothing_is_negligible_at_tolerance_zero(kind):
    assert negligible(kind, 0.0, 100, 10.0) == 0.0
