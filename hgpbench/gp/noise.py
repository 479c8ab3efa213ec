"""q(g) of the log noise variance, from lambda: moments, KL and their pullback (paper, II-C).

Whitened, q(g_u) has covariance B^-1 with B = I + V^T diag(lam) V, and mean w. In the paper the mean is tied,
w = V^T (lam - 1/2); a free ``w`` has the same optimum and suits the natural step.
"""

from dataclasses import dataclass

import numpy as np

from hgpbench.gp.kernels import KernelGrad
from hgpbench.gp.process import Conditioned, Factored, Outer
from hgpbench.la import Array


def log_variance(mu_g: Array, s2_g: Array) -> Array:
    """log r = mu_g - s2_g / 2 (paper, R_g): the noise that the bounds see, from the moments of g."""
    return mu_g - 0.5 * s2_g


@dataclass(frozen=True, eq=False)
class NoiseMoments:
    """mu_g and s2_g (n,) at the inputs, KL(q(g_u) || p(g_u)), and the whitened mean w (u,)."""

    mu_g: Array
    s2_g: Array
    kl: float
    w: Array

    @property
    def r(self) -> Array:
        """R_g, the noise variances that the bound sees (n,)."""
        return np.exp(log_variance(self.mu_g, self.s2_g))


@dataclass(frozen=True, eq=False)
class NoiseGrad:
    """Derivatives by lambda (n,), mu0, the kernel, and the whitened mean (``dw``, free or tied)."""

    dlam: Array
    dmu0: float
    dw: Array
    grad: KernelGrad


def moments(g: Factored | Conditioned, mu0: float, w: Array | None = None) -> NoiseMoments:
    """Moments and KL for weights lambda; ``w`` is tied to them unless given: 2 n u^2, or 1 where factored.

    KL = (tr B^-1 + w'w - u + log |B|) / 2 takes neither Sigma_u nor a second factorisation.
    """
    factored, explained = (g.factored if isinstance(g, Conditioned) else g), g.explained()
    V, LBinv = factored.projected.V, factored.LBinv
    if w is None:
        w = (factored.weights - 0.5) @ V
    trace_Bi = float(np.vdot(LBinv.T, LBinv.T))  # C-ordered: vdot copies others
    kl = 0.5 * (trace_Bi + float(w @ w) - len(w) + factored.logdet_B)
    return NoiseMoments(mu0 + V @ w, factored.projected.kd - explained, kl, w)


def pullback(g: Conditioned, mu0: float, q: NoiseMoments, h: Array, t: Array, *, tied: bool) -> NoiseGrad:
    """Pull dmu_g = h and ds2_g = -t/2, together with -KL, back to lambda, mean and kernel: 3 n u^2.

    ``q`` are the ``moments`` of ``g``, which is used up; ``t`` must not be negative.
    """
    V, lam = g.projected.V, g.factored.weights
    Vh = h @ V
    dw = Vh - q.w
    outer = [Outer(h, q.w, q.mu_g - mu0, Vh)]
    if tied:
        outer.append(Outer(lam - 0.5, dw, V @ dw, q.w))
    v_E, grad = g.pull_moments(t, outer)
    dlam = 0.5 * v_E
    if tied:
        dlam += outer[1].along
    return NoiseGrad(dlam, float(h.sum()), dw, grad)
