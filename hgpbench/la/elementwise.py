"""Elementwise passes over kernel matrices: numpy's, or numba's with fewer of them (the extra ``jit``).

K (n, m) are covariances and D (n, m) their slopes by squared distance, see ``gp.kernels``. The slopes of the
squared exponential are its covariances: D is then the same array as K, which saves passes.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import NamedTuple

import numpy as np

from hgpbench.la.arrays import Array, rowdots
from hgpbench.la.products import add_transposed_times

compiled: ModuleType | None = None
if find_spec("numba"):
    from hgpbench.la import compiled


def augment(X: Array, shift: Array, ell: Array) -> Array:
    """Rows [x, 1, -|x|^2/2] (n, d + 2), with x = (X - shift) / ell."""
    n, d = X.shape
    out = np.empty((n, d + 2))
    if compiled is not None and X.dtype == np.float64:
        compiled.augment(X, shift, ell, out)
        return out
    scaled = np.subtract(X, shift, out=out[:, :d])
    scaled /= ell
    out[:, d] = 1.0
    np.multiply(rowdots(scaled, scaled), -0.5, out=out[:, d + 1])
    return out


def exp_(A: Array) -> Array:
    """exp(A) in place of ``A``."""
    if compiled is None or not A.flags.forc:
        return np.exp(A, out=A)
    compiled.exponential(A.ravel(order="K"))
    return A


def scale_rows(V: Array, weights: Array, *, out: Array) -> Array:
    """diag(weights) V into ``out``, both C-ordered (n, m)."""
    if compiled is None:
        np.einsum("nm,n->nm", V, weights, out=out)  # quicker than broadcasting
    else:
        compiled.scale(V, weights, out)
    return out


def modulate(W: Array, K: Array, D: Array) -> Array:
    """W * D in place of ``W``, all C-ordered (n, m); returns the row sums of W * K (n,)."""
    if D is not K:
        row_sums = rowdots(W, K)
        W *= D
        return row_sums
    if compiled is None:
        W *= K
        return W @ np.ones(W.shape[1])
    row_sums = np.empty(len(W))
    compiled.modulate(W, K, row_sums)
    return row_sums


class Outer(NamedTuple):
    """An outer product left right^T, left (n,) and right (m,)."""

    left: Array
    right: Array


class Terms(NamedTuple):
    """dK = diag(weights) W + outer products [+ diag(applied) P'], for some W (n, m), and P = P' * D."""

    weights: Array
    outer: Sequence[Outer]
    P: Array
    applied: Array | None


class Panel(NamedTuple):
    """Some ``rows`` of K, of D and of the inputs, augmented (see ``augment``)."""

    rows: slice
    K: Array
    D: Array
    X_aug: Array


def add_sums(terms: Terms, panel: Panel, W: Array, out: Array, slope_sums: Array) -> Array:
    """Add (dK * D)^T X_aug of some rows to a Fortran ``out`` (m, d + 2); returns the row sums of W * K.

    ``W`` is of those rows and used up, ``terms`` are of all. Where D is not K, ``slope_sums`` get the row
    sums of dK * D; where it is, they follow from what is returned.
    """
    rows, K, D, X_aug = panel
    if compiled is not None and D is K:
        return _add_woven(compiled, terms, panel, W, out)
    # Diagonals scale d + 2 columns of inputs instead of m of W.
    row_sums = modulate(W, K, D)
    parts = [(W, terms.weights[rows])]
    if terms.applied is not None:
        parts.append((terms.P[rows], terms.applied[rows]))
    for A, weights in parts:
        add_transposed_times(A, X_aug * weights[:, None], out=out)
    for left, right in terms.outer:
        out += right[:, None] * add_transposed_times(D, X_aug * left[rows, None], out=np.zeros_like(out))
    if D is not K:
        slope_sums[rows] = sum(weights * A.sum(axis=1) for A, weights in parts)
        for left, right in terms.outer:
            slope_sums[rows] += left[rows] * (D @ right)
    return row_sums


def _add_woven(compiled: ModuleType, terms: Terms, panel: Panel, W: Array, out: Array) -> Array:
    """All terms in one pass and one product."""
    rows, K, _, X_aug = panel
    (n, m), row_sums = W.shape, np.empty(len(W))
    scales, rights, P = np.zeros((4, n)), np.zeros((2, m)), K
    scales[0] = terms.weights[rows]
    if terms.applied is not None:
        scales[1], P = terms.applied[rows], terms.P[rows]
    for i, (left, right) in enumerate(terms.outer):
        scales[2 + i], rights[i] = left[rows], right
    compiled.weave(W, K, P, scales, rights, row_sums)
    add_transposed_times(W, X_aug, out=out)
    return row_sums
