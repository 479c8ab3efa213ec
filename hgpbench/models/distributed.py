"""A fit of DVSHGP from rows to parameters, and the committee that they make: what the estimator delegates."""

import time
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

import numpy as np

from hgpbench.columns import Array, chunks
from hgpbench.fitting.checkpoint import Arrays, Checkpoint
from hgpbench.fitting.start import guess, spread
from hgpbench.fitting.values import Values
from hgpbench.gp.committee import Kind
from hgpbench.gp.optim import Callback, OptimResult
from hgpbench.models import joint, passes
from hgpbench.models.experts import Expert, shared_layout, workspace_bytes
from hgpbench.models.memory import Needs, Pieces
from hgpbench.models.passes import Course, Plan
from hgpbench.models.question import Question
from hgpbench.models.shard import Rows
from hgpbench.models.workers import Workers, open_workers

Optimizer = Literal["natural", "lbfgs", "paper"]
OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)

TRIALS = 8  # experts that choose the initial values
F_STRETCHES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # lengthscales of f tried, as multiples of ``guess``
NOISES = (0.25, 0.05, 0.005, 0.0005)  # noise variances tried, as shares of the variance of y


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

    def local(self, name: str) -> Array:
        """A local parameter (of ``experts.LOCAL``), that of all experts one below the other."""
        owners = zip(self.inducing.astype(int).tolist(), self.states, strict=True)
        return np.concatenate(
            [
                Expert.restore(*self.rows.of(i), m, u, own).values[name]
                for i, ((m, u), own) in enumerate(owners)
            ]
        )

    def needs(self, letters: str) -> Needs:
        """The memory that a committee about these letters takes."""
        (m, u), n = self.inducing.max(axis=0).astype(int).tolist(), int(self.rows.sizes.max())
        return Needs(
            expert=workspace_bytes(n, m, u),
            model=8 * sum(len(state) for state in self.states),
            sums=3 * len(letters) * (self.lanes + 2),
            inputs=self.rows.X.shape[1],
        )

    def moments(
        self, Xs: Array, letters: str, kind: Kind, tolerance: float, pieces: Pieces
    ) -> dict[str, Array]:
        """Means and variances (2, s) of the committee's f or g, or both, at ``Xs`` (s, d)."""
        M = len(self.states)
        energy = float(np.max(np.add.reduceat(self.rows.y**2 / self.noise, self.rows.starts[:-1])))
        found = {letter: np.empty((2, len(Xs))) for letter in letters}
        with open_workers(self.rows, self.lanes, pieces.processes) as workers:
            workers.ask("restore", range(M), self.inducing, own=self.states)
            for rows in chunks(len(Xs), pieces.rows):
                question = Question(letters, kind, Xs[rows], tolerance, max(energy, 1.0), M)
                answers = workers.ask("confer", range(self.lanes), self.lanes, self.flat, question)
                for place, (letter, committee) in enumerate(question.committees(self.shared).items()):
                    for sums in answers:
                        committee.merge(sums[place])
                    found[letter][:, rows] = committee.result()
        return found


@dataclass(frozen=True)
class Recipe:
    """How to fit: the optimiser, inducing points (m, u) of an expert, and the limits."""

    optimizer: Optimizer
    n_inducing: tuple[int, int]
    lanes: int
    n_passes: int
    max_iter: int
    guard: bool
    seed: int


def fit_experts(
    rows: Rows, recipe: Recipe, n_workers: int, checkpoint: Checkpoint, callback: Callback | None
) -> tuple[Experts, OptimResult]:
    """Maximise the sum of the experts' bounds, on scaled data."""
    plan = Plan(rows.sizes, recipe.lanes, recipe.n_passes, recipe.seed, recipe.guard)
    everyone = range(len(plan.sizes))
    with open_workers(rows, recipe.lanes, n_workers) as workers:
        if checkpoint.found is None:
            inducing = np.array(workers.ask("place", everyone, *recipe.n_inducing, recipe.seed))
        else:
            inducing = checkpoint.found["inducing"]
            states = np.split(checkpoint.found["states"], checkpoint.found["ends"][:-1])
            workers.ask("restore", everyone, inducing, own=states)
        if recipe.optimizer == "natural":
            result = _by_passes(rows, plan, workers, inducing, checkpoint, callback)
        else:
            climb = joint.climb if recipe.optimizer == "lbfgs" else joint.paper
            flat = (
                authors_values(rows)
                if recipe.optimizer == "paper"
                else first_course(rows, plan, workers).flat
            )
            result = climb(workers, len(everyone), flat, recipe.max_iter, callback)
        states = workers.ask("state", everyone, False)
        noise = np.concatenate(workers.ask("noise", everyone, result.x))
    return Experts(rows, recipe.lanes, result.x, inducing, states, noise), result


def _by_passes(
    rows: Rows,
    plan: Plan,
    workers: Workers,
    inducing: Array,
    checkpoint: Checkpoint,
    callback: Callback | None,
) -> OptimResult:
    """The steps that are left, with checkpoints between them."""
    started = time.perf_counter() - checkpoint.seconds
    everyone = range(len(plan.sizes))

    def state() -> Arrays:
        states = workers.ask("state", everyone, True)
        ends = np.cumsum([len(one) for one in states])
        return course.arrays() | {"inducing": inducing, "states": np.concatenate(states), "ends": ends}

    def note(course: Course) -> None:
        bound = course.bound(plan.sizes)
        course.trace.append((float(course.step), time.perf_counter() - started, bound))
        checkpoint.offer(state)
        if callback is not None and course.step > 0:
            callback(course.step, plan.steps + 1, bound)

    if checkpoint.found is None:
        course = first_course(rows, plan, workers)
        note(course)
    else:
        course = Course.of(checkpoint.found)
    outcome = passes.ascend(course, plan, workers, note)
    if outcome != "failed":
        passes.settle(course, plan, workers)
        note(course)
    return OptimResult(
        course.flat,
        course.bound(plan.sizes),
        outcome,
        course.step,
        course.evaluations,
        np.array(course.trace),
        course.jitter,
    )


def authors_values(rows: Rows) -> Array:
    """The initial values of the authors' release, for standardised data."""
    unit = spread(rows.X)
    return shared_layout(rows.X.shape[1]).pack(
        {
            "s2_kf": np.var(rows.y),
            "ell_f": 0.5 * unit,
            "s2_kg": np.ones(()),
            "ell_g": 0.2 * unit,
            "mu0": np.log(0.25 * np.var(rows.y)),
        }
    )


def triers(M: int, lanes: int) -> list[int]:
    """Some of ``M`` experts, spread over all of them and over the lanes, so that no worker waits."""
    spread_out = np.linspace(0, M - 1, min(TRIALS, M)).astype(int).tolist()
    return [number - (number - place) % lanes for place, number in enumerate(spread_out)]


def first_course(rows: Rows, plan: Plan, workers: Workers) -> Course:
    """A fit before its first step: the lengthscales and the noise level that suit some experts best."""
    layout, first = shared_layout(rows.X.shape[1]), guess(rows.X, rows.y)
    chosen = triers(len(plan.sizes), plan.lanes)
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
