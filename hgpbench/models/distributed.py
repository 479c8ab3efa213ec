"""A fit of DVSHGP from rows to parameters, and the committee that they make: what the estimator delegates."""

import time
from dataclasses import dataclass
from itertools import product

import numpy as np

from hgpbench.gp.committee import Kind
from hgpbench.gp.optim import Callback, OptimResult
from hgpbench.models import passes
from hgpbench.models.base import Array
from hgpbench.models.experts import shared_layout
from hgpbench.models.initial import Values, guess
from hgpbench.models.passes import Course, Plan
from hgpbench.models.question import Question
from hgpbench.models.shard import Rows
from hgpbench.models.workers import Workers, open_workers

TRIALS = 8  # experts that choose the initial values
F_STRETCHES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # lengthscales of f tried, as multiples of ``guess``
NOISES = (0.25, 0.05, 0.005, 0.0005)  # noise variances tried, as shares of the variance of y
BLOCK = 65_536  # test rows at a time: six numbers each in every lane


@dataclass(frozen=True, eq=False)
class Experts:
    """All experts after a fit: rows, shared parameters (flat), and each one's own (see ``Shard.state``)."""

    rows: Rows
    lanes: int
    flat: Array
    inducing: Array
    states: list[Array]
    noise: Array  # (n,), variances at the rows

    @property
    def shared(self) -> Values:
        """The shared parameters by name."""
        return shared_layout(self.rows.X.shape[1]).unpack(self.flat)

    def moments(
        self, Xs: Array, letters: str, kind: Kind, tolerance: float, n_workers: int
    ) -> dict[str, tuple[Array, Array]]:
        """Means and variances of the committee's f or g, or both, at ``Xs``."""
        M = len(self.states)
        energy = float(np.max(np.add.reduceat(self.rows.y**2 / self.noise, self.rows.starts[:-1])))
        parts: dict[str, list[tuple[Array, Array]]] = {letter: [] for letter in letters}
        with open_workers(self.rows, self.lanes, n_workers) as workers:
            workers.ask("restore", range(M), self.inducing, own=self.states)
            for start in range(0, len(Xs), BLOCK):
                question = Question(letters, kind, Xs[start : start + BLOCK], tolerance, max(energy, 1.0), M)
                answers = workers.ask("confer", range(self.lanes), self.lanes, self.flat, question)
                for place, (letter, committee) in enumerate(question.committees(self.shared).items()):
                    for sums in answers:
                        committee.merge(sums[place])
                    parts[letter].append(committee.result())
        return {letter: _joined(blocks) for letter, blocks in parts.items()}


def fit_experts(
    rows: Rows,
    *,
    n_inducing: tuple[int, int],
    lanes: int,
    n_passes: int,
    guard: bool = True,
    seed: int,
    n_workers: int,
    callback: Callback | None,
) -> tuple[Experts, OptimResult]:
    """Maximise the sum of the experts' bounds by ``passes``, on scaled data."""
    started = time.perf_counter()
    plan = Plan(rows.sizes, lanes, n_passes, seed, guard)
    everyone = range(len(plan.sizes))

    def note(course: Course) -> None:
        bound = course.bound(plan.sizes)
        course.trace.append((float(course.step), time.perf_counter() - started, bound))
        if callback is not None and course.step > 0:
            callback(course.step, plan.steps + 1, bound)

    with open_workers(rows, lanes, n_workers) as workers:
        inducing = np.array(workers.ask("place", everyone, *n_inducing, seed))
        course = first_course(rows, plan, workers)
        note(course)
        outcome = passes.ascend(course, plan, workers, note)
        passes.settle(course, plan, workers)
        note(course)
        experts = Experts(
            rows,
            lanes,
            course.flat,
            inducing,
            workers.ask("state", everyone, False),
            np.concatenate(workers.ask("noise", everyone, course.flat)),
        )
    value = float(course.bounds.sum())
    result = OptimResult(
        course.flat, value, outcome, course.step, course.evaluations, np.array(course.trace), course.jitter
    )
    return experts, result


def first_course(rows: Rows, plan: Plan, workers: Workers) -> Course:
    """A fit before its first step: the lengthscales and the noise level that suit some experts best."""
    layout, first = shared_layout(rows.X.shape[1]), guess(rows.X, rows.y)
    chosen = np.linspace(0, len(plan.sizes) - 1, min(TRIALS, len(plan.sizes))).astype(int).tolist()
    trials = []
    for stretch, share in product(F_STRETCHES, NOISES):
        values = {
            "s2_kf": first["s2_k"],
            "ell_f": stretch * first["ell"],
            "s2_kg": np.ones(()),
            "ell_g": first["ell"],
            "mu0": np.log(share * first["s2_k"]),
        }
        flat = layout.pack(values)
        bounds = np.full(len(plan.sizes), np.nan)
        bounds[chosen] = np.array(workers.ask("bound", chosen, flat))[:, 0]
        trials.append(Course(flat, flat, bounds, evaluations=len(chosen)))
    best = max(trials, key=lambda trial: np.nan_to_num(trial.bounds[chosen].sum(), nan=-np.inf))
    best.evaluations = len(trials) * len(chosen)
    return best


def _joined(blocks: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    means, variances = zip(*blocks, strict=True)
    return np.concatenate(means), np.concatenate(variances)
