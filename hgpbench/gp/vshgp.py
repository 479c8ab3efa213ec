"""The bound F_V of the variational sparse heteroscedastic GP, with all its derivatives (paper, eq. for F_V).

    F_V = log N(y | 0, Qnn + R_g) - 1/2 Tr R_g^-1 (Knn - Qnn)    f: the collapsed bound with noise r
          - 1/4 Tr Sigma_g - KL(q(g_u) || p(g_u))                g: the price of a noise process

with r = exp(mu_g - s2_g / 2). Value and full gradient take 11 n m^2 flops for m = u.
"""

from dataclasses import dataclass

import numpy as np

from hgpbench.gp import collapsed, noise
from hgpbench.gp.kernels import SEARD
from hgpbench.gp.latent import Latent
from hgpbench.gp.linalg import JITTER, Array
from hgpbench.gp.params import Bound
from hgpbench.gp.posterior import Posterior

POSITIVE = ("s2_kf", "ell_f", "s2_kg", "ell_g", "lam")
"""Parameters that an optimiser should see as logarithms; the others are Xm, Xu, mu0 and, when free, w."""


class Workspace:
    """Memory for evaluations with ``n`` rows, ``m`` and ``u`` inducing points, reused by each of them."""

    def __init__(self, n: int, m: int, u: int) -> None:
        self.f, self.g = Latent(n, m), Latent(n, u)


@dataclass(frozen=True, eq=False)
class State:
    """One evaluation: the bound and, for the natural step, where it would move q(g) and with what effect.

    ``t`` (n,) is the fixed point of lambda, (Lambda_ab + I) / 2; ``dw`` (u,) the derivative by the whitened
    mean w;
    ``newton`` = B^-1 dw (u,) the natural step of w and ``shift`` = V newton (n,) what it does to mu_g.
    """

    bound: Bound
    t: Array
    w: Array
    newton: Array
    shift: Array
    alpha: Array


def evaluate(
    values: dict[str, Array], X: Array, y: Array, workspace: Workspace, jitter: float = JITTER
) -> State:
    """Value, derivatives and natural step at ``values``; ``w`` is tied to ``lam`` where absent."""
    f, g = workspace.f, workspace.g
    lam, mu0, free = values["lam"], float(values["mu0"]), values.get("w")
    f.project(SEARD(float(values["s2_kf"]), values["ell_f"]), X, values["Xm"], jitter)
    g.project(SEARD(float(values["s2_kg"]), values["ell_g"]), X, values["Xu"], jitter)

    q = noise.moments(g, lam, mu0, free)
    r = np.exp(q.mu_g - 0.5 * q.s2_g)
    front = collapsed.evaluate(f, r, y)
    value = front.value - 0.25 * float(q.s2_g.sum()) - q.kl

    h = r * front.dr  # dF_V / d log r = Lambda_ab / 2
    t = np.maximum(h + 0.5, 0.0)  # -2 dF_V / ds2_g; not negative but for round-off (paper, Appendix A)
    back = noise.pullback(g, lam, mu0, q, h, t, tied=free is None)
    newton = g.solve(back.dw)
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
    bound = Bound(value, grads, max(f.jitter, g.jitter))
    return State(bound, t, q.w, newton, g.V @ newton, front.alpha)


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
