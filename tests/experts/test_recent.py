"""What is kept: the most recent, within the budget."""

import copy
import pickle

import numpy as np
import pytest

from hgpbench.experts.recent import Recent


def fresh() -> np.ndarray:
    return np.zeros(10)  # 80 bytes


@pytest.fixture
def recent() -> Recent[np.ndarray]:
    recent: Recent[np.ndarray] = Recent()
    recent.allow(250)
    return recent


def test_an_item_is_made_once(recent: Recent[np.ndarray]) -> None:
    assert recent.obtain("a", fresh) is recent.obtain("a", fresh)
    assert recent.obtain("b", fresh) is not recent.obtain("a", fresh)


def test_the_least_recently_used_goes_first(recent: Recent[np.ndarray]) -> None:
    first = {key: recent.obtain(key, fresh) for key in "abc"}
    recent.obtain("a", fresh)
    recent.obtain("d", fresh)
    assert recent.nbytes == 240
    assert recent.obtain("a", fresh) is first["a"]
    assert recent.obtain("b", fresh) is not first["b"]


def test_an_item_beyond_the_budget_drives_nothing_out(recent: Recent[np.ndarray]) -> None:
    kept = recent.obtain("a", fresh)
    recent.obtain("large", lambda: np.zeros(1000))
    assert recent.nbytes == 80
    assert recent.obtain("a", fresh) is kept


def test_a_smaller_budget_is_kept_at_once(recent: Recent[np.ndarray]) -> None:
    for key in "abc":
        recent.obtain(key, fresh)
    recent.allow(100)
    assert recent.nbytes == 80
    recent.allow(0)
    assert recent.nbytes == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda recent: pickle.loads(pickle.dumps(recent))])
def test_a_copy_has_forgotten(recent: Recent[np.ndarray], copied) -> None:
    recent.obtain("a", fresh)
    assert copied(recent).nbytes == 0
    assert recent.nbytes == 80
