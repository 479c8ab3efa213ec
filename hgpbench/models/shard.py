"""The experts that one worker owns: everything that a coordinator may ask about them.

Every question names experts by number and is answered with one array per expert, in that order, so that the
coordinator can add them up in an order which does not depend on who computed what. During a fit the answers
are short: a bound, a jitter, a gradient by the shared parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hgpbench.columns import Array
from hgpbench.gp.vshgp import Workspace
from hgpbench.models.experts import Contribution, Expert, Names, Step, shared_layout
from hgpbench.models.question import Question

Numbers = Sequence[int]


@dataclass(frozen=True, eq=False)
class Rows:
    """All training rows, those of an expert together: expert i has rows starts[i] to starts[i + 1]."""

    X: Array
    y: Array
    starts: NDArray[np.intp]

    def of(self, number: int) -> tuple[Array, Array]:
        """Inputs and targets of an expert, without a copy."""
        rows = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.X[rows], self.y[rows]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rows of each expert, (M,)."""
        return np.diff(self.starts)


class Shard:
    """Experts by number, and the memory that their evaluations take in turn."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._layout = shared_layout(rows.X.shape[1])
        self._experts: dict[int, Expert] = {}
        self._workspace: Workspace | None = None

    def place(self, numbers: Numbers, m: int, u: int, seed: int) -> list[Array]:
        """Make these experts; how many inducing points of f and g each of them got."""
        for number in numbers:
            rng = np.random.default_rng([seed, number])
            self._experts[number] = Expert.place(*self._rows.of(number), m, u, rng)
        return [np.array(self._experts[number].sizes[1:], dtype=float) for number in numbers]

    def visit(self, numbers: Numbers, flat: Array, step: Step) -> list[Array]:
        """One step with each expert at the shared parameters ``flat``: what ``Tally`` adds up."""
        shared = self._layout.unpack(flat)
        experts = [self._experts[number] for number in numbers]
        return [
            _packed(expert.visit(shared, self._layout, step, self._memory(expert)), flat.size)
            for expert in experts
        ]

    def settle(self, numbers: Numbers, flat: Array, steps: int) -> list[Array]:
        """Natural steps on q(g_u) alone, with each expert: what ``Tally`` adds up."""
        shared = self._layout.unpack(flat)
        experts = [self._experts[number] for number in numbers]
        return [_packed(expert.settle(shared, steps, self._memory(expert)), 0) for expert in experts]

    def bound(self, numbers: Numbers, flat: Array) -> list[Array]:
        """Each expert's bound as things stand."""
        shared = self._layout.unpack(flat)
        experts = [self._experts[number] for number in numbers]
        return [_packed(expert.bound(shared, self._memory(expert)), 0) for expert in experts]

    def parts(self, numbers: Numbers, names: Names) -> list[Array]:
        """Local parameters of each expert as a flat vector."""
        return [self._experts[number].part(names) for number in numbers]

    def trial(self, numbers: Numbers, flat: Array, names: Names, parts: Sequence[Array]) -> list[Array]:
        """Each expert's bound with other local parameters: what ``visit`` answers, then their gradient."""
        shared = self._layout.unpack(flat)
        answers = []
        for number, part in zip(numbers, parts, strict=True):
            expert = self._experts[number]
            found = expert.trial(shared, self._layout, names, part, self._memory(expert))
            bound, grad = (None, np.full(part.size, np.nan)) if found is None else found
            answers.append(np.concatenate([_packed(bound, flat.size), grad]))
        return answers

    def adopt(self, numbers: Numbers, flat: Array, names: Names, parts: Sequence[Array]) -> list[Array]:
        """Leave each expert with these local parameters."""
        shared = self._layout.unpack(flat)
        for number, part in zip(numbers, parts, strict=True):
            expert = self._experts[number]
            expert.adopt(shared, names, part, self._memory(expert))
        return [np.zeros(0) for _ in numbers]

    def noise(self, numbers: Numbers, flat: Array) -> list[Array]:
        """The noise variances at the rows of each expert."""
        shared = self._layout.unpack(flat)
        experts = [self._experts[number] for number in numbers]
        return [expert.noise(shared, self._memory(expert)) for expert in experts]

    def confer(self, lanes: Numbers, n_lanes: int, flat: Array, question: Question) -> list[Array]:
        """The committee sums (3, s) of f and of g over the experts of each lane, in order, as one array."""
        shared = self._layout.unpack(flat)
        answers = []
        for lane in lanes:
            committees = question.committees(shared)
            for number in range(lane, len(self._rows.sizes), n_lanes):
                expert = self._experts[number]
                posteriors = expert.posteriors(shared, self._memory(expert), question.letters)
                for letter, committee in committees.items():
                    question.hear(committee, posteriors[letter])
            answers.append(np.stack([committee.sums for committee in committees.values()]))
        return answers

    def state(self, numbers: Numbers, whole: bool) -> list[Array]:
        """All that belongs to each expert, as a flat array; what only a fit needs for the ``whole`` alone."""
        return [self._experts[number].state(whole) for number in numbers]

    def restore(self, numbers: Numbers, inducing: Array, states: Sequence[Array]) -> list[Array]:
        """Make experts as they were when ``state`` was asked; ``inducing`` (M, 2) is what ``place`` said."""
        for number, state in zip(numbers, states, strict=True):
            m, u = (int(count) for count in inducing[number])
            self._experts[number] = Expert.restore(*self._rows.of(number), m, u, state)
        return [np.zeros(0) for _ in numbers]

    def _memory(self, expert: Expert) -> Workspace:
        """Memory for an evaluation: one piece for all experts of the usual numbers of inducing points.

        Fresh memory for each evaluation would cost a fifth to a half of its time.
        """
        n, m, u = expert.sizes
        usual = self._workspace
        if usual is not None and (usual.f.m, usual.g.m) == (m, u):
            usual.resize(n)
            return usual
        workspace = Workspace(n, m, u)
        if usual is None or m + u > usual.f.m + usual.g.m:
            self._workspace = workspace
        return workspace


def _packed(found: Contribution | None, size: int) -> Array:
    """A contribution as one row, not a number where there is none: ``Tally`` reads it."""
    if found is None:
        return np.full(3 + size, np.nan)
    return np.concatenate([found[:3], found.grad])
