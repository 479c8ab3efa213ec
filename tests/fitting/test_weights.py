"""How f weighs its rows: by as much of e^g as left-out rows ask for, and then with the kernel that suits it."""

from dataclasses import replace

import numpy as np
import pytest

from hgpbench.fitting import weights
from hgpbench.fitting.nearest import Signal, Task, begun
from hgpbench.gp.tasks import serially


@pytest.fixture(scope="module")
def drawn() -> tuple[Task, np.ndarray]:
    """A smooth function under noise whose variance varies by e^9, and its logarithms over the mean."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (1500, 1))
    h = 1.5 * X[:, 0] - 3.0
    y = np.sin(3 * X[:, 0]) + np.exp(0.5 * h) * rng.normal(size=len(X))
    return Task.of(X, y, np.random.default_rng(1), serially), h - np.log(np.mean(np.exp(h)))


def first(task: Task, kernel: str) -> Signal:
    return begun(task, kernel, 30, 1, 10)


def test_kernels_compete_again_under_the_weights(drawn: tuple[Task, np.ndarray]) -> None:
    task, h = drawn
    rough, smooth = first(task, "matern12"), first(task, "se")
    power, found = weights.chosen(task, replace(rough, K=120), [smooth], h, None, 10)
    assert power == 1.0
    assert found.kernel == "se"
    assert found.tried == rough.tried
    assert found.evaluations > rough.evaluations + 20  # of four searches
    _, alone = weights.chosen(task, rough, [], h, None, 10)
    assert alone.kernel == "matern12"


def test_a_rival_has_the_noise_level_of_all_rows(drawn: tuple[Task, np.ndarray]) -> None:
    """Its own was learned where no row repeats another, and may have vanished there."""
    task, h = drawn
    rough, smooth = first(task, "matern12"), first(task, "se")
    smooth = replace(smooth, values=smooth.values | {"sigma2": np.array(1e-9)})
    _, found = weights.chosen(task, rough, [smooth], h, 1.0, 10)
    assert found.kernel == "se"
    assert found.values["sigma2"] == rough.values["sigma2"]


def test_copies_are_not_learned_from_under_weights(
    drawn: tuple[Task, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the noise level is small their density is all that counts."""
    task, h = drawn
    X, y = (np.concatenate([part, part[:300]]) for part in (task.X, task.y))
    repeated = Task.of(X, y, np.random.default_rng(1), serially)
    learned, bound = [], Task.bound
    monkeypatch.setattr(Task, "bound", lambda *given: learned.append(given[3]) or bound(*given))
    weights.relearned(weights.weighted(repeated, np.append(h, h[:300]), 0.5), first(task, "se"), 2)
    rows = learned[-1]
    assert len(rows) == 1200
    assert rows.min() >= 300
    assert rows.max() < 1500


def test_what_followed_may_not_have_made_it_worse(drawn: tuple[Task, np.ndarray]) -> None:
    task, h = drawn
    plain, alike = first(task, "se"), weights.weighted(task, h, 0.0)
    power, again = weights.chosen(task, plain, [], h, None, 10)
    weighed = weights.weighted(task, h, power)
    assert weights.improved(alike, plain, weighed, again)
    spoilt = replace(again, values=again.values | {"ell": again.values["ell"] / 30.0})
    assert not weights.improved(alike, plain, weighed, spoilt)
