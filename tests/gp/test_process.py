"""What a latent process keeps from one call to the next, and when it must not."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp import collapsed, noise, process, vshgp
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.process import Process
from hgpbench.gp.tasks import serially
from tests.gp.reference import relative_error

N, M = 30, 8
RNG = np.random.default_rng(0)
X, WEIGHTS = RNG.normal(size=(N, 2)), RNG.uniform(0.5, 2.0, N)
KERNEL = SEARD(1.3, np.array([0.8, 1.1]))


def projected(kernel=KERNEL) -> Process:
    process = Process(N, M)
    process.project(kernel, X, X[:M])
    return process


@pytest.fixture
def grams(monkeypatch):
    """How often V^T diag(weights) V was formed."""
    calls, gram = [], Process.gram

    def counted(self, weights, out):
        calls.append(weights)
        return gram(self, weights, out)

    monkeypatch.setattr(Process, "gram", counted)
    return calls


def test_the_same_weights_are_conditioned_on_once(grams):
    process = projected()
    first = process.condition(WEIGHTS)
    assert process.condition(WEIGHTS.copy()) == first
    assert len(grams) == 1


def test_factors_grow_into_conditions(grams):
    process, other = projected(), projected()
    assert process.factor(WEIGHTS) == process.condition(WEIGHTS) == process.factor(WEIGHTS)
    assert len(grams) == 1
    other.condition(WEIGHTS)
    assert_array_equal(process.M, other.M)
    process.factor(2.0 * WEIGHTS)
    process.condition(2.0 * WEIGHTS)
    assert not np.array_equal(process.M, other.M)


def test_explained_variances():
    process = projected()
    process.condition(WEIGHTS)
    V = process.V
    B = np.eye(M) + V.T @ (WEIGHTS[:, None] * V)
    expected = np.diag(V @ (np.eye(M) - np.linalg.inv(B)) @ V.T)
    assert_allclose(process.explained(), expected, rtol=1e-11)
    assert_allclose(process.apply(process.M), expected, rtol=1e-9)


def test_weights_that_changed_in_place_are_other_weights():
    process, weights = projected(), WEIGHTS.copy()
    before = process.condition(weights)
    weights[3] *= 2.0
    assert process.condition(weights) == projected().condition(weights) != before


def test_another_kernel_or_other_weights_between_are_seen():
    other = SEARD(0.7, np.array([1.5, 0.6]))
    process = projected()
    process.condition(WEIGHTS)
    process.condition(2.0 * WEIGHTS)
    assert process.condition(WEIGHTS) == projected().condition(WEIGHTS)
    process.project(other, X, X[:M])
    assert process.condition(WEIGHTS) == projected(other).condition(WEIGHTS)


@pytest.mark.parametrize("way_back", ["vfe", "fitc", "noise"])
def test_what_the_way_back_uses_up_is_made_again(way_back):
    y = np.sin(X[:, 0])

    def there_and_back(process):
        if way_back == "noise":
            q = noise.moments(process, WEIGHTS, -1.0)
            return noise.pullback(process, WEIGHTS, -1.0, q, 0.1 * y, WEIGHTS, tied=True).grad.dZ
        return collapsed.evaluate(process, WEIGHTS, y, way_back).grad.dZ

    process = projected()
    first = there_and_back(process)
    assert_array_equal(there_and_back(process), first)


def many_rows():
    rng = np.random.default_rng(1)
    n, m, d = 700, 9, 3
    X = rng.normal(size=(n, d))
    values = {
        "s2_kf": np.asarray(1.3), "ell_f": rng.uniform(0.8, 1.5, d), "Xm": X[:m].copy(),
        "s2_kg": np.asarray(0.6), "ell_g": rng.uniform(0.8, 1.5, d), "Xu": X[-m:].copy(),
        "mu0": np.asarray(-1.0), "lam": rng.uniform(0.3, 0.7, n), "w": rng.normal(size=m),
    }  # fmt: skip
    return values, X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)


def everything(run=serially):
    """A natural step, the bound and its gradient after it, FITC's, and predictions."""
    values, X, y = many_rows()
    workspace = vshgp.Workspace(len(X), 9, 9, run)
    vshgp.project(values, X, workspace)
    step = vshgp.refine(values, y, workspace)
    state = vshgp.differentiate(values | {"lam": step.lam, "w": step.w}, y, workspace)
    fitc = collapsed.evaluate(workspace.f, np.full(len(y), 0.2), y, "fitc")
    moments = workspace.f.posterior(fitc.alpha).moments(X, run=run)
    grads = [np.atleast_1d(grad) for grad in state.bound.grads.values()]
    scalars = np.array([step.value, state.bound.value, fitc.value])
    return len(workspace.f._shards), [scalars, step.lam, step.w, *grads, fitc.t, fitc.grad.dZ, *moments]


def test_many_panels_are_dealt_out_to_shards_and_threads_change_no_bit(monkeypatch):
    shards, unbroken = everything()
    assert shards == 1
    monkeypatch.setattr(process, "PANEL_BYTES", 1)  # the fewest rows
    shards, dealt = everything()
    assert shards == 5  # 22 panels, no fewer than four a shard
    for found, expected in zip(dealt, unbroken, strict=True):
        assert relative_error(found, expected) < 1e-11
    with ThreadPoolExecutor(3) as pool:
        _, together = everything(lambda tasks: [None for _ in pool.map(lambda task: task(), tasks)])
    for found, expected in zip(together, dealt, strict=True):
        assert_array_equal(found, expected)
