"""Every bound with every kernel: dense values and central differences by each named parameter."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.gp import collapsed, exact, factorised, pic, process, vshgp
from hgpbench.gp.kernels import KERNELS, Families
from hgpbench.gp.process import Process
from hgpbench.gp.tasks import serially
from hgpbench.gp.whitened import Rooted
from hgpbench.la import JITTER, elementwise
from tests.gp import reference
from tests.gp.reference import DEFINITIONS, central_differences, collapsed_values, draw, relative_error

N, M, U = 50, 7, 5
X, Y, FULL = draw(seed=5, n=N)
CONSTANT = collapsed_values(FULL)
EXACT = {name: CONSTANT[name] for name in ("s2_k", "ell", "sigma2")}
FREE = FULL | {"w": np.random.default_rng(6).normal(size=U)}
SPARSE = {name: value for name, value in FULL.items() if name != "lam"}
NAMES = list(KERNELS)
NOISE = dict(zip(NAMES, NAMES[1:] + NAMES[:1], strict=True))
"""The kernel that g has beside each of f: another one, so that neither can be taken for the other."""


def some_q(m: int) -> Rooted:
    rng = np.random.default_rng(m)
    return Rooted.of(0.5 * rng.normal(size=m), np.tril(0.3 * rng.normal(size=(m, m))) + 0.6 * np.eye(m))


Q = {"f": some_q(M).q, "g": some_q(U).q}


def bounds(name: str):
    """Each bound as a function of its values, and the values to look at it at."""
    family, both = KERNELS[name], Families(KERNELS[name], KERNELS[NOISE[name]])
    sparse = Process(N, M, family=family)
    hetero = vshgp.Workspace(N, M, U, families=both)
    batch = factorised.Workspace(N, M, U, families=both)
    blocks = pic.Blocks(X, Y, [0, 20, 35, N], family=family)
    return {
        "vfe": (lambda v: collapsed.bound(v, X, Y, sparse), CONSTANT),
        "fitc": (lambda v: collapsed.bound(v, X, Y, sparse, "fitc"), CONSTANT),
        "vshgp": (lambda v: vshgp.bound(v, X, Y, hetero), FULL),
        "vshgp free": (lambda v: vshgp.bound(v, X, Y, hetero), FREE),
        "factorised": (lambda v: factorised.evaluate(v, Q, X, Y, 900, batch).bound, SPARSE),
        "pic": (blocks.evidence, CONSTANT),
        "exact": (exact.ExactProblem(X, Y, family).evidence, EXACT),
        "exact, large": (exact.LargeExactProblem(X, Y, family).evidence, EXACT),
    }


BOUNDS = list(bounds("se"))


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture(autouse=True)
def many_panels(monkeypatch):
    monkeypatch.setattr(process, "PANEL_BYTES", 1)
    monkeypatch.setattr(exact, "WIDTH", 16)


@pytest.mark.parametrize("which", BOUNDS)
def test_gradients_match_central_differences(name, which):
    bound, values = bounds(name)[which]
    grads = bound(values).grads
    for parameter in values:
        expected = central_differences(bound, values, parameter)
        assert relative_error(grads[parameter], expected) < 1e-6, parameter


@pytest.mark.parametrize("which", ["vfe", "fitc", "vshgp", "factorised", "pic"])
def test_gradients_where_inducing_inputs_are_rows(name, which):
    """There they start. The two sides of a cusp cancel in a central difference, but for some of its step."""
    bound, values = bounds(name)[which]
    values = values | {points: X[: len(values[points])] for points in ("Xm", "Xu") if points in values}
    grads = bound(values).grads
    for parameter in values.keys() - {"lam"}:
        expected = central_differences(bound, values, parameter)
        assert relative_error(grads[parameter], expected) < 1e-4, parameter


def test_values_are_those_of_dense_formulas(name):
    r, kernels = np.full(N, float(CONSTANT["sigma2"])), (DEFINITIONS[name], DEFINITIONS[NOISE[name]])
    expected = {
        "vfe": reference.dense_vfe(CONSTANT, X, Y, r, JITTER, kernels[0]),
        "fitc": reference.dense_fitc(CONSTANT, X, Y, JITTER, kernels[0]),
        "vshgp": reference.dense_bound(FULL, X, Y, JITTER, *kernels),
        "vshgp free": reference.dense_bound(FREE, X, Y, JITTER, *kernels),
    }
    for which, value in expected.items():
        bound, values = bounds(name)[which]
        assert bound(values).value == pytest.approx(value, rel=1e-11), which


def test_all_inducing_points_make_the_exact_gp(name):
    dense, family = CONSTANT | {"Xm": X}, KERNELS[name]
    evidence = exact.ExactProblem(X, Y, family).evidence(EXACT).value
    for kind in ("vfe", "fitc"):
        bound = collapsed.bound(dense, X, Y, Process(N, N, serially, family), kind, jitter=JITTER)
        assert bound.value == pytest.approx(evidence, rel=1e-5)
    alone = pic.Blocks(X, Y, [0, N], family=family).evidence(CONSTANT)
    assert alone.value == pytest.approx(evidence, rel=1e-10)


@pytest.mark.parametrize("which", ["vfe", "fitc", "vshgp", "factorised", "pic", "exact"])
def test_numba_changes_nothing(name, which, monkeypatch):
    bound, values = bounds(name)[which]
    ours = bound(values)
    monkeypatch.setattr(elementwise, "compiled", None)
    plain = bound(values)
    assert plain.value == pytest.approx(ours.value, rel=1e-13)
    for parameter, grad in plain.grads.items():
        assert_allclose(ours.grads[parameter], grad, rtol=1e-9, atol=1e-11 * np.abs(grad).max())
