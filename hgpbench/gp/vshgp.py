"""The bound F_V of the variational sparse heteroscedastic GP, with all its derivatives (paper, eq. for F_V).

    F_V = log N(y | 0, Qnn + R_g) - 1/2 Tr R_g^-1 (Knn - Qnn)    f: the collapsed bound with noise r
          - 1/4 Tr Sigma_g - KL(q(g_u) || p(g_u))                g: the price of a noise process

with r = exp(mu_g - s2_g / 2). Value and full gradient take 11 n m^2 flops for m = u.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hgpbench.gp import collapsed, noise
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.params import Bound
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.process import Process
from hgpbench.gp.tasks import Run, serially
from hgpbench.la.dense import JITTER, Array

POSITIVE = ("s2_kf", "ell_f", "s2_kg", "ell_g", "lam")
"""Parameters that an optimiser should see as logarithms; the others are Xm, Xu, mu0 and, when free, w."""


LEAST_LAMBDA = 1e-12
"""The fixed point of lambda is positive (paper, Appendix A); round-off is kept from making it zero."""


class Workspace:
    """Memory for evaluations with ``n`` rows, ``m`` and ``u`` inducing points, reused by each of them.

    ``run`` runs independent parts of the rows, where these are many.
    """

    def __init__(self, n: int, m: int, u: int, run: Run = serially) -> None:
        self.run = run
        self.f, self.g = Process(n, m, run), Process(n, u, run)

    def resize(self, n: int) -> None:
        """Serve ``n`` rows from now on, in the same memory where it is large enough."""
        self.f.resize(n)
        self.g.resize(n)


@dataclass(frozen=True, eq=False)
class State:
    """One evaluation: the bound, the whitened means alpha (m,) of q(f_m) and w (u,) of q(g_u)."""

    bound: Bound
    alpha: Array
    w: Array


class Refined(NamedTuple):
    """The bound before a natural step on q(g_u), and lambda (n,) and free mean w (u,) after it."""

    value: float
    lam: Array
    w: Array


def evaluate(
    values: dict[str, Array], X: Array, y: Array, workspace: Workspace, jitter: float = JITTER
) -> State:
    """Value and derivatives by every parameter; the mean ``w`` is tied to ``lam`` where it is absent."""
    _project_g(values, X, workspace, jitter)
    q = _moments(values, workspace)
    # Not earlier: the cache still holds these matrices when the collapsed bound comes to them.
    _project_f(values, X, workspace, jitter)
    return _differentiate(values, y, workspace, q)


def project(values: dict[str, Array], X: Array, workspace: Workspace, jitter: float = JITTER) -> None:
    """The kernel matrices of f and g: all that depends on kernels and inducing inputs alone."""
    _project_f(values, X, workspace, jitter)
    _project_g(values, X, workspace, jitter)


def differentiate(values: dict[str, Array], y: Array, workspace: Workspace) -> State:
    """As ``evaluate``, for a workspace that ``project`` has filled."""
    return _differentiate(values, y, workspace, _moments(values, workspace))


def _project_f(values: dict[str, Array], X: Array, workspace: Workspace, jitter: float) -> None:
    workspace.f.project(SEARD(float(values["s2_kf"]), values["ell_f"]), X, values["Xm"], jitter)


def _project_g(values: dict[str, Array], X: Array, workspace: Workspace, jitter: float) -> None:
    workspace.g.project(SEARD(float(values["s2_kg"]), values["ell_g"]), X, values["Xu"], jitter)


def _moments(values: dict[str, Array], workspace: Workspace) -> noise.NoiseMoments:
    return noise.moments(workspace.g, values["lam"], float(values["mu0"]), values.get("w"))


def _differentiate(values: dict[str, Array], y: Array, workspace: Workspace, q: noise.NoiseMoments) -> State:
    """The four terms of F_V, and the way back through them."""
    f, g = workspace.f, workspace.g
    r = np.exp(q.mu_g - 0.5 * q.s2_g)
    front = collapsed.evaluate(f, r, y)
    value = front.value - 0.25 * float(q.s2_g.sum()) - q.kl

    t = np.maximum(front.t, LEAST_LAMBDA)
    h = t - 0.5  # dF_V / d log r = Lambda_ab / 2
    back = noise.pullback(g, values["lam"], float(values["mu0"]), q, h, t, tied="w" not in values)
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
    return State(Bound(value, grads, max(f.jitter, g.jitter)), front.alpha, q.w)


def refine(
    values: dict[str, Array], y: Array, workspace: Workspace, gamma: float = 1.0, max_shift: float = 1.5
) -> Refined:
    """One natural step on q(g_u) with its mean free, for a projected workspace: 5 n m^2.

    First lambda <- (1 - gamma) lambda + gamma t, with t = (Lambda_ab + I) / 2 its fixed point; then, with the
    new B, w <- w + gamma B^-1 (V^T h - w), shortened so that no mu_g moves by more than ``max_shift``. Were
    the mean tied to lambda, mu_g would move by up to n times the change of lambda, and the steps diverge.
    """
    g = workspace.g
    q = noise.moments_alone(g, values["lam"], float(values["mu0"]), values.get("w"))
    r = np.exp(q.mu_g - 0.5 * q.s2_g)
    front, t = collapsed.evaluate_noise(workspace.f, r, y)
    value = front - 0.25 * float(q.s2_g.sum()) - q.kl
    t = np.maximum(t, LEAST_LAMBDA)
    refined = (1.0 - gamma) * values["lam"] + gamma * t
    g.factor(refined)
    step = gamma * g.solve((t - 0.5) @ g.V - q.w)
    shift = float(np.abs(g.V @ step).max())
    return Refined(value, refined, q.w + step * min(1.0, max_shift / max(shift, 1e-300)))


def bound(
    values: dict[str, Array], X: Array, y: Array, workspace: Workspace, jitter: float = JITTER
) -> Bound:
    """Value and derivatives alone: what a line-search optimiser wants."""
    return evaluate(values, X, y, workspace, jitter).bound


def posteriors(
    values: dict[str, Array], X: Array, y: Array, workspace: Workspace, jitter: float = JITTER
) -> tuple[Posterior, Posterior]:
    """q(f*) and q(g*) at these parameters (paper, mu_f*, sigma2_f*, mu_g*, sigma2_g*)."""
    state = evaluate(values, X, y, workspace, jitter)
    return workspace.f.posterior(state.alpha), workspace.g.posterior(state.w, float(values["mu0"]))
