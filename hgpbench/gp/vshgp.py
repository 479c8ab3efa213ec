"""The bound F_V of the variational sparse heteroscedastic GP, with all its derivatives (paper, eq. for F_V).

    F_V = log N(y | 0, Qnn + R_g) - 1/2 Tr R_g^-1 (Knn - Qnn)    f: the collapsed bound with noise r
          - 1/4 Tr Sigma_g - KL(q(g_u) || p(g_u))                g: the price of a noise process

with r = exp(mu_g - s2_g / 2). Value and full gradient take 11 n m^2 flops for m = u.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hgpbench.gp import collapsed, noise
from hgpbench.gp.kernels import SMOOTH, Families
from hgpbench.gp.noise import NoiseMoments
from hgpbench.gp.params import Bound
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.process import Conditioned, Factored, Process, Projected
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import JITTER, Array, rowdots

POSITIVE = ("s2_kf", "ell_f", "s2_kg", "ell_g", "lam")
"""Parameters that an optimiser should see as logarithms; the others are Xm, Xu, mu0 and, when free, w."""


LEAST_LAMBDA = 1e-12
"""The fixed point of lambda is positive (paper, Appendix A); round-off is kept from making it zero."""


class Workspace:
    """Memory for evaluations with ``n`` rows, ``m`` and ``u`` inducing points, reused by each of them.

    ``run`` runs independent parts of the rows, where these are many; ``families`` are the kernels.
    """

    def __init__(self, n: int, m: int, u: int, run: Run = serially, families: Families = SMOOTH) -> None:
        self.run, self.families = run, families
        self.f, self.g = Process(n, m, run, self.families.f), Process(n, u, run, self.families.g)

    def resize(self, n: int) -> None:
        """Serve ``n`` rows from now on, in the same memory where it is large enough."""
        self.f.resize(n)
        self.g.resize(n)


class Projection(NamedTuple):
    """f and g at the training inputs: all that depends on kernels and inducing inputs alone."""

    f: Projected
    g: Projected

    @property
    def jitter(self) -> float:
        """The larger relative jitter of the two."""
        return max(self.f.jitter, self.g.jitter)


@dataclass(frozen=True, eq=False)
class State:
    """One evaluation: the bound, and the whitened means alpha (m,) of q(f_m) and w (u,) of q(g_u).

    ``f`` and ``g`` are their factors, good until the memory is used again.
    """

    bound: Bound
    alpha: Array
    w: Array
    f: Factored
    g: Factored


class Refined(NamedTuple):
    """The bound before a natural step on q(g_u), and lambda (n,) and free mean w (u,) after it."""

    value: float
    lam: Array
    w: Array


def evaluate(
    values: dict[str, Array], X: Array, y: Array, workspace: Workspace, jitter: float = JITTER
) -> State:
    """Value and derivatives by every parameter; the mean ``w`` is tied to ``lam`` where it is absent."""
    g, q = _conditioned(values, project_g(values, X, workspace, jitter))
    # Not earlier: the cache still holds these matrices when the collapsed bound comes to them.
    return _differentiate(values, y, project_f(values, X, workspace, jitter), g, q)


def project(values: dict[str, Array], X: Array, workspace: Workspace, jitter: float = JITTER) -> Projection:
    """Both processes at the inputs ``X`` (n, d)."""
    return Projection(project_f(values, X, workspace, jitter), project_g(values, X, workspace, jitter))


def project_f(values: dict[str, Array], X: Array, workspace: Workspace, jitter: float = JITTER) -> Projected:
    """f alone."""
    return workspace.f.project(values["s2_kf"], values["ell_f"], X, values["Xm"], jitter)


def project_g(values: dict[str, Array], X: Array, workspace: Workspace, jitter: float = JITTER) -> Projected:
    """g alone."""
    return workspace.g.project(values["s2_kg"], values["ell_g"], X, values["Xu"], jitter)


def differentiate(values: dict[str, Array], y: Array, projection: Projection) -> State:
    """As ``evaluate``, for processes that were projected with the same kernels and inducing inputs."""
    return _differentiate(values, y, projection.f, *_conditioned(values, projection.g))


def _conditioned(values: dict[str, Array], g: Projected) -> tuple[Conditioned, NoiseMoments]:
    conditioned = g.condition(values["lam"])
    return conditioned, noise.moments(conditioned, float(values["mu0"]), values.get("w"))


def _bound(f_terms: float, q: NoiseMoments) -> float:
    """F_V: the terms of f with noise r, and the price of the noise process."""
    return f_terms - 0.25 * float(q.s2_g.sum()) - q.kl


def _differentiate(
    values: dict[str, Array], y: Array, f: Projected, g: Conditioned, q: NoiseMoments
) -> State:
    """The four terms of F_V, and the way back through them."""
    front = collapsed.evaluate(f, q.r, y)
    t = np.maximum(front.t, LEAST_LAMBDA)
    h = t - 0.5  # dF_V / d log r = Lambda_ab / 2
    back = noise.pullback(g, float(values["mu0"]), q, h, t, tied="w" not in values)
    grads = {
        "s2_kf": np.asarray(front.grad.ds2_k),
        "ell_f": front.grad.dell,
        "Xm": front.grad.dZ,
        "s2_kg": np.asarray(back.grad.ds2_k),
        "ell_g": back.grad.dell,
        "Xu": back.grad.dZ,
        "mu0": np.asarray(back.dmu0),
        "lam": back.dlam,
        "w": back.dw,
    }
    bound = Bound(_bound(front.value, q), grads, Projection(f, g.projected).jitter)
    return State(bound, front.alpha, q.w, front.factored, g.factored)


def refine(
    values: dict[str, Array], y: Array, projection: Projection, gamma: float = 1.0, max_shift: float = 1.5
) -> Refined:
    """One natural step on q(g_u) with its mean free: 5 n m^2.

    First lambda <- (1 - gamma) lambda + gamma t, with t = (Lambda_ab + I) / 2 its fixed point; then, with the
    new B, w <- w + gamma B^-1 (V^T h - w), shortened so that no mu_g moves by more than ``max_shift``. Were
    the mean tied to lambda, mu_g would move by up to n times the change of lambda, and the steps diverge.
    """
    g, lam = projection.g, values["lam"]
    q = noise.moments(g.factor(lam), float(values["mu0"]), values.get("w"))
    front, t = collapsed.evaluate_noise(projection.f, q.r, y)
    t = np.maximum(t, LEAST_LAMBDA)
    refined = (1.0 - gamma) * lam + gamma * t
    step = gamma * g.factor(refined).solve((t - 0.5) @ g.V - q.w)
    shift = float(np.abs(g.V @ step).max())
    return Refined(_bound(front, q), refined, q.w + step * min(1.0, max_shift / max(shift, 1e-300)))


def bound(
    values: dict[str, Array], X: Array, y: Array, workspace: Workspace, jitter: float = JITTER
) -> Bound:
    """Value and derivatives alone: what a line-search optimiser wants."""
    return evaluate(values, X, y, workspace, jitter).bound


def noise_variances(g: Projected, lam: Array, mu0: float, w: Array | None = None) -> Array:
    """r = e^(mu_g - s2_g / 2), the noise variances that the bound gives the training rows (n,)."""
    return noise.moments(g.factor(lam), mu0, w).r


def posteriors(
    values: dict[str, Array], X: Array, y: Array, workspace: Workspace, jitter: float = JITTER
) -> tuple[Posterior, Posterior]:
    """q(f*) and q(g*) at these parameters (paper, mu_f*, sigma2_f*, mu_g*, sigma2_g*)."""
    f, g = project(values, X, workspace, jitter)
    factored_g = g.factor(values["lam"])
    q = noise.moments(factored_g, float(values["mu0"]), values.get("w"))
    factored_f = f.factor(1.0 / q.r)
    alpha = collapsed.mean(factored_f, y)
    return factored_f.posterior(alpha), factored_g.posterior(q.w, float(values["mu0"]))


LARGEST_LEVERAGE = 0.999  # a row that nothing else explains: its own residual is then taken as a thousandth


def left_out_residuals(state: State, y: Array, mu0: float, rows: slice) -> Array:
    """Residuals of the targets ``y`` at ``rows`` without the row itself: O(m^2) for each of them.

    For given noise variances r and inducing inputs the mean of f is a linear smoother of y, so a row's
    residual without that row is e / (1 - leverage), with the leverage diag(V B^-1 V^T) / r (Allen, 1974:
    PRESS). The bound may rise while these residuals grow: the noise process then explains what the mean
    should.
    """
    f, g = state.f, state.g
    Vf, Vg = f.projected.V[rows], g.projected.V[rows]
    Cf, Cg = Vf @ f.LBinv.T, Vg @ g.LBinv.T
    s2_g = g.projected.kd - rowdots(Vg, Vg) + rowdots(Cg, Cg)
    r = np.exp(noise.log_variance(mu0 + Vg @ state.w, s2_g))
    leverage = np.minimum(rowdots(Cf, Cf) / r, LARGEST_LEVERAGE)
    return (y[rows] - Vf @ state.alpha) / (1.0 - leverage)
