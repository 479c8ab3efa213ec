"""The collapsed bound, log N(y | 0, Qnn + diag(r)) and a trace term: VSGP, FITC and the f-side of VSHGP.

With rho = 1/r and, whitened, B = I + V^T diag(rho) V, everything follows from alpha = B^-1 V^T (rho y):

    vfe    log N(y | 0, Qnn + R) - 1/2 sum rho (knn - qnn)       Titsias (2009); the f-terms of F_V
    fitc   log N(y | 0, Qnn + R + diag(knn - qnn))               Snelson and Ghahramani (2006)

The two differ in two places: what joins the noise, and where the derivative of knn - qnn goes.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hgpbench.gp.kernels import KernelGrad
from hgpbench.gp.params import Bound
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.process import Factored, Outer, Process, Projected
from hgpbench.la import JITTER, Array

Kind = Literal["vfe", "fitc"]
LOG_2PI = float(np.log(2.0 * np.pi))
POSITIVE = ("s2_k", "ell", "sigma2")
"""Parameters of ``bound`` that an optimiser should see as logarithms; the other one is ``Xm``."""


@dataclass(frozen=True, eq=False)
class Collapsed:
    """The bound, its derivatives by the noise and by the kernel, alpha (m,), and the factors behind them.

    ``t`` (n,) is 1/2 + r d/dr, computed without that cancellation; for vfe the paper's (Lambda_ab + I) / 2.
    """

    value: float
    t: Array
    dr: Array
    grad: KernelGrad
    alpha: Array
    factored: Factored


def evaluate(f: Projected, r: Array, y: Array, kind: Kind = "vfe") -> Collapsed:
    """Value and derivatives for noise ``r`` (n,) and targets ``y`` (n,): 3 n m^2 flops, 6 for fitc."""
    rho = 1.0 / (r if kind == "vfe" else r + f.slack)
    back = f.condition(rho)
    value, alpha, e = _solve(back.factored, y)
    # dV = diag(rho) V (I - B^-1) + beta alpha^T, where V^T beta = alpha
    outer = Outer(rho * e, alpha, y - e, alpha)
    if kind == "vfe":
        value -= _trace_term(back.factored)
        explained, grad = back.pull_weighted(outer, -0.5 * float(rho.sum()))
        t = 0.5 * rho * (e * e + f.kd - explained)
    else:
        # d/dr is that by knn - qnn too, where vfe has -rho/2: dV -= diag(2 rho t) V
        posterior = np.maximum(f.qnn - back.explained(), 0.0)  # diag(V B^-1 V^T)
        t = 0.5 * rho * (e * e + posterior)
        _, grad = back.pull_weighted(outer, float(rho @ (t - 0.5)), excess=2.0 * rho * t)
    return Collapsed(value, t, rho * (t - 0.5), grad, alpha, back.factored)


def evaluate_noise(f: Projected, r: Array, y: Array) -> tuple[float, Array]:
    """The vfe bound and ``t`` alone, for steps that leave the kernel as it is: 2 n m^2."""
    factored = f.factor(1.0 / r)
    value, _, e = _solve(factored, y)
    t = 0.5 * factored.weights * (e * e + f.kd - factored.explained())
    return value - _trace_term(factored), t


def mean(factored: Factored, y: Array) -> Array:
    """alpha = B^-1 V^T (rho y) (m,), the whitened mean of q*(f_m), for weights rho."""
    return factored.solve((factored.weights * y) @ factored.projected.V)


def _solve(factored: Factored, y: Array) -> tuple[float, Array, Array]:
    """log N(y | 0, Q + R) by Woodbury's identity, alpha (m,), and the residual e = y - V alpha (n,)."""
    rho, alpha = factored.weights, mean(factored, y)
    e = y - factored.projected.V @ alpha
    quadratic = float(y @ (rho * e))  # Sigma_y^-1 y = rho e
    logdets = factored.logdet_B - float(np.log(rho).sum())
    return -0.5 * (len(y) * LOG_2PI + logdets + quadratic), alpha, e


def _trace_term(factored: Factored) -> float:
    """1/2 sum rho (knn - qnn), where sum rho qnn = tr B - m is at hand."""
    f = factored.projected
    return 0.5 * (f.kd * float(factored.weights.sum()) - (factored.trace_B - f.m))


def bound(
    values: dict[str, Array], X: Array, y: Array, memory: Process, kind: Kind = "vfe", jitter: float = JITTER
) -> Bound:
    """VSGP's or FITC's bound with derivatives by ``s2_k``, ``ell`` (d,), ``Xm`` (m, d) and ``sigma2``."""
    f = _project(values, X, memory, jitter)
    collapsed = evaluate(f, np.full(len(X), float(values["sigma2"])), y, kind)
    grads = {
        "s2_k": np.asarray(collapsed.grad.ds2_k),
        "ell": collapsed.grad.dell,
        "Xm": collapsed.grad.dZ,
        "sigma2": np.asarray(collapsed.dr.sum()),
    }
    return Bound(collapsed.value, grads, f.jitter)


def posterior(
    values: dict[str, Array], X: Array, y: Array, memory: Process, kind: Kind = "vfe", jitter: float = JITTER
) -> Posterior:
    """q(f*) at these parameters (paper, mu_f* and sigma2_f*)."""
    f = _project(values, X, memory, jitter)
    r = np.full(len(X), float(values["sigma2"]))
    factored = f.factor(1.0 / (r if kind == "vfe" else r + f.slack))
    return factored.posterior(mean(factored, y))


def _project(values: dict[str, Array], X: Array, memory: Process, jitter: float) -> Projected:
    return memory.project(values["s2_k"], values["ell"], X, values["Xm"], jitter)
