"""What a latent process keeps from one step to the next, and when it must not."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp import collapsed, noise, process, vshgp
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.process import Outer, Process, Projected
from hgpbench.gp.tasks import serially
from tests.gp.reference import relative_error

N, M = 30, 8
RNG = np.random.default_rng(0)
X, WEIGHTS = RNG.normal(size=(N, 2)), RNG.uniform(0.5, 2.0, N)
KERNEL = SEARD(1.3, np.array([0.8, 1.1]))


def projected(kernel=KERNEL, memory=None) -> Projected:
    return (memory or Process(N, M)).project(kernel.s2_k, kernel.ell, X, X[:M])


@pytest.fixture
def grams(monkeypatch):
    """How often V^T diag(weights) V was formed."""
    calls, gram = [], Projected.gram

    def counted(self, weights, *, out):
        calls.append(weights)
        return gram(self, weights, out=out)

    monkeypatch.setattr(Projected, "gram", counted)
    return calls


def test_the_same_weights_are_conditioned_on_once(grams):
    f = projected()
    first = f.condition(WEIGHTS).explained()
    assert_array_equal(f.condition(WEIGHTS.copy()).explained(), first)
    assert len(grams) == 1


def test_factors_grow_into_conditions(grams):
    f = projected()
    explained = f.factor(WEIGHTS).explained()
    assert_allclose(f.condition(WEIGHTS).explained(), explained, rtol=1e-9)
    assert len(grams) == 1
    f.factor(2.0 * WEIGHTS)
    assert len(grams) == 2
    assert_array_equal(
        f.condition(2.0 * WEIGHTS).explained(), projected().condition(2.0 * WEIGHTS).explained()
    )


def test_nothing_outlives_its_last_user():
    """No cycle keeps large arrays until the collector comes: it counts objects, not bytes."""
    gc.disable()
    try:
        f = projected()
        y = np.sin(X[:, 0])
        collapsed.evaluate(f, WEIGHTS, y)
        noise.moments(f.condition(WEIGHTS), -1.0)
        watched = weakref.ref(f)
        del f
        assert watched() is None
    finally:
        gc.enable()


def test_explained_variances():
    f = projected()
    B = np.eye(M) + f.V.T @ (WEIGHTS[:, None] * f.V)
    expected = np.diag(f.V @ (np.eye(M) - np.linalg.inv(B)) @ f.V.T)
    assert_allclose(f.factor(WEIGHTS).explained(), expected, rtol=1e-11)
    assert_allclose(f.condition(WEIGHTS).explained(), expected, rtol=1e-9)
    assert f.factor(WEIGHTS).trace_B == pytest.approx(np.trace(B), rel=1e-13)
    assert f.factor(WEIGHTS).logdet_B == pytest.approx(np.linalg.slogdet(B)[1], rel=1e-12)
    assert_allclose(f.factor(WEIGHTS).solve(np.arange(M)), np.linalg.solve(B, np.arange(M)), rtol=1e-10)


def test_weights_that_changed_in_place_are_other_weights():
    f, weights = projected(), WEIGHTS.copy()
    before = f.factor(weights).logdet_B
    weights[3] *= 2.0
    assert f.factor(weights).logdet_B == projected().factor(weights).logdet_B != before


def test_another_kernel_or_other_weights_between_are_seen():
    other, memory = SEARD(0.7, np.array([1.5, 0.6])), Process(N, M)
    f = projected(memory=memory)
    f.condition(WEIGHTS)
    f.condition(2.0 * WEIGHTS)
    assert f.factor(WEIGHTS).logdet_B == projected().factor(WEIGHTS).logdet_B
    again = projected(other, memory)
    assert again.factor(WEIGHTS).logdet_B == projected(other).factor(WEIGHTS).logdet_B


@pytest.mark.parametrize("way_back", ["vfe", "fitc", "noise"])
def test_what_the_way_back_uses_up_is_made_again(way_back):
    y = np.sin(X[:, 0])

    def there_and_back(f):
        if way_back == "noise":
            g = f.condition(WEIGHTS)
            q = noise.moments(g, -1.0)
            return noise.pullback(g, -1.0, q, 0.1 * y, WEIGHTS, tied=True).grad.dZ
        return collapsed.evaluate(f, WEIGHTS, y, way_back).grad.dZ

    f = projected()
    first = there_and_back(f)
    assert_array_equal(there_and_back(f), first)


def test_a_way_back_is_taken_once_and_in_order():
    f, outer = projected(), Outer(np.zeros(N), np.zeros(M), np.zeros(N), np.zeros(M))
    back = f.condition(WEIGHTS)
    with pytest.raises(RuntimeError, match="explained variances come first"):
        back.pull_moments(WEIGHTS, [outer])
    back.pull_weighted(outer, 0.0)
    with pytest.raises(RuntimeError, match="used up"):
        back.pull_weighted(outer, 0.0)


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
    projection = vshgp.project(values, X, workspace)
    step = vshgp.refine(values, y, projection)
    state = vshgp.differentiate(values | {"lam": step.lam, "w": step.w}, y, projection)
    fitc = collapsed.evaluate(projection.f, np.full(len(y), 0.2), y, "fitc")
    moments = fitc.factored.posterior(fitc.alpha).moments(X, run=run)
    grads = [np.atleast_1d(grad) for grad in state.bound.grads.values()]
    scalars = np.array([step.value, state.bound.value, fitc.value])
    return len(workspace.f.shares), [scalars, step.lam, step.w, *grads, fitc.t, fitc.grad.dZ, *moments]


def test_many_panels_are_dealt_out_to_shares_and_threads_change_no_bit(monkeypatch):
    shares, unbroken = everything()
    assert shares == 1
    monkeypatch.setattr(process, "PANEL_BYTES", 1)  # the fewest rows
    shares, dealt = everything()
    assert shares == 5  # 22 panels, no fewer than four a share
    for result, expected in zip(dealt, unbroken, strict=True):
        assert relative_error(result, expected) < 1e-11
    with ThreadPoolExecutor(3) as pool:
        _, together = everything(lambda tasks: [None for _ in pool.map(lambda task: task(), tasks)])
    for result, expected in zip(together, dealt, strict=True):
        assert_array_equal(result, expected)
