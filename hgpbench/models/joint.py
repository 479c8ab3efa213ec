"""All parameters of all experts as one vector for a line search: the recipes to compare DVSHGP's own with.

Unlike the passes over mini-batches, a line search wants its vector in one place: local parameters and their
gradients travel at every evaluation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hgpbench.gp.cg import conjugate_gradients
from hgpbench.gp.optim import Callback, Evaluation, Objective, OptimResult, lbfgs
from hgpbench.la import Array
from hgpbench.models.experts import LOCAL
from hgpbench.models.workers import Workers

PAPER_SHARE = 0.3  # of the paper's line searches go to lambda alone: 30 of 100


@dataclass(frozen=True, eq=False)
class Joint:
    """Which local parameters (``names``) of the experts move, and whether the shared ones do too."""

    workers: Workers
    n_experts: int
    names: tuple[str, ...]
    moves_shared: bool

    def start(self, flat: Array) -> Array:
        """The vector at which things stand, given the shared parameters."""
        return np.concatenate([flat if self.moves_shared else flat[:0], *self._ask("parts", self.names)])

    def objective(self, flat: Array) -> Objective:
        """The sum of the bounds as a function of the vector; ``flat`` where the shared ones are held."""
        sizes = [len(part) for part in self._ask("parts", self.names)]

        def bound(x: Array) -> Evaluation:
            shared, parts = self._split(x, flat, sizes)
            found = self._ask("trial", shared, self.names, own=parts)
            value = float(sum(row[0] for row in found))
            total = np.sum([row[3 : 3 + flat.size] for row in found], axis=0)
            grads = [total if self.moves_shared else total[:0], *(row[3 + flat.size :] for row in found)]
            return Evaluation(value, np.concatenate(grads), float(max(row[1] for row in found)))

        return bound

    def adopt(self, x: Array, flat: Array) -> Array:
        """Leave the experts at a vector; returns the shared parameters in it."""
        sizes = [len(part) for part in self._ask("parts", self.names)]
        shared, parts = self._split(x, flat, sizes)
        self._ask("adopt", shared, self.names, own=parts)
        return shared

    def _split(self, x: Array, flat: Array, sizes: Sequence[int]) -> tuple[Array, list[Array]]:
        start = flat.size if self.moves_shared else 0
        return (x[:start] if start else flat), np.split(x[start:], np.cumsum(sizes)[:-1])

    def _ask(self, question: str, *details: object, own: Sequence[Array] = ()) -> list[Array]:
        return self.workers.ask(question, range(self.n_experts), *details, own=own)


def climb(
    workers: Workers, n_experts: int, flat: Array, max_iter: int, callback: Callback | None
) -> OptimResult:
    """L-BFGS on everything, with a free mean of q(g_u); the result's vector is the shared parameters."""
    joint = Joint(workers, n_experts, LOCAL, moves_shared=True)
    run = lbfgs(joint.objective(flat), joint.start(flat), max_iter=max_iter, callback=callback)
    return replace(run, x=joint.adopt(run.x, flat), evaluations=n_experts * run.evaluations)


def paper(
    workers: Workers, n_experts: int, flat: Array, max_iter: int, callback: Callback | None
) -> OptimResult:
    """The paper's recipe: conjugate gradients on lambda, then on everything, with the mean tied to lambda."""
    first = max(1, round(PAPER_SHARE * max_iter))

    def search(names: tuple[str, ...], searches: int, before: OptimResult | None) -> OptimResult:
        joint = Joint(workers, n_experts, names, moves_shared=before is not None)
        done = 0 if before is None else before.iterations

        def report(step: int, total: int | None, value: float) -> None:
            if callback is not None:
                callback(done + step, max_iter, value)

        objective, start = joint.objective(flat), joint.start(flat)
        run = conjugate_gradients(objective, start, line_searches=searches, callback=report)
        return replace(run, x=joint.adopt(run.x, flat), evaluations=n_experts * run.evaluations)

    lambdas = search(("lam",), first, None)
    if lambdas.outcome == "failed":
        return lambdas
    return lambdas.then(search(("Xm", "Xu", "lam"), max(1, max_iter - first), lambdas))
