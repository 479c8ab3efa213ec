"""Every bound with a kernel whose slopes are not its covariances: dense values and central differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.gp import collapsed, exact, factorised, pic, process, vshgp
from hgpbench.gp.process import Process
from hgpbench.gp.whitened import Rooted
from hgpbench.la import JITTER, elementwise
from tests.gp import reference
from tests.gp.reference import central_differences, collapsed_values, draw, relative_error
from tests.gp.rough import Matern32, matern32

X, Y, FULL = draw(seed=5, n=150)
CONSTANT = collapsed_values(FULL)
EXACT = {name: CONSTANT[name] for name in ("s2_k", "ell", "sigma2")}
FREE = FULL | {"w": np.random.default_rng(6).normal(size=5)}
SPARSE = {name: value for name, value in FULL.items() if name != "lam"}


def some_q(m: int) -> Rooted:
    rng = np.random.default_rng(m)
    return Rooted.of(0.5 * rng.normal(size=m), np.tril(0.3 * rng.normal(size=(m, m))) + 0.6 * np.eye(m))


Q = {"f": some_q(7).q, "g": some_q(5).q}
BOUNDS = {
    "vfe": (lambda v: collapsed.bound(v, X, Y, Process(150, 7)), CONSTANT),
    "fitc": (lambda v: collapsed.bound(v, X, Y, Process(150, 7), "fitc"), CONSTANT),
    "vshgp": (lambda v: vshgp.bound(v, X, Y, vshgp.Workspace(150, 7, 5)), FULL),
    "vshgp free": (lambda v: vshgp.bound(v, X, Y, vshgp.Workspace(150, 7, 5)), FREE),
    "factorised": (
        lambda v: factorised.evaluate(v, Q, X, Y, 900, factorised.Workspace(150, 7, 5)).bound,
        SPARSE,
    ),
    "pic": (lambda v: pic.Blocks(X, Y, [0, 40, 90, 150]).evidence(v), CONSTANT),
    "exact": (exact.ExactProblem(X, Y).evidence, EXACT),
    "exact, large": (exact.LargeExactProblem(X, Y).evidence, EXACT),
}
CASES = [(name, parameter) for name, (_, values) in BOUNDS.items() for parameter in values]


@pytest.fixture(autouse=True)
def rough(monkeypatch):
    """Matern 3/2 wherever a bound makes a kernel, and many panels."""
    for module in (collapsed, vshgp, factorised, pic, exact):
        monkeypatch.setattr(module, "SEARD", Matern32)
    monkeypatch.setattr(reference, "kernel", matern32)
    monkeypatch.setattr(process, "PANEL_BYTES", 1)


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_gradient_matches_central_differences(name, parameter):
    bound, values = BOUNDS[name]
    grad = bound(values).grads[parameter]
    assert relative_error(grad, central_differences(bound, values, parameter)) < 1e-6


def test_values_are_those_of_dense_formulas():
    r = np.full(len(Y), float(CONSTANT["sigma2"]))
    expected = {
        "vfe": reference.dense_vfe(CONSTANT, X, Y, r, JITTER),
        "fitc": reference.dense_fitc(CONSTANT, X, Y, JITTER),
        "vshgp": reference.dense_bound(FULL, X, Y, JITTER),
        "vshgp free": reference.dense_bound(FREE, X, Y, JITTER),
    }
    for name, value in expected.items():
        bound, values = BOUNDS[name]
        assert bound(values).value == pytest.approx(value, rel=1e-11), name


def test_all_inducing_points_make_the_exact_gp():
    dense = CONSTANT | {"Xm": X}
    evidence = exact.ExactProblem(X, Y).evidence(EXACT).value
    for kind in ("vfe", "fitc"):
        bound = collapsed.bound(dense, X, Y, Process(150, 150), kind, jitter=JITTER)
        assert bound.value == pytest.approx(evidence, rel=1e-5)
    assert pic.Blocks(X, Y, [0, 150]).evidence(CONSTANT).value == pytest.approx(evidence, rel=1e-10)


@pytest.mark.parametrize("name", ["vfe", "fitc", "vshgp"])
def test_numba_changes_nothing(name, monkeypatch):
    bound, values = BOUNDS[name]
    ours = bound(values)
    monkeypatch.setattr(elementwise, "compiled", None)
    plain = bound(values)
    assert plain.value == pytest.approx(ours.value, rel=1e-13)
    for parameter, grad in plain.grads.items():
        assert_allclose(ours.grads[parameter], grad, rtol=1e-9, atol=1e-11 * np.abs(grad).max())
