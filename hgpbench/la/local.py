"""Squared distances among the few rows next to each of many points, and what is summed over them.

Each point s has K rows ``near[s]`` of X (n, d); their matrices stand in stacks (s, K, K). Differences are
taken before they are squared, so that rows far from the origin lose no digits.
"""

import numpy as np
from numpy.typing import NDArray

from hgpbench.la import elementwise
from hgpbench.la.arrays import Array, rowdots

Places = NDArray[np.int64]


def local_products(X: Array, near: Places, points: Array) -> tuple[Array, Array]:
    """-|x_i - x_j|^2/2 among the rows near each point (s, K, K), and -|x_i - p|^2/2 from the point (s, K)."""
    count, K = near.shape
    A, q = np.empty((count, K, K)), np.empty((count, K))
    if elementwise.compiled is not None:
        elementwise.compiled.local_products(X, near, points, A, q)
        return A, q
    Z = X[near]
    seen = Z - points[:, None]
    np.multiply(rowdots(seen, seen), -0.5, out=q)
    A[...] = 0.0
    for column in np.moveaxis(Z, 2, 0):
        A -= 0.5 * np.square(column[:, :, None] - column[:, None, :])
    return A, q


def local_sums(
    X: Array, near: Places, points: Array, slopes: tuple[Array, Array], left: Array, right: Array
) -> Array:
    """For each input k the sum of W_ij (x_ik - x_jk)^2 over i > j, and of w_i (x_ik - p_k)^2: (d,).

    W = (left_0 right_0^T + left_1 right_1^T) * D and w = left_2 * Dq for the ``slopes`` D (s, K, K), of which
    the strictly lower triangles are read, and Dq (s, K); ``left`` is (s, 3, K), ``right`` (s, 2, K).
    """
    D, Dq = slopes
    out = np.zeros(X.shape[1])
    if elementwise.compiled is not None:
        elementwise.compiled.local_sums(X, near, points, D, Dq, left, right, out)
        return out
    Z = X[near]
    W = left[:, 0, :, None] * right[:, 0, None] + left[:, 1, :, None] * right[:, 1, None]
    W *= D
    W *= np.tri(near.shape[1], k=-1)
    w = left[:, 2] * Dq
    for k, column in enumerate(np.moveaxis(Z, 2, 0)):
        out[k] = np.vdot(W, np.square(column[:, :, None] - column[:, None, :]))
        out[k] += np.vdot(w, np.square(column - points[:, None, k]))
    return out
