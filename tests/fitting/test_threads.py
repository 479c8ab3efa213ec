"""Threads: how many are used, and that their number changes no bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from hgpbench.fitting import threads
from hgpbench.fitting.threads import allowed_cores, blas_threads, runner
from hgpbench.gp import process
from hgpbench.models import FITC, GPVC, VHGP, VSGP, VSHGP, EHSoD, ExactGP, base
from tests.models.zoo import draw

DEALT_OUT = [
    VSGP(n_inducing=8, max_iter=5, random_state=0),
    FITC(n_inducing=8, max_iter=5, random_state=0),
    VSHGP(n_inducing_f=8, n_inducing_g=6, max_iter=3, random_state=0),
]


def blas_pools() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("model", DEALT_OUT, ids=lambda model: type(model).__name__)
def test_the_number_of_threads_changes_no_bit(model, monkeypatch):
    monkeypatch.setattr(process, "PANEL_BYTES", 1)
    X, y = draw(400)
    one, three = (model.set_params(n_jobs=jobs).fit(X, y).predict(X, return_std=True) for jobs in (1, 3))
    assert_array_equal(three, one)


@pytest.mark.parametrize("kind", [VSGP, FITC, VSHGP, VHGP])
def test_there_is_at_least_one_thread(kind):
    with pytest.raises(ValueError, match="n_jobs=0 is not allowed: it must be an integer of at least 1"):
        kind(n_jobs=0).fit(*draw(20))


def test_threads_of_ours_have_one_blas_thread_each():
    with threadpool_limits(2, user_api="blas"):
        assert allowed_cores() <= 2
        with runner(3) as run:
            assert set(blas_pools()) == {1}
            done = []
            run([lambda number=number: done.append(number) for number in range(7)])
            assert sorted(done) == list(range(7))
        assert set(blas_pools()) == {2}


@pytest.mark.parametrize(("size", "expected"), [(None, 2), (10, 1), (threads.LARGE, 2)])
def test_blas_has_its_threads_for_large_matrices_alone(size, expected):
    with threadpool_limits(2, user_api="blas"), blas_threads(size):
        assert set(blas_pools()) == {expected}


@pytest.mark.parametrize(
    ("model", "size"), [(ExactGP(max_iter=1), 40), (EHSoD(30, max_iter=1), 30), (GPVC(7, max_iter=1), 7)]
)
def test_models_without_threads_of_their_own_tell_their_size(model, size, monkeypatch):
    asked = []

    def noted(size):
        asked.append(size)
        return blas_threads(size)

    monkeypatch.setattr(base, "blas_threads", noted)
    X, y = draw(40)
    assert np.isfinite(model.fit(X, y).predict(X)).all()
    assert asked == [size, size]


def test_a_prediction_does_not_look_for_libraries_again(monkeypatch):
    X, y = draw(40)
    model = VSGP(n_inducing=5, max_iter=2, random_state=0).fit(X, y)

    def searched():
        raise AssertionError("milliseconds, for every row that is predicted by itself")

    monkeypatch.setattr(threads, "ThreadpoolController", searched)
    assert np.isfinite(model.predict(X[:1])).all()


def test_threads_treat_overflow_as_the_caller_does():
    def overflow():
        found.append(np.exp(np.full(3, 1e4)))

    found: list[np.ndarray] = []
    with runner(2) as run:
        with np.errstate(over="ignore"):
            run([overflow, overflow])
        assert len(found) == 2
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            run([overflow, overflow])
