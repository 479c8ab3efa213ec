"""Two ways to fit VSHGP: the paper's, and natural steps on q(g_u) inside L-BFGS on everything else.

The paper's variables are a poor choice for a line search: the tied mean mu_g = mu0 + Q (lambda - 1/2)
amplifies every change of lambda, so lambda hardly moves. ``natural`` frees the mean of q(g_u), whose optimum
is the same, and takes q(g_u) out of the search: each evaluation first refines it by natural steps from where
the last iterate left it, and L-BFGS climbs phi(theta) = max_q F(theta, q). By the envelope theorem the
derivative of phi is that of F at the refined q. On toy it passes the paper's recipe in a third of the
evaluations.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.gp import vshgp
from hgpbench.gp.cg import conjugate_gradients
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Bound, Layout, objective
from hgpbench.la import JITTER, Array

THETA = ("s2_kf", "ell_f", "Xm", "s2_kg", "ell_g", "Xu", "mu0")


def paper(
    values: dict[str, Array],
    X: Array,
    y: Array,
    workspace: vshgp.Workspace,
    *,
    line_searches: tuple[int, int] = (30, 70),
    jitter: float = JITTER,
    callback: Callback | None = None,
) -> tuple[dict[str, Array], OptimResult]:
    """The paper's recipe: conjugate gradients on lambda alone, then on everything."""
    everything = Layout.of(values, vshgp.POSITIVE)
    first, second = line_searches

    def bound(trial: dict[str, Array]) -> Bound:
        return vshgp.bound(trial, X, y, workspace, jitter)

    def climb(layout: Layout, start: dict[str, Array], searches: int, done: int) -> OptimResult:
        def report(step: int, total: int | None, value: float) -> None:
            if callback is not None:
                callback(done + step, first + second, value)

        return conjugate_gradients(
            objective(bound, layout, start), layout.pack(start), line_searches=searches, callback=report
        )

    lambdas = everything.only(["lam"])
    run = climb(lambdas, values, first, 0)
    values = values | lambdas.unpack(run.x)
    if run.outcome != "failed":
        run = run.then(climb(everything, values, second, run.iterations))
        values = everything.unpack(run.x)
    return values, run


def natural(
    values: dict[str, Array],
    X: Array,
    y: Array,
    workspace: vshgp.Workspace,
    *,
    max_iter: int = 50,
    warm_up: int = 8,
    steps: int = 1,
    hold: Iterable[str] = (),
    tolerance: float = 1e-7,
    jitter: float = JITTER,
    callback: Callback | None = None,
) -> tuple[dict[str, Array], OptimResult]:
    """Maximise F_V over ``values`` but those on ``hold``; returns them, with a free mean ``w``, and the run.

    ``warm_up`` natural steps at the first theta, then at most ``max_iter`` iterations of L-BFGS with
    ``steps`` natural steps in each evaluation. The result counts each natural step as an evaluation of its
    own.
    """
    q, warmed = _warm_up(values, X, y, workspace, warm_up, jitter)
    free = [name for name in THETA if name not in frozenset(hold)]
    layout = Layout.of(
        {name: values[name] for name in free}, [name for name in vshgp.POSITIVE if name in free]
    )
    held = {name: values[name] for name in THETA if name not in free}
    envelope = _Envelope(q, X, y, workspace, steps, jitter)

    def accepted(step: int, total: int | None, value: float) -> None:
        envelope.accept()
        if callback is not None:
            callback(step, total, value)

    run = lbfgs(
        objective(envelope, layout, held),
        layout.pack(values),
        max_iter=max_iter,
        tolerance=tolerance,
        callback=accepted,
    )
    fitted = held | layout.unpack(run.x) | envelope.q
    return fitted, replace(run, evaluations=run.evaluations + envelope.refinements + warmed)


class _Envelope:
    """phi(theta): the bound at q(g_u) refined from ``q``, which moves on when an iterate is accepted."""

    def __init__(
        self, q: dict[str, Array], X: Array, y: Array, workspace: vshgp.Workspace, steps: int, jitter: float
    ) -> None:
        self.q = self._trial = q
        self.refinements = 0
        self._data = (X, y, workspace)
        self._steps, self._jitter = steps, jitter

    def __call__(self, theta: dict[str, Array]) -> Bound:
        X, y, workspace = self._data
        values = theta | self.q
        projection = vshgp.project(values, X, workspace, self._jitter)
        for _ in range(self._steps):
            refined = vshgp.refine(values, y, projection)
            values |= {"lam": refined.lam, "w": refined.w}
            self.refinements += 1
        self._trial = {"lam": values["lam"], "w": values["w"]}
        return vshgp.differentiate(values, y, projection).bound

    def accept(self) -> None:
        """Start the next refinements from the last evaluated q(g_u)."""
        self.q = self._trial


def _warm_up(
    values: dict[str, Array], X: Array, y: Array, workspace: vshgp.Workspace, steps: int, jitter: float
) -> tuple[dict[str, Array], int]:
    """Natural steps at fixed theta; a step that loses is taken back and the next ones are half as long."""
    q = {"lam": values["lam"], "w": values.get("w", np.zeros(len(values["Xu"])))}
    kept, best, gamma = q, -np.inf, 0.7
    try:
        projection = vshgp.project(values, X, workspace, jitter)
    except LinAlgError:
        return q, 0  # the search will say that it cannot start
    for _ in range(steps):
        refined = _try_refine(values | q, y, projection, gamma)
        if refined is None or refined.value < best:
            q, gamma = kept, 0.5 * gamma
        else:
            kept, best, q = q, refined.value, {"lam": refined.lam, "w": refined.w}
    return q, steps


def _try_refine(
    values: dict[str, Array], y: Array, projection: vshgp.Projection, gamma: float
) -> vshgp.Refined | None:
    try:
        with np.errstate(all="ignore"):
            refined = vshgp.refine(values, y, projection, gamma)
    except LinAlgError:
        return None
    return refined if np.isfinite(refined.value) and np.isfinite(refined.w).all() else None
