"""All parameters of all experts as one vector for a line search: the optimisers to compare passes with.

Unlike the passes over mini-batches, a line search wants its vector in one place: local parameters and their
gradients travel at every evaluation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hgpbench.columns import Array
from hgpbench.experts.contribution import total
from hgpbench.experts.expert import LOCAL, of_f
from hgpbench.experts.optimizers import Paper
from hgpbench.experts.owner import Owner
from hgpbench.experts.pool import Each, Pool
from hgpbench.fitting.vshgp import SHARE_ON_LAMBDA
from hgpbench.gp.cg import conjugate_gradients
from hgpbench.gp.optim import Callback, Evaluation, Objective, OptimResult, lbfgs

LOG_NO_VARIANCE = float(np.log(1e-8))  # of g


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Some experts as one function of one vector.

    In the vector are the local parameters (``names``) of each and, if these move too, the shared ones.
    """

    pool: Pool[Owner]
    numbers: Sequence[int]
    names: tuple[str, ...]
    moves_shared: bool

    def start(self, flat: Array, lam: float | None = None) -> Array:
        """The vector at which things stand, given the shared parameters; or with ``lam`` for every lambda.

        Its logarithms end the part of each expert.
        """
        parts = self._parts()
        if lam is not None:
            for part, own in zip(parts, self.pool.ask(Owner.parts, self.numbers, ("lam",)), strict=True):
                part[-own.size :] = np.log(lam)
        return np.concatenate([flat if self.moves_shared else flat[:0], *parts])

    def objective(self, flat: Array) -> Objective:
        """The sum of the bounds as a function of the vector; ``flat`` where the shared ones are held."""
        sizes = [len(part) for part in self._parts()]

        def bound(x: Array) -> Evaluation:
            shared, parts = self._split(x, flat, sizes)
            trials = self.pool.ask(Owner.trial, self.numbers, shared, self.names, Each(parts))
            summed = total([trial.bound for trial in trials])
            grads = [summed.grad if self.moves_shared else flat[:0], *(trial.own for trial in trials)]
            return Evaluation(summed.value, np.concatenate(grads), summed.jitter)

        return bound

    def adopt(self, x: Array, flat: Array) -> Array:
        """Leave the experts at a vector; returns the shared parameters in it."""
        shared, parts = self._split(x, flat, [len(part) for part in self._parts()])
        self.pool.ask(Owner.adopt, self.numbers, shared, self.names, Each(parts))
        return shared

    def _split(self, x: Array, flat: Array, sizes: Sequence[int]) -> tuple[Array, list[Array]]:
        start = flat.size if self.moves_shared else 0
        return (x[:start] if start else flat), np.split(x[start:], np.cumsum(sizes)[:-1])

    def _parts(self) -> list[Array]:
        return self.pool.ask(Owner.parts, self.numbers, self.names)


def constant_noise(
    pool: Pool[Owner], numbers: Sequence[int], flat: Array, max_iter: int
) -> tuple[Array, int]:
    """The kernel of f, its inducing inputs and mu0 that suit these experts if their noise is constant.

    A process g without variance is mu0 everywhere. Returns the shared parameters, those of g as they were,
    and evaluations; the inducing inputs stay with the experts.
    """
    of_g = slice(of_f(flat).stop, len(flat) - 1)
    still = flat.copy()
    still[of_g.start] = LOG_NO_VARIANCE
    ensemble = Ensemble(pool, numbers, ("Xm",), moves_shared=True)
    bound = ensemble.objective(still)

    def held(x: Array) -> Evaluation:
        value, grad, jitter = bound(x)
        grad[of_g] = 0.0
        return Evaluation(value, grad, jitter)

    run = lbfgs(held, ensemble.start(still), max_iter=max_iter)
    if run.outcome == "failed":
        return flat, len(numbers) * run.evaluations
    found = ensemble.adopt(run.x, still).copy()
    found[of_g] = flat[of_g]
    return found, len(numbers) * run.evaluations


def climb(
    pool: Pool[Owner], n_experts: int, flat: Array, max_iter: int, callback: Callback | None
) -> OptimResult:
    """L-BFGS on everything, with a free mean of q(g_u); the result's vector is the shared parameters."""
    ensemble = Ensemble(pool, range(n_experts), LOCAL, moves_shared=True)
    run = lbfgs(ensemble.objective(flat), ensemble.start(flat), max_iter=max_iter, callback=callback)
    return replace(run, x=ensemble.adopt(run.x, flat), evaluations=n_experts * run.evaluations)


def paper(
    pool: Pool[Owner], n_experts: int, flat: Array, recipe: Paper, callback: Callback | None
) -> OptimResult:
    """The paper's recipe: conjugate gradients on lambda, then on everything, with the mean tied to lambda."""
    everything = ("Xm", "Xu", "lam")

    def stage(names: tuple[str, ...], searches: int, before: OptimResult | None) -> OptimResult:
        ensemble = Ensemble(pool, range(n_experts), names, moves_shared=names == everything)
        done = 0 if before is None else before.iterations

        def report(step: int, _: int | None, value: float) -> None:
            if callback is not None:
                callback(done + step, recipe.max_iter, value)

        start = ensemble.start(flat, recipe.first_lambda if before is None else None)
        run = conjugate_gradients(ensemble.objective(flat), start, line_searches=searches, callback=report)
        if run.outcome == "failed":
            return run
        return replace(run, x=ensemble.adopt(run.x, flat), evaluations=n_experts * run.evaluations)

    if recipe.stages == 1:
        return stage(everything, recipe.max_iter, None)
    first = max(1, round(SHARE_ON_LAMBDA * recipe.max_iter))
    lambdas = stage(("lam",), first, None)
    if lambdas.outcome == "failed":
        return lambdas
    return lambdas.then(stage(everything, max(1, recipe.max_iter - first), lambdas))
