"""Gaussian basis functions phi_j(x) = exp(-1/2 (x - p_j)^T G_j (x - p_j)), and their pullback.

The kinds of GPz (Almosallam et al., 2016) differ in how the precisions G_j follow from ``gamma``. The first
letter says whether all functions share one (G, global) or each has its own (V, variable):

    L   one lengthscale            G_j = gamma_j^2 I
    D   one per input              G_j = diag(gamma_j^2)
    C   a full covariance          G_j = gamma_j^T gamma_j

Any of them makes log phi_j(x) linear in features of x, [1, x, x^2] or [1, x, x x^T]: one product for all
functions, and one for the way back. No (n, m, d) array appears.

Evidence of a linear model in basis functions whose log noise precision is linear in them too (GPz).

    y = H(x)^T w + eps,  w_j ~ N(0, 1 / alpha_j),  eps ~ N(0, 1 / beta(x)),
    1 / beta(x) = e^-(b + Phi(x)^T v) + floor
    H = Phi, or [Phi, x, 1] with a linear mean

Almosallam et al. (2016), *GPz*, maximise log p(y | v) + log p(v | eta) with v_j ~ N(0, 1 / eta_j) over
everything but w, which is integrated out. That has no maximum: v_j = 0 and eta_j -> infinity raise it without
end, and their releases stop early. Here log eta_j has the density of a Gamma variable's logarithm,
which makes the objective a proper joint density, log p(y, v, log eta).

The floor, 1e-8 of the variance of y, is what the jitter of a kernel is to a GP. Without it the precision of a
target that the basis can explain grows until B is singular to round-off, and no step leads on.

Scaled by D = diag(alpha)^-1/2, all follows from B = I + D H^T diag(beta) H D, whose eigenvalues are at least
one; posterior covariance of w: Sigma = D B^-1 D.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln

from hgpbench.gp.params import Bound
from hgpbench.la import Array, diagonal, exp_, gram, inverse_factor, logdet, rowdots

Kind = Literal["GL", "VL", "GD", "VD", "GC", "VC"]


def gamma_shape(kind: Kind, m: int, d: int) -> tuple[int, ...]:
    """Shape of ``gamma`` for ``m`` functions of ``d`` inputs."""
    each: dict[str, tuple[int, ...]] = {"L": (), "D": (d,), "C": (d, d)}
    return ((m,) if kind[0] == "V" else ()) + each[kind[1]]


def axis_aligned(kind: Kind, slopes: Array) -> Array:
    """``gamma`` of functions with inverse lengthscales ``slopes`` (m, d); means where the kind has fewer."""
    m, d = slopes.shape
    if kind[0] == "G":
        slopes = slopes.mean(axis=0, keepdims=True)
    if kind[1] == "L":
        slopes = slopes.mean(axis=1, keepdims=True)
    gamma = slopes[:, :, None] * np.eye(d) if kind[1] == "C" else slopes.copy()
    return gamma.reshape(gamma_shape(kind, m, d))


@dataclass(frozen=True, eq=False)
class Basis:
    """``m`` basis functions: centres ``P`` (m, d) and ``gamma`` of ``gamma_shape``.

    Features are taken about the mean of the centres, so that inputs far from the origin do not cancel.
    """

    kind: Kind
    P: Array
    gamma: Array

    @property
    def full(self) -> bool:
        """Whether the precisions have entries off their diagonals."""
        return self.kind[1] == "C"

    def features(self, X: Array) -> Array:
        """Features (n, q) of the rows of ``X`` (n, d) in which all log phi_j are linear."""
        n, d = X.shape
        Z = X - self._shift
        if not self.full:
            return np.hstack([np.ones((n, 1)), Z, Z * Z])
        i, j = np.triu_indices(d)
        return np.hstack([np.ones((n, 1)), Z, Z[:, i] * Z[:, j]])

    def coefficients(self) -> Array:
        """Coefficients C (q, m): log Phi = features(X) C."""
        G, P = self._precisions(), self.P - self._shift
        if not self.full:
            return np.hstack([-0.5 * np.sum(G * P * P, axis=1, keepdims=True), G * P, -0.5 * G]).T
        i, j = np.triu_indices(P.shape[1])
        GP = np.einsum("mij,mj->mi", G, P)
        pairs = np.where(i == j, -0.5, -1.0) * G[:, i, j]
        return np.hstack([-0.5 * np.sum(GP * P, axis=1, keepdims=True), GP, pairs]).T

    def evaluate(self, X: Array) -> Array:
        """Phi (n, m) at the rows of ``X`` (n, d): O(n m q)."""
        Phi = self.features(X) @ self.coefficients()
        return exp_(Phi)

    def pullback(self, dC: Array) -> tuple[Array, Array]:
        """Map dC (q, m), the derivative by the coefficients, to dP (m, d) and dgamma."""
        d, P = self.P.shape[1], self.P - self._shift
        # The moments sum_n W_nj (x - p_j)^k, k = 0, 1, 2, of W = dPhi * Phi, about each function's centre.
        s0, s1, s2 = dC[:1].T, dC[1 : d + 1].T, dC[d + 1 :].T
        centred = s1 - P * s0
        G = self._precisions()
        if not self.full:
            dG = -0.5 * (s2 - P * (s1 + centred))
            return G * centred, self._pull_diagonal(dG)
        i, j = np.triu_indices(d)
        square = np.empty((len(P), d, d))
        square[:, i, j] = square[:, j, i] = s2
        cross = P[:, :, None] * s1[:, None, :]
        dG = -0.5 * (square - cross - cross.transpose(0, 2, 1) + P[:, :, None] * P[:, None, :] * s0[:, None])
        return np.einsum("mij,mj->mi", G, centred), self._pull_full(dG)

    @property
    def _shift(self) -> Array:
        return self.P.mean(axis=0)

    def _precisions(self) -> Array:
        """G_j, (m, d) where they are diagonal and (m, d, d) where they are not."""
        m, d = self.P.shape
        if self.full:
            return np.broadcast_to(self.gamma.swapaxes(-1, -2) @ self.gamma, (m, d, d))
        return np.broadcast_to(self._rows() ** 2, (m, d))

    def _rows(self) -> Array:
        """A diagonal kind's ``gamma`` as (m or 1, d or 1)."""
        m, d = self.P.shape
        return self.gamma.reshape(m if self.kind[0] == "V" else 1, d if self.kind[1] == "D" else 1)

    def _pull_diagonal(self, dG: Array) -> Array:
        """dG (m, d) summed over the entries that share one gamma, times dG/dgamma = 2 gamma."""
        if self.kind[0] == "G":
            dG = dG.sum(axis=0, keepdims=True)
        if self.kind[1] == "L":
            dG = dG.sum(axis=1, keepdims=True)
        return (2.0 * self._rows() * dG).reshape(self.gamma.shape)

    def _pull_full(self, dG: Array) -> Array:
        """d(gamma^T gamma) = 2 gamma dG for symmetric dG (m, d, d)."""
        return 2.0 * self.gamma @ (dG if self.kind[0] == "V" else dG.sum(axis=0))


PANEL_BYTES = 400_000  # rows worked on at a time: they fit the second-level cache
ETA_SHAPE, ETA_RATE = 10.0, 0.3
"""Gamma prior of eta: v is Student-t with 20 degrees of freedom and scale 0.17.

Under heavier tails a function shrinks to a few rows and calls them free of noise at a price that grows like a
logarithm only."""
LOG_2PI = float(np.log(2.0 * np.pi))
NOISE_FLOOR = 1e-8  # of the variance of y


def positive(kind: Kind, names: list[str]) -> list[str]:
    """The parameters that an optimiser should see as logarithms; full covariances have signs."""
    signless = {"alpha", "eta"} if kind[1] == "C" else {"alpha", "eta", "gamma"}
    return [name for name in names if name in signless]


@dataclass(frozen=True, eq=False)
class BasisPosterior:
    """p(w | y) and the noise at new inputs; Sigma = root^T root."""

    basis: Basis
    linear: bool
    w: Array
    root: Array
    b: float
    v: Array
    floor: float

    def moments(self, Xs: Array) -> tuple[Array, Array, Array]:
        """Mean and variance of f, and the noise variance, at ``Xs`` (s, d), each (s,), by chunks."""
        mu, s2, noise = (np.empty(len(Xs)) for _ in range(3))
        for rows in _panels(len(Xs), len(self.w)):
            Phi = self.basis.evaluate(Xs[rows])
            H = np.hstack([Phi, Xs[rows], np.ones((len(Phi), 1))]) if self.linear else Phi
            mu[rows] = H @ self.w
            T = H @ self.root.T
            s2[rows] = rowdots(T, T)
            noise[rows] = np.exp(-self.b - Phi @ self.v) + self.floor
        return mu, s2, noise


@dataclass(frozen=True, eq=False)
class _Weights:
    """p(w | y) during one evaluation, with the residuals e = y - H w and the noise precisions."""

    w: Array
    root: Array
    beta: Array
    free: Array  # share of the noise variances above their floor
    e: Array
    log_evidence: float


class BasisProblem:
    """One data set with the (n, k) design matrix H that every evaluation reuses; O(n k) memory."""

    def __init__(self, X: Array, y: Array, m: int, kind: Kind, *, linear: bool) -> None:
        n, d = X.shape
        self.X, self.y, self.m, self.kind, self.linear = X, y, m, kind, linear
        k = m + d + 1 if linear else m
        self._H = np.empty((n, k))
        if linear:
            self._H[:, m:-1], self._H[:, -1] = X, 1.0
        self.floor = NOISE_FLOOR * float(np.var(y))
        self._B, self._LBinv = (np.zeros((k, k), order="F") for _ in range(2))

    def evidence(self, values: dict[str, Array]) -> Bound:
        """log p(y, v, log eta), derivatives by ``P``, ``gamma``, ``alpha`` (k,), ``b``, ``v``, ``eta`` (m,).

        Without ``v`` and ``eta`` the noise is constant and the value is log p(y). Costs 3 n k^2 flops.
        """
        basis = Basis(self.kind, values["P"], values["gamma"])
        weights = self._weights(basis, values)
        value, grads = weights.log_evidence, self._back(basis, values, weights)
        if "v" in values:
            log_prior, prior_grads = _noise_prior(values["v"], values["eta"])
            value += log_prior
            grads |= {"v": grads["v"] + prior_grads["v"], "eta": prior_grads["eta"]}
        return Bound(value, grads, 0.0)

    def posterior(self, values: dict[str, Array]) -> BasisPosterior:
        """The posterior at these parameters."""
        basis = Basis(self.kind, values["P"].copy(), values["gamma"].copy())
        weights = self._weights(basis, values)
        return BasisPosterior(
            basis,
            self.linear,
            weights.w,
            weights.root,
            float(values["b"]),
            self._v(values).copy(),
            self.floor,
        )

    def _v(self, values: dict[str, Array]) -> Array:
        return values["v"] if "v" in values else np.zeros(self.m)

    def _weights(self, basis: Basis, values: dict[str, Array]) -> _Weights:
        """Fill H, factor B, and solve for the mean of w: n k^2 flops."""
        H, B, y, v = self._H, self._B, self.y, self._v(values)
        n, k = H.shape
        C, beta, free, moment = basis.coefficients(), np.empty(n), np.empty(n), np.zeros(k)
        for rows in _panels(n, k):
            Phi = H[rows, : self.m]
            np.exp(basis.features(self.X[rows]) @ C, out=Phi)
            noise = np.exp(-float(values["b"]) - Phi @ v)
            beta[rows] = 1.0 / (noise + self.floor)
            free[rows] = noise * beta[rows]
            S = H[rows] * np.sqrt(beta[rows, None])
            gram(S, out=B, beta=float(rows.start > 0))
            moment += (beta[rows] * y[rows]) @ H[rows]
        D = 1.0 / np.sqrt(values["alpha"])
        B *= D
        B *= D[:, None]
        diagonal(B)[...] += 1.0
        LBinv = inverse_factor(B, max_jitter=0.0, out=self._LBinv).L
        white = (LBinv @ (D * moment)) @ LBinv
        w = D * white
        e = y - H @ w
        # The sum of squares is least at w, so that round-off in w enters it to second order only.
        quadratic = float(beta @ (e * e) + white @ white)
        value = -0.5 * (n * LOG_2PI - float(np.log(beta).sum()) - logdet(LBinv) + quadratic)
        return _Weights(w, LBinv * D, beta, free, e, value)

    def _back(self, basis: Basis, values: dict[str, Array], weights: _Weights) -> dict[str, Array]:
        """dPhi = -diag(beta) H Sigma + (beta e) w^T + h v^T, h = d/d(b + Phi v), and all else: 2 n k^2."""
        H, m, v, w, beta, e = self._H, self.m, self._v(values), weights.w, weights.beta, weights.e
        n, k = H.shape
        Sigma = weights.root.T @ weights.root
        alpha, right = values["alpha"], np.stack([w[:m], v])
        h, dv = np.empty(n), np.zeros(m)
        dC = np.zeros(basis.coefficients().shape)
        for rows in _panels(n, k):
            T = H[rows] @ Sigma
            h[rows] = 0.5 - 0.5 * beta[rows] * (e[rows] ** 2 + rowdots(T, H[rows]))
            h[rows] *= weights.free[rows]
            Phi, W = H[rows, :m], T[:, :m]
            W *= -beta[rows, None]
            W += np.stack([beta[rows] * e[rows], h[rows]], axis=1) @ right
            W *= Phi
            dC += basis.features(self.X[rows]).T @ W
            dv += h[rows] @ Phi
        dP, dgamma = basis.pullback(dC)
        dalpha = 0.5 * (1.0 / alpha - np.diag(Sigma) - w * w)
        grads = {"P": dP, "gamma": dgamma, "alpha": dalpha, "b": np.asarray(h.sum())}
        return grads | {"v": dv} if "v" in values else grads


def _noise_prior(v: Array, eta: Array) -> tuple[float, dict[str, Array]]:
    """log N(v | 0, 1 / eta) + log p(log eta), eta ~ Gamma(ETA_SHAPE, ETA_RATE), and derivatives."""
    normal = 0.5 * (np.log(eta) - LOG_2PI - eta * v * v)
    gamma = ETA_SHAPE * np.log(ETA_RATE * eta) - ETA_RATE * eta - gammaln(ETA_SHAPE)
    deta = (0.5 + ETA_SHAPE) / eta - 0.5 * v * v - ETA_RATE
    return float((normal + gamma).sum()), {"v": -eta * v, "eta": deta}


def _panels(n: int, k: int) -> Iterator[slice]:
    """Row slices of which an (n, k) matrix takes about ``PANEL_BYTES``."""
    size = max(64, PANEL_BYTES // (8 * k))
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
