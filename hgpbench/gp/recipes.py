"""Ways to fit VSHGP: the paper's, and natural steps on q(g_u) inside L-BFGS on everything else.

The paper's variables are a poor choice for a line search: the tied mean mu_g = mu0 + Q (lambda - 1/2)
amplifies every change of lambda, so lambda hardly moves. ``natural`` frees the mean of q(g_u), whose optimum
is the same, and takes q(g_u) out of the search: each evaluation first refines it by natural steps from where
the last iterate left it, and L-BFGS climbs phi(theta) = max_q F(theta, q). By the envelope theorem the
derivative of phi is that of F at the refined q. On toy it passes the paper's recipe in a third of the
evaluations.

Where few inducing points leave much of f unexplained, the bound rises most by calling that noise, and the
mean gets worse. ``guarded`` lets f move only if its leave-one-out residuals do not grow by it.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.gp import vshgp
from hgpbench.gp.cg import conjugate_gradients
from hgpbench.gp.optim import Callback, OptimResult, lbfgs
from hgpbench.gp.params import Bound, Layout, objective
from hgpbench.la import JITTER, Array

OF_F = ("s2_kf", "ell_f", "Xm")
THETA = (*OF_F, "s2_kg", "ell_g", "Xu", "mu0")
WARM_UP = 8  # natural steps at the first theta
SHARE_ON_G = 0.5  # of the iterations of ``guarded``, at most, before f may move ...
PROBE = 10  # ... and how many then tell whether it should
GROWTH = 1.01  # of the mean squared leave-one-out residual, beyond which f goes back ...
CHANCE = 2.0  # ... if it grew by more than so many standard errors, too


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
    warm_up: int = WARM_UP,
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


def guarded(
    values: dict[str, Array],
    X: Array,
    y: Array,
    workspace: vshgp.Workspace,
    *,
    max_iter: int = 100,
    hold: Iterable[str] = (),
    jitter: float = JITTER,
    callback: Callback | None = None,
) -> tuple[dict[str, Array], OptimResult]:
    """As ``natural``, from an f that suits constant noise: first all but that f, then f too if it gains.

    It gains if the mean squared leave-one-out residual does not grow. If it does, f goes back, and the rest
    of the iterations is about the noise alone.
    """
    held = (*hold, *OF_F)

    def tell(step: int, value: float) -> None:
        if callback is not None:
            callback(step, max_iter, value)

    def climb(start: dict[str, Array], held: Iterable[str], most: int, done: int, aloud: bool) -> Climb:
        def report(step: int, _: int | None, value: float) -> None:
            tell(done + step, value)

        return Climb(
            *natural(
                start,
                X,
                y,
                workspace,
                max_iter=most,
                warm_up=0 if done else WARM_UP,
                hold=held,
                jitter=jitter,
                callback=report if aloud else None,
            )
        )

    first = climb(values, held, max(1, round(SHARE_ON_G * max_iter)), 0, aloud=True)
    squares = left_out_squares(first.values, X, y, workspace, jitter)
    best, spent = first, 0
    while best.run.outcome != "failed" and best.run.iterations < max_iter:
        done = best.run.iterations
        most = max_iter - done if best is not first else min(PROBE, max_iter - done)
        trial = climb(best.values, hold, most, done, aloud=False)
        if _grown(squares, left_out_squares(trial.values, X, y, workspace, jitter)):
            spent = trial.run.evaluations
            if first.run.outcome == "limit reached":
                best = best.then(climb(best.values, held, max_iter - done, done, aloud=True))
            break
        best = best.then(trial)
        for step, _, value in trial.run.trace[1:]:
            tell(done + int(step), float(value))
        if trial.run.outcome != "limit reached":
            break
    return best.values, replace(best.run, evaluations=best.run.evaluations + spent)


class Climb(NamedTuple):
    """Where a search ended, and how."""

    values: dict[str, Array]
    run: OptimResult

    def then(self, following: "Climb") -> "Climb":
        """This search continued by another."""
        return Climb(following.values, self.run.then(following.run))


def left_out_squares(
    values: dict[str, Array], X: Array, y: Array, workspace: vshgp.Workspace, jitter: float = JITTER
) -> Array:
    """The squared leave-one-out residuals of f (n,); infinite where the bound cannot be evaluated."""
    try:
        with np.errstate(all="ignore"):
            state = vshgp.evaluate(values, X, y, workspace, jitter)
            residuals = vshgp.left_out_residuals(state, y, float(values["mu0"]), slice(None))
    except LinAlgError:
        return np.full(len(y), np.inf)
    return np.where(np.isfinite(residuals), residuals**2, np.inf)


def _grown(before: Array, after: Array) -> bool:
    """Whether squared residuals grew, by more than a little and than chance: that of all rows is the same."""
    if not np.isfinite(after).all():
        return True
    growth = after - before
    chance = float(growth.std()) / np.sqrt(len(growth))
    mean = float(growth.mean())
    return mean > (GROWTH - 1.0) * float(before.mean()) and mean > CHANCE * chance


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
