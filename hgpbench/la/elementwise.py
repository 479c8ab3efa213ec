"""Elementwise passes over kernel matrices: numpy's, or numba's with fewer of them (the extra ``jit``).

K (n, m) are covariances and D (n, m) their slopes by squared distance, see ``gp.kernels``. The slopes of the
squared exponential are its covariances: D is then the same array as K, which saves passes.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import NamedTuple

import numpy as np

from hgpbench.la.arrays import Array, diagonal, rowdots
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


def decay_(A: Array, size: float, scale: float, c1: float, c2: float, D: Array | None = None) -> Array:
    """size (1 + c1 r + c2 r^2) exp(-r) with r = sqrt(-2 scale A) in place of ``A``; its slopes go to ``D``.

    Slopes are derivatives by A; where they have a pole, at r = 0 unless c1 is one, they are zero. ``D`` is
    memory in the order of ``A``.
    """
    if compiled is None or not A.flags.forc:
        return _decay(A, size, scale, c1, c2, D)
    if D is None:
        compiled.decay(A.ravel(order="K"), size, scale, c1, c2)
    else:
        both = compiled.decay_with_slopes if c1 == 1.0 else compiled.decay_with_pole
        both(A.ravel(order="K"), D.ravel(order="K"), size, scale, c1, c2)
    return A


FAR = 1e3  # an argument beyond which exp(-r) is zero, and so are its products with powers of r
PIECE = 8_192  # numbers at a time, so that passes over them find them in the cache


def _decay(A: Array, size: float, scale: float, c1: float, c2: float, D: Array | None) -> Array:
    """The same by numpy."""
    if not A.flags.forc:
        _decay_piece(A, size, scale, c1, c2, D)
        return A
    flat, slopes = A.ravel(order="K"), None if D is None else D.ravel(order="K")
    for start in range(0, flat.size, PIECE):
        piece = slice(start, start + PIECE)
        _decay_piece(flat[piece], size, scale, c1, c2, None if slopes is None else slopes[piece])
    return A


def _decay_piece(A: Array, size: float, scale: float, c1: float, c2: float, D: Array | None) -> None:
    A *= -2.0 * scale
    np.maximum(A, 0.0, out=A)
    np.sqrt(A, out=A)
    r = np.minimum(A, FAR, out=A)
    e = np.negative(r, out=D)
    np.exp(e, out=e)
    e *= size
    if D is not None:
        slopes = _slopes(r, c1, c2)
    if c1 == 0.0:
        A[...] = e
    else:
        powers = c1 * r if c2 == 0.0 else r * (c1 + c2 * r)
        powers += 1.0
        np.multiply(powers, e, out=A)
    if D is not None:
        slopes *= scale
        D *= slopes


def _slopes(r: Array, c1: float, c2: float) -> Array:
    """Those of (1 + c1 r + c2 r^2) exp(-r), by -r^2 / 2, over exp(-r)."""
    if c2 == 0.0 and c1 == 1.0:
        return np.ones(1)
    if c2 == 0.0 and c1 == 0.0:
        return np.divide(1.0, r, out=np.zeros_like(r), where=r > 0.0)
    slopes = c1 - 2.0 * c2 + c2 * r
    if c1 != 1.0:
        pole = r == 0.0
        slopes += (1.0 - c1) / np.where(pole, np.inf, r)
        slopes[pole] = 0.0
    return slopes


def scale_rows(V: Array, weights: Array, *, out: Array) -> Array:
    """diag(weights) V into ``out``, both C-ordered (n, m)."""
    if compiled is None:
        np.einsum("nm,n->nm", V, weights, out=out)  # quicker than broadcasting
    else:
        compiled.scale(V, weights, out)
    return out


def modulate(W: Array, K: Array, D: Array) -> tuple[Array, Array]:
    """W * D in place of ``W``, all C-ordered (n, m); returns the row sums of W * K and of W * D, each (n,).

    Matrices may be of single precision; sums are not.
    """
    if compiled is None or W.dtype != np.float64:
        return _modulate(W, K, D)
    if D is K:
        row_sums = np.empty(len(W))
        compiled.modulate(W, K, row_sums)
        return row_sums, row_sums
    both = np.empty((2, len(W)))
    compiled.modulate_apart(W, K, D, both)
    return both[0], both[1]


def _modulate(W: Array, K: Array, D: Array) -> tuple[Array, Array]:
    """The same by numpy."""
    covariances = slopes = np.empty(len(W))
    if D is not K:
        slopes = np.empty(len(W))
        if W.dtype == np.float64:
            covariances[...] = rowdots(W, K)
        else:
            np.sum(W * K, axis=1, dtype=np.float64, out=covariances)
    W *= D
    np.sum(W, axis=1, dtype=np.float64, out=slopes)
    return covariances, slopes


def modulate_symmetric(W: Array, K: Array, D: Array) -> float:
    """W * D in the lower triangle of ``W``, symmetric, all Fortran-ordered; returns the sum of W * K."""
    if compiled is None:
        total = 2.0 * float(np.vdot(np.tril(W, -1), K)) + float(diagonal(W) @ diagonal(K))
        W *= D
        return total
    row_sums = np.empty(len(W))
    compiled.modulate_symmetric(W.T, K.T, D.T, row_sums)
    return float(row_sums.sum())


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


class RowSums(NamedTuple):
    """Sums of rows (n,): of W * K, of outer products * K, and of dK * D; the latter two where D is not K."""

    covariances: Array
    outer: Array
    slopes: Array


def add_sums(terms: Terms, panel: Panel, W: Array, out: Array, sums: RowSums) -> None:
    """Add (dK * D)^T X_aug of some rows to a Fortran ``out`` (m, d + 2), and fill in ``sums`` of the rows.

    ``W`` is of those rows and used up, ``terms`` are of all.
    """
    rows, K, D, X_aug = panel
    if compiled is not None:
        _add_woven(compiled, terms, panel, W, out, sums)
        return
    # Diagonals scale d + 2 columns of inputs instead of m of W.
    sums.covariances[rows], row_sums = modulate(W, K, D)
    parts, slopes = [(W, terms.weights[rows])], [terms.weights[rows] * row_sums]
    if terms.applied is not None:
        P, applied = terms.P[rows], terms.applied[rows]
        parts.append((P, applied))
        if D is not K:
            slopes.append(applied * P.sum(axis=1))
    for A, weights in parts:
        add_transposed_times(A, X_aug * weights[:, None], out=out)
    for left, right in terms.outer:
        out += right[:, None] * add_transposed_times(D, X_aug * left[rows, None], out=np.zeros_like(out))
    if D is not K:
        sums.slopes[rows] = sum(slopes)
        sums.outer[rows] = 0.0
        for left, right in terms.outer:
            sums.slopes[rows] += left[rows] * (D @ right)
            sums.outer[rows] += left[rows] * (K @ right)


def _add_woven(compiled: ModuleType, terms: Terms, panel: Panel, W: Array, out: Array, sums: RowSums) -> None:
    """All terms in one pass and one product."""
    rows, K, D, X_aug = panel
    n, m = W.shape
    scales, rights, P = np.zeros((4, n)), np.zeros((2, m)), K
    scales[0] = terms.weights[rows]
    if terms.applied is not None:
        scales[1], P = terms.applied[rows], terms.P[rows]
    for i, (left, right) in enumerate(terms.outer):
        scales[2 + i], rights[i] = left[rows], right
    if D is K:
        compiled.weave(W, K, P, scales, rights, sums.covariances[rows])
    else:
        found = np.empty((3, n))
        compiled.weave_apart(W, K, D, P, scales, rights, found)
        for whole, part in zip(sums, found, strict=True):
            whole[rows] = part
    add_transposed_times(W, X_aug, out=out)
