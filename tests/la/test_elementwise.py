"""Elementwise passes: numpy's and numba's find the same, and what a plain formula finds."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp import vshgp
from hgpbench.la import elementwise
from hgpbench.la.elementwise import Outer, Panel, RowSums, Terms

COMPILED = elementwise.compiled
needs_numba = pytest.mark.skipif(COMPILED is None, reason="the extra 'jit' is not installed")
EPS = np.finfo(float).eps


@pytest.fixture(params=["numpy", pytest.param("numba", marks=needs_numba)])
def way(request, monkeypatch):
    monkeypatch.setattr(elementwise, "compiled", COMPILED if request.param == "numba" else None)
    return request.param


@pytest.mark.parametrize("kind", ["C", "F", "sliced", "read-only", "unaligned", "float32"])
def test_augment(way, kind):
    rng = np.random.default_rng(4)
    X, shift, ell = rng.normal(size=(23, 3)), rng.normal(size=3), rng.uniform(0.5, 2.0, 6)[::2]
    if kind == "sliced":
        X = np.repeat(X, 2, axis=0)[::2]
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "unaligned":
        X = np.frombuffer(b"x" + X.tobytes(), dtype=np.float64, offset=1).reshape(23, 3)
        ell.flags.writeable = shift.flags.writeable = False
    else:
        X = np.asarray(X, order="F" if kind == "F" else "C")
        X.flags.writeable = kind != "read-only"
    scaled = (X.astype(np.float64) - shift) / ell
    found = elementwise.augment(X, shift, ell)
    assert found.flags.c_contiguous
    assert_allclose(found[:, :3], scaled, rtol=2 * EPS)
    assert_array_equal(found[:, 3], 1.0)
    assert_allclose(found[:, 4], -0.5 * (scaled**2).sum(axis=1), rtol=8 * EPS)


@pytest.mark.parametrize("order", ["C", "F"])
def test_exponential_is_exact_to_two_units(way, order):
    x = np.concatenate([np.linspace(-708.0, 708.0, 9973), np.linspace(-1.0, 1.0, 2027)])
    A = np.asarray(x.reshape(120, 100), order=order)
    exact = np.exp(A.astype(np.longdouble))
    assert elementwise.exp_(A) is A
    assert np.abs(A / exact - 1).max() < 2 * EPS


def test_exponential_of_what_lies_outside(way):
    A = np.array([0.0, -0.0, -1e5, -np.inf, np.nan, 1e5, np.inf])
    with np.errstate(over="ignore"):
        elementwise.exp_(A)
    assert_array_equal(A[:2], 1.0)
    assert_allclose(A[2:4], 0.0, atol=1e-300)
    assert np.isnan(A[4])
    assert (A[5:] > 1e300).all()


def test_exponential_of_a_slice_leaves_the_rest_alone(way):
    A = np.ones((4, 6))
    elementwise.exp_(A[:, 1:3])
    expected = np.ones((4, 6))
    expected[:, 1:3] = np.e
    assert_allclose(A, expected, rtol=2 * EPS)


def test_scale(way):
    rng = np.random.default_rng(3)
    V, weights, out = rng.normal(size=(9, 37)), rng.normal(size=9), np.full((9, 37), np.nan)
    assert elementwise.scale_rows(V, weights, out=out) is out
    assert_array_equal(out, weights[:, None] * V)


@pytest.mark.parametrize("own", [False, True], ids=["slopes are covariances", "slopes of their own"])
def test_modulate(way, own):
    rng = np.random.default_rng(0)
    W, K, D = rng.normal(size=(3, 9, 37))
    D = D if own else K
    sums, expected = (W * K).sum(axis=1), W * D
    covariances, slopes = elementwise.modulate(W, K, D)
    assert_allclose(covariances, sums, rtol=1e-13, atol=1e-13)
    assert_allclose(slopes, expected.sum(axis=1), rtol=1e-13, atol=1e-13)
    assert_array_equal(W, expected)


@pytest.mark.parametrize("own", [False, True], ids=["slopes are covariances", "slopes of their own"])
def test_sums_of_single_precision_are_double(way, own):
    rng = np.random.default_rng(0)
    W, K, D = rng.normal(size=(3, 9, 37)).astype(np.float32)
    expected = (W.astype(float) * K).sum(axis=1)
    covariances, slopes = elementwise.modulate(W, K, D if own else K)
    assert covariances.dtype == slopes.dtype == np.float64
    assert_allclose(covariances, expected, rtol=1e-6, atol=1e-6)


def test_modulate_symmetric_reads_the_lower_triangle(way):
    rng = np.random.default_rng(5)
    W, K, D = (np.asfortranarray(A + A.T) for A in rng.normal(size=(3, 17, 17)))
    total, expected = np.vdot(W, K), np.tril(W * D)
    W[np.triu_indices(17, 1)] = np.nan
    assert elementwise.modulate_symmetric(W, K, D) == pytest.approx(total, rel=1e-13)
    assert_array_equal(np.tril(W), expected)


DECAYS = {"rough": (1.0, 0.0, 0.0), "once smooth": (3.0, 1.0, 0.0), "twice smooth": (5.0, 1.0, 1.0 / 3.0)}


def decay(A, size, scale, c1, c2):
    r = np.sqrt(-2.0 * scale * A)
    return size * (1.0 + c1 * r + c2 * r**2) * np.exp(-r)


@pytest.mark.parametrize("kind", DECAYS)
@pytest.mark.parametrize("order", ["C", "F", "sliced"])
def test_decay_and_its_slopes(way, kind, order):
    A = -np.random.default_rng(6).uniform(0.01, 20.0, (12, 37))
    step = 1e-6
    slopes = (decay(A + step, 1.3, *DECAYS[kind]) - decay(A - step, 1.3, *DECAYS[kind])) / (2 * step)
    found = np.repeat(A, 2, axis=0)[::2] if order == "sliced" else A.copy(order=order)
    alone, D = found.copy(order="K"), np.empty_like(found)
    assert elementwise.decay_(found, 1.3, *DECAYS[kind], D) is found
    assert elementwise.decay_(alone, 1.3, *DECAYS[kind]) is alone
    assert_allclose(found, decay(A, 1.3, *DECAYS[kind]), rtol=20 * EPS)
    assert_allclose(alone, found, rtol=4 * EPS)
    assert_allclose(D, slopes, rtol=1e-7)


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.0), (1.0, 0.0), (1.0, 1 / 3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_large_matrix_is_the_same_by_pieces(way, c1, c2, order):
    """Numpy's form goes piece by piece; the last one is short."""
    A = np.asarray(-np.random.default_rng(3).uniform(0, 4, size=(3 * 61, 137)), order=order)
    whole, slopes = A.copy(order="K"), np.empty_like(A)
    elementwise.decay_(whole, 1.7, 3.0, c1, c2, slopes)
    for part in (slice(0, 61), slice(61, 122), slice(122, 183)):
        found, rates = A[part].copy(), np.empty_like(A[part].copy())
        elementwise.decay_(found, 1.7, 3.0, c1, c2, rates)
        assert_allclose(whole[part], found, rtol=1e-14)
        assert_allclose(slopes[part], rates, rtol=1e-14)
    assert A.size > 2 * elementwise.PIECE


@pytest.mark.parametrize("kind", DECAYS)
def test_decay_at_its_ends(way, kind):
    """A distance of zero, or below by round-off; far and infinitely far; not a number."""
    A = np.array([0.0, 1e-15, -1e5, -1e300, -np.inf, np.nan])
    D = np.empty_like(A)
    elementwise.decay_(A, 1.3, *DECAYS[kind], D)
    assert_array_equal(A[:2], 1.3)
    assert_array_equal(D[:2], 0.0 if kind == "rough" else D[0])
    assert np.isfinite(D[:5]).all()
    assert_allclose(A[2:5], 0.0, atol=1e-150)
    assert_allclose(D[2:5], 0.0, atol=1e-150)
    assert np.isnan(A[5])
    assert np.isnan(D[5])


@pytest.mark.parametrize("n_outer", [0, 1, 2])
@pytest.mark.parametrize("with_applied", [False, True])
@pytest.mark.parametrize("own", [False, True], ids=["slopes are covariances", "slopes of their own"])
def test_add_sums(way, own, n_outer, with_applied):
    rng = np.random.default_rng(1)
    n, m, rows = 23, 37, slice(5, 18)
    W, K, D, P = rng.normal(size=(4, n, m))
    D = D if own else K
    X_aug, start = rng.normal(size=(n, 4)), np.asfortranarray(rng.normal(size=(m, 4)))
    weights, applied = rng.normal(size=(2, n))
    weights.flags.writeable = False  # as parameters may be
    outer = [Outer(rng.normal(size=n), rng.normal(size=m)) for _ in range(n_outer)]
    dense = (weights[:, None] * W + sum(np.outer(left, right) for left, right in outer)) * D
    if with_applied:
        dense += applied[:, None] * P
    terms = Terms(weights, outer, P, applied if with_applied else None)
    sums, expected = start.copy(order="F"), start + dense[rows].T @ X_aug[rows]
    K_rows = K[rows]
    panel = Panel(rows, K_rows, D[rows] if own else K_rows, X_aug[rows])
    found = RowSums(*np.full((3, n), np.nan))
    elementwise.add_sums(terms, panel, W[rows].copy(), sums, found)
    assert_allclose(found.covariances[rows], (W * K)[rows].sum(axis=1), rtol=1e-13, atol=1e-13)
    assert_allclose(sums, expected, rtol=1e-13, atol=1e-13)
    if own:
        outer_sums = (sum((np.outer(left, right) for left, right in outer), np.zeros((n, m))) * K).sum(axis=1)
        assert_allclose(found.outer[rows], outer_sums[rows], rtol=1e-13, atol=1e-13)
        assert_allclose(found.slopes[rows], dense[rows].sum(axis=1), rtol=1e-13, atol=1e-13)
    assert np.isnan(found.covariances[: rows.start]).all()


@needs_numba
@pytest.mark.parametrize("free", [False, True])
def test_the_bound_is_the_same_either_way(monkeypatch, free):
    rng = np.random.default_rng(2)
    n, m, d = 150, 40, 5
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    values = {
        "s2_kf": np.asarray(1.3),
        "ell_f": rng.uniform(1.0, 2.0, d),
        "Xm": X[:m],
        "s2_kg": np.asarray(0.6),
        "ell_g": rng.uniform(1.0, 2.0, d),
        "Xu": X[-m:],
        "mu0": np.asarray(-1.0),
        "lam": rng.uniform(0.3, 0.7, n),
    }
    if free:
        values["w"] = rng.normal(size=m)
    ours = vshgp.bound(values, X, y, vshgp.Workspace(n, m, m))
    monkeypatch.setattr(elementwise, "compiled", None)
    plain = vshgp.bound(values, X, y, vshgp.Workspace(n, m, m))
    assert_allclose(ours.value, plain.value, rtol=1e-13)
    for name, grad in plain.grads.items():
        assert_allclose(ours.grads[name], grad, rtol=1e-9, atol=1e-11 * np.abs(grad).max(), err_msg=name)


@needs_numba
def test_numba_without_a_folder_to_cache_in(tmp_path):
    """Compiled anew where nothing can be kept: nobody can write below a file."""
    (tmp_path / "file").touch()
    code = "from hgpbench.la import elementwise; import numpy as np; print(elementwise.exp_(np.zeros(3)))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file" / "folder")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[1. 1. 1.]"
