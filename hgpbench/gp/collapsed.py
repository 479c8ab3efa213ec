"""The collapsed bound, log N(y | 0, Qnn + diag(r)) and a trace term: VSGP, FITC and the f-side of VSHGP.

With rho = 1/r and, whitened, B = I + V^T diag(rho) V, everything follows from alpha = B^-1 V^T (rho y):

    vfe    log N(y | 0, Qnn + R) - 1/2 sum rho (knn - qnn)       Titsias (2009); the f-terms of F_V
    fitc   log N(y | 0, Qnn + R + diag(knn - qnn))               Snelson and Ghahramani (2006)

The two differ in two places: what joins the noise, and where the derivative of knn - qnn goes.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import blas

from hgpbench.gp.kernels import SEARD, KernelGrad
from hgpbench.gp.params import Bound
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.process import Process, Sums
from hgpbench.la.dense import JITTER, Array, diagonal, rowdots
from hgpbench.la.passes import Outer

Kind = Literal["vfe", "fitc"]
LOG_2PI = float(np.log(2.0 * np.pi))
POSITIVE = ("s2_k", "ell", "sigma2")
"""Parameters of ``bound`` that an optimiser should see as logarithms; the other one is ``Xm``."""


@dataclass(frozen=True, eq=False)
class Collapsed:
    """The bound, its derivatives by the noise and by the kernel, and alpha (m,).

    ``t`` (n,) is 1/2 + r d/dr, computed without that cancellation; for vfe the paper's (Lambda_ab + I) / 2.
    """

    value: float
    t: Array
    dr: Array
    grad: KernelGrad
    alpha: Array


def evaluate(f: Process, r: Array, y: Array, kind: Kind = "vfe") -> Collapsed:
    """Value and derivatives for a projected ``f``, noise ``r`` (n,) and targets ``y`` (n,): 4 n m^2."""
    if kind == "vfe":
        rho = 1.0 / r
        value, alpha, e = _solve(f, f.condition(rho), rho, y)
        value -= _trace_term(f, rho)
        t, grad = _vfe_back(f, rho, y, e, alpha)  # uses B up
        return Collapsed(value, t, rho * (t - 0.5), grad, alpha)
    slack = f.kd - rowdots(f.V, f.V)  # knn - qnn
    rho = 1.0 / (r + slack)
    value, alpha, e = _solve(f, f.condition(rho), rho, y)
    t, grad = _fitc_back(f, rho, slack, e, alpha)
    return Collapsed(value, t, rho * (t - 0.5), grad, alpha)


def evaluate_noise(f: Process, r: Array, y: Array) -> tuple[float, Array]:
    """The vfe bound and ``t`` alone, for steps that leave the kernel as it is: 2 n m^2."""
    rho = 1.0 / r
    value, _, e = _solve(f, f.factor(rho), rho, y)
    return value - _trace_term(f, rho), 0.5 * rho * (e * e + f.kd - f.explained())


def _solve(f: Process, logdet_B: float, rho: Array, y: Array) -> tuple[float, Array, Array]:
    """log N(y | 0, Q + R) by Woodbury's identity, alpha (m,), and the residual e = y - V alpha (n,)."""
    alpha = f.solve((rho * y) @ f.V)
    e = y - f.V @ alpha
    quadratic = float(y @ (rho * e))  # Sigma_y^-1 y = rho e
    return -0.5 * (f.n * LOG_2PI + logdet_B - float(np.log(rho).sum()) + quadratic), alpha, e


def _trace_term(f: Process, rho: Array) -> float:
    """1/2 sum rho (knn - qnn), where sum rho qnn = tr B - m is at hand."""
    return 0.5 * (f.kd * float(rho.sum()) - (float(diagonal(f.B).sum()) - f.m))


def _vfe_back(f: Process, rho: Array, y: Array, e: Array, alpha: Array) -> tuple[Array, KernelGrad]:
    """dV = diag(rho) V (I - B^-1) + beta alpha^T and dV^T V = B - 2 I + B^-1 + alpha alpha^T."""
    # The row sums of (V (I - B^-1) L^-1) * Knm are diag(V (I - B^-1) V^T): no pass of its own for them.
    explained, sums = f.pull(rho, f.M, [Outer(rho * e, alpha @ f.Linv, y - e)])
    t = 0.5 * rho * (e * e + f.kd - explained)
    return t, _gather(f, sums, alpha, -0.5 * float(rho.sum()))


def _fitc_back(f: Process, rho: Array, slack: Array, e: Array, alpha: Array) -> tuple[Array, KernelGrad]:
    """As for vfe, but d/dr is that by knn - qnn too, where vfe has -rho/2: dV -= diag(2 rho t) V."""
    posterior = np.maximum(f.kd - slack - f.apply(f.M), 0.0)  # diag(V B^-1 V^T)
    t = 0.5 * rho * (e * e + posterior)
    excess = 2.0 * rho * t
    _, sums = f.pull(-excess, f.Linv, [Outer(rho * e, alpha @ f.Linv, f.V @ alpha)], applied=rho)
    f.B -= f.gram(excess, out=f.M)  # M has served; above the diagonal B is nobody's
    return t, _gather(f, sums, alpha, float(rho @ (t - 0.5)))


def _gather(f: Process, sums: Sums, alpha: Array, dkd: float) -> KernelGrad:
    """Pull dKnm back, dKmm from the lower triangle of ``f.B``, and the derivative by the prior variance."""
    diagonal(f.B)[...] -= 2.0
    blas.dsyr(1.0, alpha, a=f.B, lower=True, overwrite_a=True)
    return f.gather(sums, f.B, f.N, dkd)


def bound(
    values: dict[str, Array], X: Array, y: Array, f: Process, kind: Kind = "vfe", jitter: float = JITTER
) -> Bound:
    """VSGP's or FITC's bound with derivatives by ``s2_k``, ``ell`` (d,), ``Xm`` (m, d) and ``sigma2``."""
    _project(values, X, f, jitter)
    found = evaluate(f, np.full(len(X), float(values["sigma2"])), y, kind)
    grads = {
        "s2_k": np.asarray(found.grad.ds2_k),
        "ell": found.grad.dell,
        "Xm": found.grad.dZ,
        "sigma2": np.asarray(found.dr.sum()),
    }
    return Bound(found.value, grads, f.jitter)


def posterior(
    values: dict[str, Array], X: Array, y: Array, f: Process, kind: Kind = "vfe", jitter: float = JITTER
) -> Posterior:
    """q(f*) at these parameters (paper, mu_f* and sigma2_f*)."""
    _project(values, X, f, jitter)
    found = evaluate(f, np.full(len(X), float(values["sigma2"])), y, kind)
    return f.posterior(found.alpha)


def _project(values: dict[str, Array], X: Array, f: Process, jitter: float) -> None:
    f.project(SEARD(float(values["s2_k"]), values["ell"]), X, values["Xm"], jitter)
