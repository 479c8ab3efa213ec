"""A fit of DVSHGP from rows to parameters, and the committee that they make: what the estimator delegates."""

import time
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product

import numpy as np

from hgpbench.columns import Array, chunks
from hgpbench.experts import ascent, search
from hgpbench.experts.ascent import Course, Plan, lanes_for, passes_for
from hgpbench.experts.contribution import stack
from hgpbench.experts.expert import local, shared_layout, workspace_bytes
from hgpbench.experts.flat import pack, unpack
from hgpbench.experts.memory import Needs, Pieces
from hgpbench.experts.optimizers import Lbfgs, Optimizer, Passes
from hgpbench.experts.owner import Owner, committees
from hgpbench.experts.pool import Each, Pool, open_pool
from hgpbench.experts.reach import Reach
from hgpbench.experts.rows import Rows
from hgpbench.experts.voices import Kept
from hgpbench.fitting.checkpoint import Arrays, Checkpoint
from hgpbench.fitting.start import authors_values, guess, spread
from hgpbench.fitting.values import Values
from hgpbench.gp.committee import Kind
from hgpbench.gp.optim import Callback, OptimResult

TRIALS = 8  # experts that choose the initial values
F_STRETCHES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # lengthscales of f tried, as multiples of ``guess``
NOISES = (0.25, 0.05, 0.005, 0.0005)  # noise variances tried, as shares of the variance of y


@dataclass(frozen=True, eq=False)
class Experts:
    """All experts after a fit: rows, shared parameters (flat), and the state of each."""

    rows: Rows
    lanes: int
    flat: Array
    states: list[Array]
    noise: Array  # (n,), variances at the rows
    kept: Kept = field(default_factory=Kept, repr=False)  # between predictions in this process

    @property
    def shared(self) -> Values:
        """The shared parameters by name."""
        return shared_layout(self.rows.X.shape[1]).unpack(self.flat)

    def local(self, name: str) -> Array:
        """A local parameter (of ``expert.LOCAL``), that of all experts one below the other."""
        return np.concatenate([local(state, name) for state in self.states])

    def needs(self, letters: str) -> Needs:
        """The memory that a committee about these letters takes."""
        m, u = self._most_points
        return Needs(
            expert=workspace_bytes(int(self.rows.sizes.max()), m, u),
            model=8 * sum(len(state) for state in self.states),
            sums=3 * len(letters) * (self.lanes + 2),
            inputs=self.rows.X.shape[1],
        )

    @cached_property
    def _most_points(self) -> tuple[int, int]:
        """Inducing points of f and of g, at most, in an expert."""
        m, u = (max(len(local(state, name)) for state in self.states) for name in ("Xm", "Xu"))
        return m, u

    @cached_property
    def _energy(self) -> float:
        """A bound on the squared means of an expert, in units of the prior variance."""
        return max(1.0, float(np.max(np.add.reduceat(self.rows.y**2 / self.noise, self.rows.starts[:-1]))))

    def moments(
        self, Xs: Array, letters: str, kind: Kind, tolerance: float, pieces: Pieces
    ) -> dict[str, Array]:
        """Means and variances (2, s) of the committee's f or g, or both, at ``Xs`` (s, d).

        Posteriors that this process makes are kept for the next time, as many as the pieces allow.
        """
        M = len(self.states)
        moments = {letter: np.empty((2, len(Xs))) for letter in letters}
        self.kept.voices.allow(pieces.kept)
        owner = Owner if pieces.processes > 1 else partial(Owner, kept=self.kept)
        with open_pool(self.rows, self.lanes, pieces.processes, owner) as pool:
            pool.ask(Owner.restore, range(M), Each(self.states))
            for rows in chunks(len(Xs), pieces.rows):
                reach = Reach(kind, Xs[rows], tolerance, self._energy, M)
                answers = pool.ask(Owner.confer, range(self.lanes), self.lanes, self.flat, reach, letters)
                for letter, committee in committees(reach, letters, self.shared).items():
                    for sums in answers:
                        committee.merge(sums[letter])
                    moments[letter][:, rows] = committee.result()
        return moments


@dataclass(frozen=True)
class Recipe:
    """How to fit so many experts: the optimiser, inducing points (m, u) of an expert, and a seed."""

    optimizer: Optimizer
    n_experts: int
    n_inducing: tuple[int, int]
    seed: int

    @property
    def n_passes(self) -> int:
        """Most passes over all experts; what they usually are stands for the work of a line search."""
        asked = self.optimizer.n_passes if isinstance(self.optimizer, Passes) else None
        return asked or passes_for(self.n_experts)

    def plan(self, rows: Rows) -> Plan:
        """Which experts to visit when."""
        guard = isinstance(self.optimizer, Passes) and self.optimizer.guard
        return Plan(rows.sizes, lanes_for(self.n_experts), self.n_passes, self.seed, guard)


def fit_experts(
    rows: Rows, recipe: Recipe, n_workers: int, checkpoint: Checkpoint, callback: Callback | None
) -> tuple[Experts, OptimResult]:
    """Maximise the sum of the experts' bounds, on scaled data."""
    plan, everyone = recipe.plan(rows), range(recipe.n_experts)
    with open_pool(rows, plan.lanes, n_workers, Owner) as pool:
        if checkpoint.stored is None:
            pool.ask(Owner.place, everyone, *recipe.n_inducing, recipe.seed)
        else:
            states = unpack(checkpoint.stored["states"], _labels(everyone))
            pool.ask(Owner.restore, everyone, Each(states.values()))
        if isinstance(recipe.optimizer, Passes):
            result = _by_passes(rows, plan, pool, checkpoint, callback)
        elif isinstance(recipe.optimizer, Lbfgs):
            flat = first_course(rows, plan, pool).flat
            result = search.climb(pool, len(everyone), flat, recipe.optimizer.max_iter, callback)
        else:
            values = authors_values(spread(rows.X), float(np.var(rows.y)))
            flat = shared_layout(rows.X.shape[1]).pack(values)
            result = search.paper(pool, len(everyone), flat, recipe.optimizer.max_iter, callback)
        left = pool.ask(Owner.state, everyone, False)
        noise = np.concatenate(pool.ask(Owner.noise, everyone, result.x))
    return Experts(rows, plan.lanes, result.x, left, noise), result


def _by_passes(
    rows: Rows, plan: Plan, pool: Pool[Owner], checkpoint: Checkpoint, callback: Callback | None
) -> OptimResult:
    """The steps that are left, with checkpoints between them."""
    started = time.perf_counter() - checkpoint.seconds
    everyone = range(len(plan.sizes))

    def state() -> Arrays:
        states = pool.ask(Owner.state, everyone, True)
        return course.arrays() | {"states": pack(dict(zip(_labels(everyone), states, strict=True)))}

    def note(course: Course) -> None:
        bound = course.bound(plan.sizes)
        course.trace.append((float(course.step), time.perf_counter() - started, bound))
        checkpoint.offer(state)
        if callback is not None and course.step > 0:
            callback(course.step, plan.steps + 1, bound)

    if checkpoint.stored is None:
        course = first_course(rows, plan, pool)
        note(course)
    else:
        course = Course.of(checkpoint.stored)
    outcome = ascent.ascend(course, plan, pool, note)
    if outcome != "failed" and not course.settled:
        ascent.settle(course, plan, pool)
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


def _labels(everyone: range) -> list[str]:
    """Names of experts in a checkpoint."""
    return [str(number) for number in everyone]


def triers(M: int, lanes: int) -> list[int]:
    """Some of ``M`` experts, spread over all of them and over the lanes, so that no worker waits."""
    spread_out = np.linspace(0, M - 1, min(TRIALS, M)).astype(int).tolist()
    return [number - (number - place) % lanes for place, number in enumerate(spread_out)]


def first_course(rows: Rows, plan: Plan, pool: Pool[Owner]) -> Course:
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
        bounds[chosen] = stack(pool.ask(Owner.bound, chosen, flat)).values
        trials.append(Course(flat, flat, bounds, evaluations=len(chosen)))
    best = max(trials, key=lambda trial: np.nan_to_num(trial.bounds[chosen].sum(), nan=-np.inf))
    best.evaluations = len(trials) * len(chosen)
    return best
