"""Elementwise passes over kernel matrices: numpy's, or numba's with fewer of them (the extra ``jit``)."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from hgpbench.la.dense import Array, rowdots

compiled: Any = None
if find_spec("numba"):
    from hgpbench.la import compiled


class Outer(NamedTuple):
    """An outer product left right^T, left (n,) and right (m,), with ``along`` = Knm right (n,)."""

    left: Array
    right: Array
    along: Array


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


def exponential(A: Array) -> Array:
    """exp(A) in place of ``A``."""
    if compiled is None or not A.flags.forc:
        return np.exp(A, out=A)
    compiled.exponential(A.ravel(order="K"))
    return A


def scale(V: Array, weights: Array, out: Array) -> Array:
    """diag(weights) V into ``out``, both C-ordered (n, m)."""
    if compiled is None:
        np.einsum("nm,n->nm", V, weights, out=out)  # quicker than broadcasting
    else:
        compiled.scale(V, weights, out)
    return out


def modulate(W: Array, K: Array) -> Array:
    """W * K in place of ``W``, both C-ordered (n, m); returns its row sums (n,)."""
    if compiled is None:
        W *= K
        return W @ np.ones(W.shape[1])
    row_sums = np.empty(len(W))
    compiled.modulate(W, K, row_sums)
    return row_sums


class Terms(NamedTuple):
    """dKnm * Knm = diag(weights) (W * Knm) + outer products * Knm [+ diag(applied) P], for some W (n, m)."""

    weights: Array
    outer: Sequence[Outer]
    P: Array
    applied: Array | None


def add_sums(terms: Terms, rows: slice, W: Array, K: Array, X_aug: Array, out: Array, products: Any) -> Array:
    """Add (dKnm * Knm)^T X_aug of some rows to a Fortran ``out`` (m, d + 2); returns the row sums of W * Knm.

    ``W``, ``K`` and ``X_aug`` are those rows, ``terms`` is of all of them. Uses W up.
    """
    if compiled is not None:
        return _add_woven(terms, rows, W, K, X_aug, out, products)
    # Diagonals scale d + 2 columns of inputs instead of m of W.
    row_sums = modulate(W, K)
    _add_product(W, X_aug * terms.weights[rows, None], out, products)
    if terms.applied is not None:
        _add_product(terms.P[rows], X_aug * terms.applied[rows, None], out, products)
    for left, right, _ in terms.outer:
        part = np.zeros_like(out)
        _add_product(K, X_aug * left[rows, None], part, products)
        out += right[:, None] * part
    return row_sums


def _add_woven(
    terms: Terms, rows: slice, W: Array, K: Array, X_aug: Array, out: Array, products: Any
) -> Array:
    """All terms in one pass and one product."""
    (n, m), row_sums = W.shape, np.empty(len(W))
    scales, rights, P = np.zeros((4, n)), np.zeros((2, m)), K
    scales[0] = terms.weights[rows]
    if terms.applied is not None:
        scales[1], P = terms.applied[rows], terms.P[rows]
    for i, (left, right, _) in enumerate(terms.outer):
        scales[2 + i], rights[i] = left[rows], right
    compiled.weave(W, K, P, scales, rights, row_sums)
    _add_product(W, X_aug, out, products)
    return row_sums


def _add_product(W: Array, X: Array, out: Array, products: Any) -> None:
    """Add W^T X to ``out`` (m, d)."""
    # not numpy's product, which is slow for tall and narrow matrices
    products.dgemm(1.0, W.T, X.T, beta=1.0, c=out, trans_b=True, overwrite_c=True)
