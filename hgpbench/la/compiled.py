"""Elementwise passes over (n, m) matrices, compiled by numba (the extra ``jit``), which ``elementwise`` uses.

Without AVX-512 numpy leaves each exponential to the C library; here the compiler sees arithmetic that it can
do on four or eight numbers at a time. Compiled when first imported, and kept in numba's cache.
"""

from collections.abc import Callable
from math import factorial, log

import numpy as np
from numba import njit

from hgpbench.la.arrays import Array

Pass = Callable[..., None]

_LOWEST, _HIGHEST = -708.0, 709.0  # beyond them exp leaves the normal numbers, or soon does
_ZERO, _INFINITY = np.float64(0.0), np.float64(np.inf)
_LOG2_E = 1.0 / log(2.0)
_LOG_2_HIGH = float.fromhex("0x1.62e42feep-1")  # its last bits are zeros, so that multiples of it are exact
_LOG_2_LOW = 1.9082149292705877e-10  # the rest of log(2)
_FAR = 1e3  # an argument beyond which exp(-r) is zero, and so are its products with powers of r
_ROUNDING = 1.5 * 2.0**52  # added to a small number, leaves it rounded in the last bits
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1.0 / factorial(k) for k in range(2, 14))

_MATRIX, _VECTOR, _NUMBER = "float64[:, ::1]", "float64[::1]", "float64"
_FIXED_MATRIX = "Array(float64, 2, 'C', True, aligned=False)"  # as _MATRIX, perhaps not for writing
_STACK, _PLACES = "float64[:, :, ::1]", "int64[:, ::1]"
# A user's arrays may lie in any order, anywhere, and not be for writing.
_ANY_MATRIX = "Array(float64, 2, 'A', True, aligned=False)"
_ANY_VECTOR = "Array(float64, 1, 'A', True, aligned=False)"
_FUSED = frozenset({"contract"})  # a product and a sum may be one operation
_REORDERED = _FUSED | {"reassoc", "nsz"}  # and the sum of a row may be taken in any order


def _compile(*types: str, fastmath: frozenset[str]) -> Callable[[Pass], Pass]:
    signature, allowed = f"void({', '.join(types)})", set(fastmath)

    def decorate(function: Pass) -> Pass:
        def compiled(cache: bool) -> Pass:
            return njit(signature, cache=cache, fastmath=allowed, nogil=True, error_model="numpy")(function)

        try:
            return compiled(cache=True)
        except RuntimeError:  # no folder can be written to: compile each time
            return compiled(cache=False)

    return decorate


@njit(fastmath=set(_FUSED), inline="always")
def _exp(x: np.float64) -> np.float64:
    """exp(x) = 2^k exp(r) with |r| <= log(2) / 2, by the first terms of its series; below 2 eps off."""
    k = x * _LOG2_E + _ROUNDING
    whole = k - _ROUNDING
    r = (x - whole * _LOG_2_HIGH) - whole * _LOG_2_LOW
    p = C13 * r + C12
    p = p * r + C11
    p = p * r + C10
    p = p * r + C9
    p = p * r + C8
    p = p * r + C7
    p = p * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + C2
    p = p * (r * r) + r + 1.0
    # The last bits of k are the whole number; added to the exponent of p they multiply it by 2^k.
    bits = np.float64(p).view(np.int64) + (np.float64(k).view(np.int64) << 52)
    power = np.int64(bits).view(np.float64)
    if x < _LOWEST:
        power = _ZERO
    if x > _HIGHEST:
        power = _INFINITY
    return power


@_compile(_ANY_MATRIX, _ANY_VECTOR, _ANY_VECTOR, _MATRIX, fastmath=_FUSED)
def augment(X: Array, shift: Array, ell: Array, out: Array) -> None:
    """Rows [x, 1, -|x|^2/2] with x = (X - shift) / ell."""
    n, d = X.shape
    for i in range(n):
        square = 0.0
        for j in range(d):
            x = (X[i, j] - shift[j]) / ell[j]
            out[i, j] = x
            square += x * x
        out[i, d] = 1.0
        out[i, d + 1] = -0.5 * square


@_compile(_VECTOR, fastmath=_FUSED)
def exponential(A: Array) -> None:
    """A <- exp(A), with zero instead of what is below the normal numbers."""
    for i in range(A.size):
        A[i] = _exp(A[i])


@njit(fastmath=set(_FUSED), inline="always")
def _root(square: np.float64) -> np.float64:
    """Its root, from 0 to ``_FAR``; what is not a number stays so."""
    if square < _ZERO:
        square = _ZERO
    r = np.sqrt(square)
    if r > _FAR:
        r = _FAR
    return r


@_compile(_VECTOR, *[_NUMBER] * 4, fastmath=_FUSED)
def decay(A: Array, size: float, scale: float, c1: float, c2: float) -> None:
    """A <- size (1 + c1 r + c2 r^2) exp(-r), r = sqrt(-2 scale A)."""
    for i in range(A.size):
        r = _root(-2.0 * scale * A[i])
        A[i] = size * (1.0 + r * (c1 + c2 * r)) * _exp(-r)


@_compile(_VECTOR, _VECTOR, *[_NUMBER] * 4, fastmath=_FUSED)
def decay_with_slopes(A: Array, D: Array, size: float, scale: float, c1: float, c2: float) -> None:
    """As ``decay``, and D <- its derivative by A, c1 being one."""
    for i in range(A.size):
        r = _root(-2.0 * scale * A[i])
        e = size * _exp(-r)
        A[i] = (1.0 + r * (c1 + c2 * r)) * e
        D[i] = scale * (1.0 - 2.0 * c2 + c2 * r) * e


@_compile(_VECTOR, _VECTOR, *[_NUMBER] * 4, fastmath=_FUSED)
def decay_with_pole(A: Array, D: Array, size: float, scale: float, c1: float, c2: float) -> None:
    """As ``decay``, and D <- its derivative by A, zero at its pole, which is at r = 0 unless c1 is one."""
    for i in range(A.size):
        r = _root(-2.0 * scale * A[i])
        e = size * _exp(-r)
        slope = scale * ((1.0 - c1) / r + c1 - 2.0 * c2 + c2 * r) * e
        if r == _ZERO:
            slope = _ZERO
        A[i] = (1.0 + r * (c1 + c2 * r)) * e
        D[i] = slope


@_compile(_MATRIX, _MATRIX, _VECTOR, fastmath=_REORDERED)
def modulate(W: Array, K: Array, row_sums: Array) -> None:
    """W <- W * K, and its row sums."""
    n, m = W.shape
    for i in range(n):
        total = 0.0
        for j in range(m):
            w = W[i, j] * K[i, j]
            W[i, j] = w
            total += w
        row_sums[i] = total


@_compile(_MATRIX, _MATRIX, _MATRIX, _MATRIX, fastmath=_REORDERED)
def modulate_apart(W: Array, K: Array, D: Array, row_sums: Array) -> None:
    """W <- W * D, with its row sums in the second row of ``row_sums`` (2, n); in the first those of W * K."""
    n, m = W.shape
    for i in range(n):
        covariances, slopes = 0.0, 0.0
        for j in range(m):
            w = W[i, j]
            covariances += w * K[i, j]
            w *= D[i, j]
            W[i, j] = w
            slopes += w
        row_sums[0, i], row_sums[1, i] = covariances, slopes


@_compile(_MATRIX, _MATRIX, _MATRIX, _VECTOR, fastmath=_REORDERED)
def modulate_symmetric(W: Array, K: Array, D: Array, row_sums: Array) -> None:
    """W <- W * D in the upper triangle, and the sums of the rows of W * K to both sides of the diagonal."""
    n = len(W)
    for i in range(n):
        total = -0.5 * W[i, i] * K[i, i]
        for j in range(i, n):
            w = W[i, j]
            total += w * K[i, j]
            W[i, j] = w * D[i, j]
        row_sums[i] = 2.0 * total


@_compile(*[_MATRIX] * 5, _VECTOR, fastmath=_REORDERED)
def weave(W: Array, K: Array, P: Array, scales: Array, rights: Array, row_sums: Array) -> None:
    """W <- diag(s0) (W * K) + diag(s1) P + (s2 r0^T + s3 r1^T) * K; row sums are of the old W * K.

    s and r are the rows of ``scales`` (4, n) and ``rights`` (2, m); zeros leave a term out.
    """
    n, m = W.shape
    for i in range(n):
        total, weight, applied, first, second = 0.0, scales[0, i], scales[1, i], scales[2, i], scales[3, i]
        for j in range(m):
            k = K[i, j]
            w = W[i, j] * k
            total += w
            W[i, j] = weight * w + applied * P[i, j] + (first * rights[0, j] + second * rights[1, j]) * k
        row_sums[i] = total


@_compile(*[_MATRIX] * 7, fastmath=_REORDERED)
def weave_apart(
    W: Array, K: Array, D: Array, P: Array, scales: Array, rights: Array, row_sums: Array
) -> None:
    """As ``weave`` with D instead of K for the new W; sums of rows in three rows of ``row_sums`` (3, n):

    of the old W * K, of (s2 r0^T + s3 r1^T) * K, and of the new W.
    """
    n, m = W.shape
    for i in range(n):
        weight, applied, first, second = scales[0, i], scales[1, i], scales[2, i], scales[3, i]
        covariances, outer_sum, slopes = 0.0, 0.0, 0.0
        for j in range(m):
            k, slope, w = K[i, j], D[i, j], W[i, j]
            outer = first * rights[0, j] + second * rights[1, j]
            covariances += w * k
            outer_sum += outer * k
            w = (weight * w + outer) * slope + applied * P[i, j]
            W[i, j] = w
            slopes += w
        row_sums[0, i], row_sums[1, i], row_sums[2, i] = covariances, outer_sum, slopes


@_compile(_MATRIX, _VECTOR, _MATRIX, fastmath=_FUSED)
def scale(V: Array, weights: Array, out: Array) -> None:
    """out <- diag(weights) V."""
    n, m = V.shape
    for i in range(n):
        weight = weights[i]
        for j in range(m):
            out[i, j] = weight * V[i, j]


@_compile(_FIXED_MATRIX, _PLACES, _MATRIX, _STACK, _MATRIX, fastmath=_REORDERED)
def local_products(X: Array, near: Array, points: Array, A: Array, q: Array) -> None:
    """A[s, i, j] = -|x_i - x_j|^2/2 of the rows near point s, q[s, i] = -|x_i - p_s|^2/2."""
    count, K = near.shape
    d = X.shape[1]
    Z = np.empty((d, K))
    for s in range(count):
        for i in range(K):
            row, square = near[s, i], 0.0
            for k in range(d):
                x = X[row, k]
                Z[k, i] = x
                square += (x - points[s, k]) ** 2
            q[s, i] = -0.5 * square
        for i in range(K):
            for j in range(i + 1):
                A[s, i, j] = 0.0
            for k in range(d):
                x = Z[k, i]
                for j in range(i + 1):
                    A[s, i, j] -= 0.5 * (x - Z[k, j]) ** 2
            for j in range(i + 1):
                A[s, j, i] = A[s, i, j]


@_compile(_FIXED_MATRIX, _PLACES, _MATRIX, _STACK, _MATRIX, _STACK, _STACK, _VECTOR, fastmath=_REORDERED)
def local_sums(
    X: Array, near: Array, points: Array, D: Array, Dq: Array, left: Array, right: Array, out: Array
) -> None:
    """out[k] += sum of W[s, i, j] (x_ik - x_jk)^2 over i > j, and of w[s, i] (x_ik - p_sk)^2.

    W = (left_0 right_0^T + left_1 right_1^T) * D, of which the strictly lower triangle is read, and
    w = left_2 * Dq.
    """
    count, K = near.shape
    d = X.shape[1]
    Z, W = np.empty((d, K)), np.empty(K)
    for s in range(count):
        for i in range(K):
            row, w = near[s, i], left[s, 2, i] * Dq[s, i]
            for k in range(d):
                x = X[row, k]
                Z[k, i] = x
                out[k] += w * (x - points[s, k]) ** 2
        for i in range(1, K):
            first, second = left[s, 0, i], left[s, 1, i]
            for j in range(i):
                W[j] = (first * right[s, 0, j] + second * right[s, 1, j]) * D[s, i, j]
            for k in range(d):
                x, total = Z[k, i], 0.0
                for j in range(i):
                    total += W[j] * (x - Z[k, j]) ** 2
                out[k] += total
