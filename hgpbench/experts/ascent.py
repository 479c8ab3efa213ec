"""Shuffled passes over mini-batches of experts, with a guard for the mean: how DVSHGP is fitted by default.

At each step the experts of a batch take a natural step on q(g_u) and an Adam step on their inducing inputs,
and the sum of their gradients, scaled to all rows, moves the shared parameters by Adam.

On real data the bound goes on rising long after the mean has begun to get worse: the noise process learns to
call noise what f does not explain. So once the leave-one-out residuals of f grow, its kernel and its inducing
inputs go back to where they were least and stay there, and a few more passes are about the noise alone. On
protein (seed 20, the paper's sizes) ending there gives SMSE .385, MSLL -.814, going back and on with the
noise .380, -.877, and the paper's own recipe .385, -.849 in sixteen times the time.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from hgpbench.columns import Array
from hgpbench.experts.contribution import stack
from hgpbench.experts.expert import Step, of_f
from hgpbench.experts.owner import Owner
from hgpbench.experts.pool import Pool
from hgpbench.fitting.checkpoint import Arrays
from hgpbench.gp.adam import Adam
from hgpbench.gp.optim import Outcome

RATE = 0.05  # of Adam on the logarithms of the shared parameters ...
INDUCING_RATE = 0.02  # ... and on inducing inputs, in standard deviations
GAMMA = 0.7  # of the natural steps
COLDEST = 0.02  # share of the rates that is left at the last step
SETTLING = 3  # natural steps at the end, with the shared parameters as they are
GROWTH = 1.01  # of the leave-one-out error over its least, beyond which f is left alone; half is chance
NOISE_PASSES = 3  # at most, after that
SHORTEST_WINDOW = 10  # steps whose mean leave-one-out error is one figure to compare
LEAST_CAUTION = 1e-4  # steps that must be shortened beyond this lead nowhere
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
BETA2 = 0.99  # of Adam: its memory must be shorter than a fit
EPSILON = 1e-3  # of Adam: smaller slopes, in nats, are round-off and no direction


MOST_LANES = 16
STEPS_PER_PASS = 10  # at least, where there are experts enough
FEWEST_PASSES, FEWEST_STEPS = 10, 120  # unless fewer are asked for


def lanes_for(n_experts: int) -> int:
    """Lanes for a fit: an even number of them, so that two workers have the same to do."""
    return max(1, min(MOST_LANES, n_experts // STEPS_PER_PASS) // 2 * 2)


def passes_for(n_experts: int) -> int:
    """Passes that a fit makes unless told otherwise."""
    return max(FEWEST_PASSES, -(-FEWEST_STEPS * lanes_for(n_experts) // n_experts))


@dataclass(frozen=True)
class Plan:
    """How many passes over how many experts, in how many lanes; the order follows from the seed."""

    sizes: NDArray[np.intp]  # rows of each expert
    lanes: int
    passes: int
    seed: int
    guard: bool = True

    @property
    def steps_per_pass(self) -> int:
        """Batches in a pass: each takes at most one expert from each lane."""
        return -(-len(self.sizes) // self.lanes)

    @property
    def steps(self) -> int:
        """Batches in all."""
        return self.passes * self.steps_per_pass

    @property
    def window(self) -> int:
        """Steps whose leave-one-out errors are compared with earlier ones: whole passes, and not too few."""
        return -(-SHORTEST_WINDOW // self.steps_per_pass) * self.steps_per_pass

    def ends(self, held_at: int | None) -> int:
        """The number of the last step, for a fit that leaves f alone since this one."""
        if held_at is None:
            return self.steps
        return min(self.steps, held_at + NOISE_PASSES * self.steps_per_pass)

    def batch(self, step: int) -> list[int]:
        """The experts to visit at this step, in order of their lanes."""
        number, place = divmod(step, self.steps_per_pass)
        rng = np.random.default_rng([self.seed, number])
        orders = (rng.permutation(np.arange(lane, len(self.sizes), self.lanes)) for lane in range(self.lanes))
        return [int(order[place]) for order in orders if place < len(order)]

    def heat(self, step: int) -> float:
        """The share of the rates at this step: from one down along a cosine."""
        return COLDEST + (1.0 - COLDEST) * 0.5 * (1.0 + float(np.cos(np.pi * step / self.steps)))


@dataclass(eq=False)
class Course:
    """Where a fit stands between two steps, apart from what is local to the experts.

    The rest of the fit follows from it and from the experts' states alone: a window that is full has been
    compared, an end that was reached is part of it.
    """

    flat: Array  # shared parameters
    before: Array  # the same, one step earlier
    bounds: Array  # (M,), each expert's when it was visited last; not a number before that
    step: int = 0
    evaluations: int = 0
    caution: float = 1.0  # share of the rates, shortened where no expert could be evaluated
    jitter: float = 0.0
    errors: list[float] = field(default_factory=list)  # leave-one-out, shares of the steps of a window
    least_error: float = np.inf  # of the windows compared ...
    best: Array = field(default_factory=lambda: np.zeros(0))  # ... and the shared parameters at its end
    held_at: int | None = None  # the step since which f is left alone
    outcome: Outcome | None = None  # how the passes ended, once they have
    settled: bool = False  # whether the natural steps after them were taken
    trace: list[tuple[float, float, float]] = field(default_factory=list)
    adam: Adam = field(default_factory=lambda: Adam(beta2=BETA2, epsilon=EPSILON))

    def arrays(self) -> Arrays:
        """All of it, by name: what ``of`` takes."""
        return {
            "flat": self.flat,
            "before": self.before,
            "bounds": self.bounds,
            "step": np.asarray(self.step),
            "evaluations": np.asarray(self.evaluations),
            "caution": np.asarray(self.caution),
            "jitter": np.asarray(self.jitter),
            "errors": np.array(self.errors),
            "least_error": np.asarray(self.least_error),
            "best": self.best,
            "held_at": np.asarray(-1 if self.held_at is None else self.held_at),
            "outcome": np.asarray(-1 if self.outcome is None else OUTCOMES.index(self.outcome)),
            "settled": np.asarray(self.settled),
            "trace": np.array(self.trace),
            "adam.steps": np.asarray(self.adam.steps),
            "adam.mean": self.adam.mean,
            "adam.square": self.adam.square,
        }

    @classmethod
    def of(cls, arrays: Arrays) -> "Course":
        """The course that was stored."""
        course = cls(
            flat=arrays["flat"],
            before=arrays["before"],
            bounds=arrays["bounds"],
            step=int(arrays["step"]),
            evaluations=int(arrays["evaluations"]),
            caution=float(arrays["caution"]),
            jitter=float(arrays["jitter"]),
            errors=arrays["errors"].tolist(),
            least_error=float(arrays["least_error"]),
            best=arrays["best"],
            held_at=None if arrays["held_at"] < 0 else int(arrays["held_at"]),
            outcome=None if arrays["outcome"] < 0 else OUTCOMES[int(arrays["outcome"])],
            settled=bool(arrays["settled"]),
            trace=[(row[0], row[1], row[2]) for row in arrays["trace"].tolist()],
        )
        course.adam.steps = int(arrays["adam.steps"])
        course.adam.mean, course.adam.square = arrays["adam.mean"], arrays["adam.square"]
        return course

    def bound(self, sizes: NDArray[np.intp]) -> float:
        """The sum of the experts' bounds, scaled to all rows while some have not been visited."""
        seen = np.isfinite(self.bounds)
        return float(self.bounds[seen].sum() * sizes.sum() / sizes[seen].sum())


def ascend(course: Course, plan: Plan, pool: Pool[Owner], report: Callable[[Course], None]) -> Outcome:
    """Take the steps that are left; ``report`` hears of each."""
    while course.outcome is None:
        if not _advance(course, plan, pool):
            course.outcome = "diverged" if np.isfinite(course.bounds).any() else "failed"
            break
        if len(course.errors) >= plan.window:
            _watch(course, plan, pool)
        if course.step >= plan.ends(course.held_at):
            course.outcome = "limit reached" if course.held_at is None else "converged"
        # Not earlier: what is reported may be stored, and must be all that the rest of the fit follows from.
        report(course)
    return course.outcome


def climb(flat: Array, numbers: list[int], pool: Pool[Owner], visits: int) -> tuple[Array, float]:
    """Some visits of these experts alone: where they lead the shared parameters, and their bound there."""
    adam = Adam(rate=RATE, beta2=BETA2, epsilon=EPSILON)
    for _ in range(visits):
        visit = stack(pool.ask(Owner.visit, numbers, flat, Step(INDUCING_RATE, GAMMA)))
        if not visit.usable.all():
            return flat, -np.inf
        flat = flat + adam.step(visit.grads.sum(axis=0))
    return flat, float(stack(pool.ask(Owner.bound, numbers, flat)).values.sum())


def settle(course: Course, plan: Plan, pool: Pool[Owner]) -> None:
    """Natural steps with every expert at the shared parameters of the end: the bound is then exact."""
    everyone = range(len(plan.sizes))
    settled = stack(pool.ask(Owner.settle, everyone, course.flat, SETTLING))
    course.evaluations += SETTLING * len(everyone)
    course.bounds = settled.values
    course.step += 1
    course.settled = True


def _advance(course: Course, plan: Plan, pool: Pool[Owner]) -> bool:
    """One batch. Experts that have no answer add nothing; where none has, Adam's last steps are to blame."""
    while course.caution > LEAST_CAUTION:
        batch = plan.batch(course.step)
        heat = course.caution * plan.heat(course.step)
        step = Step(heat * INDUCING_RATE, GAMMA, moves_f=course.held_at is None)
        visits = stack(pool.ask(Owner.visit, batch, course.flat, step))
        course.evaluations += len(batch)
        usable = visits.usable
        if usable.any():
            break
        course.caution *= 0.5
        course.flat = course.before
    else:
        return False
    visited = np.array(batch)[usable]
    rows = plan.sizes[visited]
    course.bounds[visited] = visits.values[usable]
    course.jitter = float(visits.jitters[usable].max())
    if plan.guard and course.held_at is None:
        course.errors.append(float(visits.errors[usable] @ rows / plan.sizes.sum()))
    course.adam.rate = heat * RATE
    grad = visits.grads[usable].sum(axis=0)
    course.before = course.flat
    step_taken = course.adam.step(grad * (plan.sizes.sum() / rows.sum()))
    if course.held_at is not None:
        step_taken[of_f(course.flat)] = 0.0
    course.flat = course.flat + step_taken
    course.step += 1
    return True


def _watch(course: Course, plan: Plan, pool: Pool[Owner]) -> None:
    """Compare the window that has just ended with the best before it: keep f as it is, or go back to that."""
    everyone = range(len(plan.sizes))
    error = sum(course.errors)
    course.errors = []
    if error < course.least_error:
        course.least_error, course.best = error, course.flat
        pool.ask(Owner.keep, everyone)
    elif error > GROWTH * course.least_error:
        f = of_f(course.flat)
        course.flat = course.flat.copy()
        course.flat[f] = course.best[f]
        course.before, course.held_at = course.flat, course.step
        pool.ask(Owner.revert, everyone)
