"""A fit of DVSHGP from rows to parameters, and the committee that they make: what the estimator delegates."""

import time
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from hgpbench.columns import Array, chunks
from hgpbench.experts import ascent, search
from hgpbench.experts.ascent import Course, Plan, lanes_for, passes_for
from hgpbench.experts.contribution import stack
from hgpbench.experts.crew import Crew
from hgpbench.experts.expert import local, shared_layout, workspace_bytes
from hgpbench.experts.flat import pack, unpack
from hgpbench.experts.memory import Needs, Pieces
from hgpbench.experts.optimizers import Lbfgs, Optimizer, Paper, Passes
from hgpbench.experts.owner import LASTING, Owner, committees
from hgpbench.experts.pool import Each, Pool
from hgpbench.experts.reach import Reach
from hgpbench.experts.rows import Rows
from hgpbench.experts.voices import Kept
from hgpbench.fitting.checkpoint import Arrays, Checkpoint
from hgpbench.fitting.start import Climbed, Start, Trial, Tried, as_table, contest, grid, guess, of_table
from hgpbench.fitting.values import Values
from hgpbench.gp.committee import Kind
from hgpbench.gp.kernels import SMOOTH, Families
from hgpbench.gp.optim import Callback, OptimResult

TRIALS = 8  # experts that choose the initial values
CONSTANT = 40  # iterations with constant noise, where these are all experts
CLIMB = 5  # visits of each from the best of the grid
G_LENGTHSCALES = (0.3, 1.0)  # of g, in terms of ``guess``


@dataclass(frozen=True, eq=False)
class Experts:
    """All experts after a fit: kernels, rows, shared parameters (flat), and the state of each."""

    families: Families
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
            expert=workspace_bytes(int(self.rows.sizes.max()), m, u, self.families),
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
        self, Xs: Array, letters: str, kind: Kind, tolerance: float, pieces: Pieces, crew: Crew
    ) -> dict[str, Array]:
        """Means and variances (2, s) of the committee's f, g or both, or its y, at ``Xs`` (s, d).

        Posteriors that this process makes are kept for the next time, as many as the pieces allow.
        """
        M = len(self.states)
        moments = {letter: np.empty((2, len(Xs))) for letter in letters}
        self.kept.voices.allow(pieces.kept)
        kept = self.kept if crew.is_here else None
        owner = partial(Owner, families=self.families, kept=kept)
        with crew.opened(self.rows, self.lanes, owner, LASTING) as pool:
            pool.ask(Owner.restore, range(M), Each(self.states))
            for rows in chunks(len(Xs), pieces.rows):
                reach = Reach(kind, Xs[rows], tolerance, self._energy, M)
                answers = pool.ask(Owner.confer, range(self.lanes), self.lanes, self.flat, reach, letters)
                for letter, committee in committees(reach, letters, self.shared).items():
                    for sums in answers:
                        committee.merge(sums[letter])
                    moments[letter][:, rows] = committee.result()
        return moments


class Fitted(NamedTuple):
    """How a fit ended, and the first values that were tried for it."""

    result: OptimResult
    tried: tuple[Tried, ...]


@dataclass(frozen=True)
class Recipe:
    """How to fit so many experts: the optimiser, inducing points (m, u) of an expert, a seed, and kernels."""

    optimizer: Optimizer
    n_experts: int
    n_inducing: tuple[int, int]
    seed: int
    n_restarts: int
    authors: Values  # shared parameters that the paper's recipe starts from
    families: Families = SMOOTH

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
    rows: Rows, recipe: Recipe, crew: Crew, checkpoint: Checkpoint, callback: Callback | None
) -> tuple[Experts, Fitted]:
    """Maximise the sum of the experts' bounds, on scaled data."""
    plan, everyone = recipe.plan(rows), range(recipe.n_experts)
    owner = partial(Owner, families=recipe.families)
    with crew.opened(rows, plan.lanes, owner, LASTING) as pool:
        if checkpoint.stored is None:
            apart = isinstance(recipe.optimizer, Paper)
            pool.ask(Owner.place, everyone, *recipe.n_inducing, recipe.seed, apart)
        else:
            states = unpack(checkpoint.stored["states"], _labels(everyone))
            pool.ask(Owner.restore, everyone, Each(states.values()))
        if isinstance(recipe.optimizer, Passes):
            result, tried = _by_passes(rows, plan, pool, recipe.n_restarts, checkpoint, callback)
        else:
            result, tried = _by_search(rows, plan, pool, recipe, recipe.optimizer, callback)
        left = pool.ask(Owner.state, everyone, False)
        noise = np.concatenate(pool.ask(Owner.noise, everyone, result.x))
    return Experts(recipe.families, rows, plan.lanes, result.x, left, noise), Fitted(result, tried)


def _by_search(
    rows: Rows,
    plan: Plan,
    pool: Pool[Owner],
    recipe: Recipe,
    optimizer: Lbfgs | Paper,
    callback: Callback | None,
) -> Fitted:
    """L-BFGS or the paper's conjugate gradients."""
    layout, M = shared_layout(rows.X.shape[1]), recipe.n_experts
    if isinstance(optimizer, Lbfgs):
        start = first_values(rows, plan, pool, recipe.n_restarts)
        flat = layout.pack(start.values)
        return Fitted(search.climb(pool, M, flat, optimizer.max_iter, callback), start.tried)
    flat = layout.pack(recipe.authors)
    return Fitted(search.paper(pool, M, flat, optimizer, callback), ())


def _by_passes(
    rows: Rows,
    plan: Plan,
    pool: Pool[Owner],
    n_restarts: int,
    checkpoint: Checkpoint,
    callback: Callback | None,
) -> Fitted:
    """The steps that are left, with checkpoints between them."""
    started = time.perf_counter() - checkpoint.seconds
    everyone = range(len(plan.sizes))

    def state() -> Arrays:
        states = pack(dict(zip(_labels(everyone), pool.ask(Owner.state, everyone, True), strict=True)))
        return course.arrays() | {"states": states, "tried": as_table(tried)}

    def note(course: Course) -> None:
        bound = course.bound(plan.sizes)
        course.trace.append((float(course.step), time.perf_counter() - started, bound))
        checkpoint.offer(state)
        if callback is not None and course.step > 0:
            callback(course.step, plan.steps + 1, bound)

    if checkpoint.stored is None:
        values, spent, tried = first_values(rows, plan, pool, n_restarts)
        flat = shared_layout(rows.X.shape[1]).pack(values)
        course = Course(flat, flat, _bounds(flat, plan, pool), evaluations=spent)
        note(course)
    else:
        course, tried = Course.of(checkpoint.stored), of_table(checkpoint.stored["tried"])
    outcome = ascent.ascend(course, plan, pool, note)
    if outcome != "failed" and not course.settled:
        ascent.settle(course, plan, pool)
        note(course)
    result = OptimResult(
        course.flat,
        course.bound(plan.sizes),
        outcome,
        course.step,
        course.evaluations,
        np.array(course.trace),
        course.jitter,
    )
    return Fitted(result, tried)


def _bounds(flat: Array, plan: Plan, pool: Pool[Owner]) -> Array:
    """The bounds of the experts that chose the first values, at these; not a number for the others."""
    bounds, chosen = np.full(len(plan.sizes), np.nan), triers(len(plan.sizes), plan.lanes)
    bounds[chosen] = stack(pool.ask(Owner.bound, chosen, flat)).values
    return bounds


def _labels(everyone: range) -> list[str]:
    """Names of experts in a checkpoint."""
    return [str(number) for number in everyone]


def triers(M: int, lanes: int) -> list[int]:
    """Some of ``M`` experts, spread over all of them and over the lanes, so that no worker waits."""
    spread_out = np.linspace(0, M - 1, min(TRIALS, M)).astype(int).tolist()
    return [number - (number - place) % lanes for place, number in enumerate(spread_out)]


def first_values(rows: Rows, plan: Plan, pool: Pool[Owner], n_restarts: int) -> Start:
    """The shared parameters that suit some experts best: first those of f, then the lengthscales of g.

    Until the noise has been learned a bit, the bound does not tell which lengthscales suit it; and where
    they start too long, it stays smooth. Where all experts take part, f is first learned with constant noise:
    what it does not explain yet would be taken for noise, and the guard would leave it at that. With more of
    them this moves the inducing inputs of a few alone, and gains nothing.
    """
    layout, plain = shared_layout(rows.X.shape[1]), guess(rows.X, rows.y)["ell"]
    chosen = triers(len(plan.sizes), plan.lanes)

    def shared(trial: Trial) -> Values:
        return {
            "s2_kf": trial.values["s2_k"],
            "ell_f": trial.values["ell"],
            "s2_kg": np.ones(()),
            "ell_g": plain,
            "mu0": np.log(trial.values["sigma2"]),
        }

    def judge(trial: Trial) -> Tried:
        bounds = stack(pool.ask(Owner.bound, chosen, layout.pack(shared(trial)))).values
        return Tried(trial.lengthscale, trial.noise, float(bounds.sum()))

    def climb_from(values: Values) -> Climbed:
        before = pool.ask(Owner.state, chosen, True)
        flat, bound = ascent.climb(layout.pack(values), chosen, pool, CLIMB)
        pool.ask(Owner.restore, chosen, Each(before))
        return Climbed(layout.unpack(flat), bound, CLIMB)

    start = contest(grid(rows.X, rows.y), judge, lambda trial: climb_from(shared(trial)), n_restarts)
    values = start.values if "ell_f" in start.values else shared(Trial(0.0, 0.0, start.values))
    evaluations = len(chosen) * (start.evaluations + CLIMB * len(G_LENGTHSCALES))
    if len(chosen) == len(plan.sizes):
        flat, spent = search.constant_noise(pool, chosen, layout.pack(values), CONSTANT)
        values, evaluations = layout.unpack(flat), evaluations + spent
    climbed = [climb_from(values | {"ell_g": stretch * plain}) for stretch in G_LENGTHSCALES]
    best = max(climbed, key=lambda one: one.bound)
    return Start(best.values if np.isfinite(best.bound) else values, evaluations, start.tried)
