"""The factorised bound of SVSHGP on a mini-batch, with its derivatives; SVGP is the case of constant noise.

With q(f_m) and q(g_u) free, the expected log likelihood is a sum over rows, so s = n / b times the sum over a
random batch of b rows estimates it without bias (paper, section on SVSHGP):

    F = s sum log N(y | mu_f, r) - s2_f / (2 r) - s2_g / 4  -  KL(q(f_m) || p)  -  KL(q(g_u) || p)

with r = exp(mu_g - s2_g / 2). For SVGP r = sigma2, and the terms of g are absent. One evaluation serves the
gradient by kernels, inducing inputs, mu0 or sigma2, and the step of both q's.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from hgpbench.gp.batch import SHARES, Batch, BatchProcess
from hgpbench.gp.kernels import SMOOTH, Families
from hgpbench.gp.noise import log_variance
from hgpbench.gp.params import Bound
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.tasks import Run, serially
from hgpbench.gp.whitened import Pull, Whitened
from hgpbench.la import JITTER, Array

LOG_2PI = float(np.log(2.0 * np.pi))
POSITIVE = ("s2_kf", "ell_f", "s2_kg", "ell_g", "sigma2")
"""Parameters that an optimiser should see as logarithms, where present; the others are Xm, Xu and mu0."""

INDUCING = {"f": "Xm", "g": "Xu"}


class Workspace:
    """Memory for batches of at most ``b`` rows, ``m`` and ``u`` inducing points; no g where ``u`` is 0."""

    def __init__(
        self,
        b: int,
        m: int,
        u: int = 0,
        *,
        single: bool = False,
        run: Run = serially,
        families: Families = SMOOTH,
    ) -> None:
        self.processes = {"f": BatchProcess(b, m, families.f, single=single)}
        if u:
            self.processes["g"] = BatchProcess(b, u, families.g, single=single)
        self.run = run


class State(NamedTuple):
    """One evaluation: the bound with its derivatives, the batch, and what it wants of each q, by its letter.

    Batches and pulls live in the workspace and are good until its next evaluation.
    """

    bound: Bound
    batches: dict[str, Batch]
    pulls: dict[str, Pull]


class _Rows(NamedTuple):
    """The scaled likelihood terms: their sum, and its derivatives by mu (beta) and s2 (-omega / 2)."""

    value: float
    omega: dict[str, Array]
    beta: dict[str, Array]


def evaluate(
    values: dict[str, Array],
    q: dict[str, Whitened],
    X: Array,
    y: Array,
    n: int,
    workspace: Workspace,
    jitter: float = JITTER,
) -> State:
    """Estimate the bound of ``n`` rows, and its derivatives, from a batch ``X`` (b, d), ``y`` (b,).

    ``q`` has the letter f, and g unless ``values`` have a constant noise ``sigma2``.
    """
    batches = _project(values, q, X, workspace, jitter)
    rows = _likelihood(values, y, n, batches)
    pulls: dict[str, Pull] = {}
    grads: dict[str, Array] = {}

    def finish(letter: str, batch: Batch) -> None:
        grad, pulls[letter] = batch.finish(rows.omega[letter], rows.beta[letter])
        grads[f"s2_k{letter}"] = np.asarray(grad.ds2_k)
        grads[f"ell_{letter}"], grads[INDUCING[letter]] = grad.dell, grad.dZ

    workspace.run(
        [
            partial(batch.backward, share, rows.omega[letter], rows.beta[letter])
            for letter, batch in batches.items()
            for share in range(SHARES)
        ]
    )
    workspace.run([partial(finish, letter, batch) for letter, batch in batches.items()])
    slope = np.asarray(rows.beta["g"].sum())  # by log r, of all rows alike
    if "sigma2" in values:
        grads["sigma2"] = slope / values["sigma2"]
    else:
        grads["mu0"] = slope
    jitter = max(batch.inducing.jitter for batch in batches.values())
    return State(Bound(rows.value - divergence(q), grads, jitter), batches, pulls)


def log_likelihood(
    values: dict[str, Array],
    q: dict[str, Whitened],
    X: Array,
    y: Array,
    workspace: Workspace,
    jitter: float = JITTER,
) -> float:
    """The expected log likelihood of these rows: over all rows, less ``divergence``, the bound itself."""
    batches = _project(values, q, X, workspace, jitter)
    return _likelihood(values, y, len(y), batches).value


def divergence(q: dict[str, Whitened]) -> float:
    """KL(q(f_m) || p(f_m)) + KL(q(g_u) || p(g_u))."""
    return sum(one.kl for one in q.values())


def posteriors(
    values: dict[str, Array], q: dict[str, Whitened], workspace: Workspace, jitter: float = JITTER
) -> dict[str, Posterior]:
    """q(f*) and, where there is one, q(g*)."""
    nowhere = values["Xm"][:0]
    batches = _project(values, q, nowhere, workspace, jitter)
    prior_mean = {"f": 0.0, "g": float(values.get("mu0", np.nan))}
    return {letter: batch.posterior(prior_mean[letter]) for letter, batch in batches.items()}


def _project(
    values: dict[str, Array], q: dict[str, Whitened], X: Array, workspace: Workspace, jitter: float
) -> dict[str, Batch]:
    """f and g at the rows of the batch, with their moments."""
    prepared: dict[str, Batch] = {}

    def prepare(letter: str, process: BatchProcess) -> None:
        s2_k, ell, Z = (values[name] for name in (f"s2_k{letter}", f"ell_{letter}", INDUCING[letter]))
        prepared[letter] = process.project(s2_k, ell, X, Z, q[letter], jitter)

    processes = workspace.processes
    workspace.run([partial(prepare, letter, process) for letter, process in processes.items()])
    batches = {letter: prepared[letter] for letter in processes}  # in this order, whoever came first
    workspace.run([partial(batch.forward, share) for batch in batches.values() for share in range(SHARES)])
    return batches


def _likelihood(values: dict[str, Array], y: Array, n: int, batches: dict[str, Batch]) -> _Rows:
    """s times the expected log likelihood, E log N(y | f, e^g), row by row."""
    scale, f, g = n / len(y), batches["f"], batches.get("g")
    if g is None:
        s2_g = np.zeros(len(y))
        log_r = np.full(len(y), np.log(values["sigma2"]))
    else:
        s2_g = g.s2
        log_r = log_variance(values["mu0"] + g.mu, s2_g)
    e, rho = y - f.mu, np.exp(-log_r)
    t = 0.5 * rho * (e * e + f.s2)
    value = -scale * float((0.5 * (LOG_2PI + log_r + 0.5 * s2_g) + t).sum())
    omega = {"f": scale * rho, "g": scale * t}
    return _Rows(value, omega, {"f": omega["f"] * e, "g": scale * (t - 0.5)})
