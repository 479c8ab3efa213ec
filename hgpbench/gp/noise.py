"""q(g) of the log noise variance, from lambda: moments, KL and their pullback (paper, II-C).

Whitened, q(g_u) has covariance B^-1 with B = I + V^T diag(lam) V, and mean w. In the paper the mean is tied,
w = V^T (lam - 1/2); a free ``w`` has the same optimum and suits the natural step.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dger

from hgpbench.gp.kernels import KernelGrad
from hgpbench.gp.process import Process
from hgpbench.la.dense import Array, blas, diagonal
from hgpbench.la.passes import Outer


@dataclass(frozen=True, eq=False)
class NoiseMoments:
    """mu_g and s2_g (n,) at the inputs, KL(q(g_u) || p(g_u)), and the whitened mean w (u,)."""

    mu_g: Array
    s2_g: Array
    kl: float
    w: Array


@dataclass(frozen=True, eq=False)
class NoiseGrad:
    """Derivatives by lambda (n,), mu0, the kernel, and the whitened mean (``dw``, free or tied)."""

    dlam: Array
    dmu0: float
    dw: Array
    grad: KernelGrad


def moments(g: Process, lam: Array, mu0: float, w: Array | None = None) -> NoiseMoments:
    """Moments and KL for a projected ``g``; ``w`` is tied to ``lam`` unless given: 3 n u^2."""
    logdet_B = g.condition(lam)
    return _moments(g, logdet_B, g.apply(g.M), lam, mu0, w)


def moments_alone(g: Process, lam: Array, mu0: float, w: Array | None = None) -> NoiseMoments:
    """As ``moments``, without what ``pullback`` needs of it: 2 n u^2."""
    logdet_B = g.factor(lam)
    return _moments(g, logdet_B, g.explained(), lam, mu0, w)


def _moments(
    g: Process, logdet_B: float, explained: Array, lam: Array, mu0: float, w: Array | None
) -> NoiseMoments:
    """KL = (tr B^-1 + w'w - u + log |B|) / 2 takes neither Sigma_u nor a second factorisation."""
    if w is None:
        w = (lam - 0.5) @ g.V
    trace_Bi = float(np.vdot(g.LBinv.T, g.LBinv.T))  # C-ordered: vdot copies others
    kl = 0.5 * (trace_Bi + float(w @ w) - g.m + logdet_B)
    return NoiseMoments(mu0 + g.V @ w, g.kd - explained, kl, w)


def pullback(
    g: Process, lam: Array, mu0: float, q: NoiseMoments, h: Array, t: Array, *, tied: bool
) -> NoiseGrad:
    """Pull dmu_g = h and ds2_g = -t/2, together with -KL, back to lambda, mean and kernel: 3 n u^2.

    Call it after ``moments`` with the same ``g``, whose product P it uses up; ``t`` must not be negative.
    """
    T = g.gram(t, out=g.B)  # B has served
    # E = B^-1 (T - B + I) B^-1; only E L^-1 = B^-1 (T N - M) is needed.
    D = blas.dsymm(1.0, T, g.N, beta=-1.0, c=g.M, lower=True, overwrite_c=True)  # 2 u^3
    EL = blas.dsymm(1.0, g.Bi, D, c=g.spare, lower=True, overwrite_c=True)  # 2 u^3
    Vh = h @ g.V
    dw = Vh - q.w
    outer = [Outer(h, q.w @ g.Linv, q.mu_g - mu0)]
    if tied:
        Vdw = g.V @ dw
        outer.append(Outer(lam - 0.5, dw @ g.Linv, Vdw))
    v_E, sums = g.pull(lam, EL, outer, applied=t)  # v_E = diag(V E V^T)
    dlam = 0.5 * v_E
    if tied:
        dlam += Vdw
    # dV^T V = T - I + B^-1 - E + w (V^T h)^T [+ dw w^T]
    diagonal(T)[...] -= 1.0
    dger(1.0, q.w, Vh, a=T, overwrite_a=True)
    if tied:
        dger(1.0, dw, q.w, a=T, overwrite_a=True)
    g.N -= EL
    grad = g.gather(sums, T, g.N, -0.5 * float(t.sum()))
    return NoiseGrad(dlam, float(h.sum()), dw, grad)
