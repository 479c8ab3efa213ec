"""Statements of the paper that are mathematics: not shown by runs, but computed while the report is made."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hgpbench.gp import collapsed, factorised, noise, vshgp
from hgpbench.gp.whitened import Natural, Rooted
from hgpbench.paper.criteria import Finding

PROBLEMS = 10  # random ones, seeds 0 to 9
ROWS, POINTS, INPUTS = 60, 8, 3
ROUND_OFF = 1e-9  # nats a row

Array = NDArray[np.float64]
Values = dict[str, Array]


@dataclass(frozen=True)
class Identity:
    """What must come out of a computation on random problems, in words, and the computation."""

    words: str
    compute: Callable[[], Finding]

    def check(self) -> Finding:
        """The outcome, the same on every machine to the digits that are told."""
        return self.compute()


@dataclass(frozen=True)
class Problem:
    """Rows, parameters of VSHGP and its q(g_u)."""

    inputs: Array
    targets: Array
    values: Values
    q_g: Natural

    @property
    def collapsed_bound(self) -> float:
        """F_V."""
        return vshgp.bound(self.values, self.inputs, self.targets, _space()).value

    def bound(self, q_f: Natural | Rooted) -> float:
        """F with some q(f_m)."""
        return self._state(q_f).bound.value

    def best(self) -> Natural:
        """q*(f_m), by one unit natural step from the prior."""
        prior = Natural.prior(POINTS)
        return prior.step(self._state(prior).pulls["f"], 1.0)

    def fixed_point(self) -> Array:
        """Lambda_nn = (Lambda_ab + I) / 2 of the appendix."""
        projection = vshgp.project(self.values, self.inputs, _space())
        q = noise.moments(projection.g.factor(self.values["lam"]), float(self.values["mu0"]), None)
        return collapsed.evaluate_noise(projection.f, q.r, self.targets)[1]

    def _state(self, q_f: Natural | Rooted) -> factorised.State:
        shared = {name: value for name, value in self.values.items() if name != "lam"}
        space = factorised.Workspace(ROWS, POINTS, POINTS)
        return factorised.evaluate(
            shared, {"f": q_f.q, "g": self.q_g.q}, self.inputs, self.targets, ROWS, space
        )


def below_the_collapsed() -> Finding:
    """F at other q(f_m) less F_V, at most."""
    worst = -np.inf
    for problem in problems():
        rng = np.random.default_rng(1)
        best = problem.best().q
        for size in (0.01, 0.1, 1.0):
            mean = best.mean + size * rng.standard_normal(POINTS)
            bent = np.eye(POINTS) + 0.3 * size * rng.standard_normal((POINTS, POINTS))
            root = np.asarray(np.linalg.cholesky(bent @ best.S @ bent.T), dtype=np.float64)
            other = Rooted.of(mean, root)
            worst = max(worst, problem.bound(other) - problem.collapsed_bound)
    told = f"largest F − F_V of {3 * PROBLEMS} other q: {worst:.2g} nats"
    return Finding("yes" if worst < 0 else "no", told)


def equal_at_the_best() -> Finding:
    """|F - F_V| a row at q*, at most."""
    gap = max(abs(p.bound(p.best()) - p.collapsed_bound) for p in problems()) / ROWS
    return _within(gap, f"|F − F_V| at q* on {PROBLEMS} problems")


def never_negative() -> Finding:
    """The least Lambda at its fixed point."""
    least = min(float(problem.fixed_point().min()) for problem in problems())
    told = f"least Λ of {PROBLEMS * ROWS:,} training rows: {least:.2g}"
    return Finding("yes" if least >= 0 else "no", told)


def _within(gap: float, words: str) -> Finding:
    limit = f"{ROUND_OFF:.0e} nats a row"
    return (
        Finding("yes", f"{words} below {limit}") if gap < ROUND_OFF else Finding("no", f"{words}: {gap:.1e}")
    )


@cache
def problems() -> tuple[Problem, ...]:
    """Random rows and parameters; q(g_u) with its mean tied to lambda, as the paper has it."""
    return tuple(_problem(np.random.default_rng(seed)) for seed in range(PROBLEMS))


def _problem(rng: np.random.Generator) -> Problem:
    inputs, targets = rng.standard_normal((ROWS, INPUTS)), rng.standard_normal(ROWS)
    values = {
        "s2_kf": np.asarray(rng.uniform(0.3, 3)),
        "ell_f": rng.uniform(0.5, 2, INPUTS),
        "Xm": rng.standard_normal((POINTS, INPUTS)),
        "s2_kg": np.asarray(rng.uniform(0.1, 1)),
        "ell_g": rng.uniform(0.5, 2, INPUTS),
        "Xu": rng.standard_normal((POINTS, INPUTS)),
        "mu0": np.asarray(rng.normal(-0.5, 0.5)),
        "lam": rng.uniform(0.1, 2, ROWS),
    }
    rows = vshgp.project(values, inputs, _space()).g.V
    precision = np.eye(POINTS) + rows.T @ (values["lam"][:, None] * rows)
    q_g = Natural.of(precision @ ((values["lam"] - 0.5) @ rows), precision)
    return Problem(inputs, targets, values, q_g)


def _space() -> vshgp.Workspace:
    return vshgp.Workspace(ROWS, POINTS, POINTS)
