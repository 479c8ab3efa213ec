"""The sparse heteroscedastic experts that one worker owns: everything that a coordinator may ask about them.

Every question names experts by number and is answered with one entry per expert, in that order, so that the
coordinator can add them up in an order which does not depend on who computed what. During a fit the answers
are short: a bound, a jitter, a gradient by the shared parameters.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from hgpbench.columns import Array
from hgpbench.experts.contribution import Contribution
from hgpbench.experts.expert import Expert, Names, Step, Trial, shared_layout
from hgpbench.experts.pool import Lasting
from hgpbench.experts.reach import Reach
from hgpbench.experts.rows import Numbers, Shares
from hgpbench.experts.voices import Kept, Outline, Voice, Voices
from hgpbench.fitting.values import Values
from hgpbench.gp.committee import Committee
from hgpbench.gp.kernels import SMOOTH, Families
from hgpbench.gp.vshgp import Workspace


def committees(reach: Reach, letters: str, shared: Values) -> dict[str, Committee]:
    """Committees about f, g or both (``letters``), or about y, that have heard nobody yet."""
    means = {"f": 0.0, "g": float(shared["mu0"])}
    if letters == "y":
        f, g = (reach.committee(means[letter], float(shared[f"s2_k{letter}"])) for letter in "fg")
        noise = float(np.exp(g.prior_mean + 0.5 * g.prior_var))
        return {"y": Committee(reach.kind, len(reach.Xs), f.prior_mean, f.prior_var + noise)}
    return {letter: reach.committee(means[letter], float(shared[f"s2_k{letter}"])) for letter in letters}


class Owner:
    """Experts by number, and the memory that their evaluations take in turn.

    ``kept`` is what earlier predictions by the same experts in this process have left.
    """

    def __init__(self, rows: Shares, families: Families = SMOOTH, kept: Kept | None = None) -> None:
        self._rows, self._families, self._kept = rows, families, kept
        self._layout = shared_layout(rows.n_inputs)
        self._experts: dict[int, Expert] = {}
        self._states: dict[int, Array] = {}  # of experts that nobody has asked for yet
        self._workspace: Workspace | None = None

    def place(self, numbers: Numbers, m: int, u: int, seed: int, apart: bool) -> list[None]:
        """Make these experts, with at most ``m`` and ``u`` inducing points of f and g (``Expert.place``)."""
        for number in numbers:
            rng = np.random.default_rng([seed, number])
            self._experts[number] = Expert.place(*self._rows.of(number), m, u, rng, apart)
        return [None for _ in numbers]

    def visit(self, numbers: Numbers, flat: Array, step: Step) -> list[Contribution]:
        """One step with each expert at the shared parameters ``flat``."""
        shared = self._layout.unpack(flat)
        experts = self._of(numbers)
        return [expert.visit(shared, self._layout, step, self._memory(expert)) for expert in experts]

    def keep(self, numbers: Numbers) -> list[None]:
        """Have each expert remember its inducing inputs of f."""
        for expert in self._of(numbers):
            expert.keep()
        return [None for _ in numbers]

    def revert(self, numbers: Numbers) -> list[None]:
        """Have each expert go back to those."""
        for expert in self._of(numbers):
            expert.revert()
        return [None for _ in numbers]

    def settle(self, numbers: Numbers, flat: Array, steps: int) -> list[Contribution]:
        """Natural steps on q(g_u) alone, with each expert; the bounds after them."""
        shared = self._layout.unpack(flat)
        return [expert.settle(shared, steps, self._memory(expert)) for expert in self._of(numbers)]

    def bound(self, numbers: Numbers, flat: Array) -> list[Contribution]:
        """Each expert's bound as things stand."""
        shared = self._layout.unpack(flat)
        return [expert.bound(shared, self._memory(expert)) for expert in self._of(numbers)]

    def parts(self, numbers: Numbers, names: Names) -> list[Array]:
        """Local parameters of each expert as a flat vector."""
        return [expert.part(names) for expert in self._of(numbers)]

    def trial(self, numbers: Numbers, flat: Array, names: Names, parts: Sequence[Array]) -> list[Trial]:
        """Each expert's bound with other local parameters; nothing changes."""
        shared = self._layout.unpack(flat)
        return [
            expert.trial(shared, self._layout, names, part, self._memory(expert))
            for expert, part in zip(self._of(numbers), parts, strict=True)
        ]

    def adopt(self, numbers: Numbers, flat: Array, names: Names, parts: Sequence[Array]) -> list[None]:
        """Leave each expert with these local parameters."""
        shared = self._layout.unpack(flat)
        for expert, part in zip(self._of(numbers), parts, strict=True):
            expert.adopt(shared, names, part, self._memory(expert))
        return [None for _ in numbers]

    def noise(self, numbers: Numbers, flat: Array) -> list[Array]:
        """The noise variances at the rows of each expert."""
        shared = self._layout.unpack(flat)
        return [expert.noise(shared, self._memory(expert)) for expert in self._of(numbers)]

    def confer(
        self, lanes: Numbers, n_lanes: int, flat: Array, reach: Reach, letters: str
    ) -> list[dict[str, Array]]:
        """The committee sums (3, s) of f, g or both, or of y, over the experts of each lane, in order."""
        shared, kept = self._layout.unpack(flat), self._kept or Kept()
        latent = "fg" if letters == "y" else letters
        outlines = {letter: self._outline(letter, shared, kept) for letter in latent}
        asked = np.any([outline.within(reach) for outline in outlines.values()], axis=0)
        if letters == "y":  # nobody is silent: noise is said by those who know nothing of f, too
            asked[...] = True
        answers = []
        for lane in lanes:
            heard = committees(reach, letters, shared)
            for number in range(lane, len(self._rows.sizes), n_lanes):
                if asked[number]:
                    make = partial(self._voices, number, shared, outlines)
                    voices = kept.voices.obtain((number, latent), make)
                    voices.tell(heard, reach)
            answers.append({letter: committee.sums for letter, committee in heard.items()})
        return answers

    def _outline(self, letter: str, shared: Values, kept: Kept) -> Outline:
        """That of all experts here."""
        if letter not in kept.outlines:
            experts = dict(zip(self._numbers(), self._of(self._numbers()), strict=True))
            family = self._families.f if letter == "f" else self._families.g
            kernel = family(float(shared[f"s2_k{letter}"]), shared[f"ell_{letter}"])
            kept.outlines[letter] = Outline.of(letter, kernel, experts, len(self._rows.sizes))
        return kept.outlines[letter]

    def _voices(self, number: int, shared: Values, outlines: dict[str, Outline]) -> Voices:
        expert = self._of([number])[0]
        posteriors = expert.posteriors(shared, self._memory(expert), "".join(outlines))
        voices = Voices({letter: Voice.of(posterior) for letter, posterior in posteriors.items()})
        for letter, voice in voices.items():
            outlines[letter].learn(number, voice)
        return voices

    def state(self, numbers: Numbers, whole: bool) -> list[Array]:
        """All that belongs to each expert, as a flat array; what only a fit needs for the ``whole`` alone."""
        return [expert.state(whole) for expert in self._of(numbers)]

    def restore(self, numbers: Numbers, states: Sequence[Array]) -> list[None]:
        """Make experts as they were when ``state`` was asked."""
        for number, state in zip(numbers, states, strict=True):
            self._experts.pop(number, None)
            self._states[number] = state
        return [None for _ in numbers]

    def forget(self, numbers: Numbers) -> list[None]:
        """Own these experts no more."""
        for number in numbers:
            self._experts.pop(number, None)
            self._states.pop(number, None)
        return [None for _ in numbers]

    def _numbers(self) -> list[int]:
        """Of all experts here."""
        return sorted(self._experts.keys() | self._states.keys())

    def _of(self, numbers: Numbers) -> list[Expert]:
        """Experts, made from their states when they are first asked for: few may be."""
        for number in numbers:
            if number not in self._experts:
                state = self._states.pop(number)
                self._experts[number] = Expert.restore(*self._rows.of(number), state)
        return [self._experts[number] for number in numbers]

    def _memory(self, expert: Expert) -> Workspace:
        """Memory for an evaluation: one piece for all experts of the usual numbers of inducing points.

        Fresh memory for each evaluation would cost a fifth to a half of its time.
        """
        n, m, u = expert.sizes
        usual = self._workspace
        if usual is not None and (usual.f.m, usual.g.m) == (m, u):
            usual.resize(n)
            return usual
        workspace = Workspace(n, m, u, families=self._families)
        if usual is None or m + u > usual.f.m + usual.g.m:
            self._workspace = workspace
        return workspace


LASTING = Lasting(
    state=Owner.state,
    restore=Owner.restore,
    forget=Owner.forget,
    changing=frozenset(
        (Owner.place, Owner.visit, Owner.keep, Owner.revert, Owner.settle, Owner.adopt, Owner.restore)
    ),
)
"""What of experts must outlive the worker that owns them; the other questions leave them as they are."""
