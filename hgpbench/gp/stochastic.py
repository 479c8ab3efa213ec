"""Stochastic ascent of the factorised bound: natural steps on q(f_m) and q(g_u), Adam on everything else.

One evaluation of a batch serves both kinds of step (paper, section on SVSHGP). A state that cannot be
evaluated (a Cholesky factorisation fails, a number overflows) is taken back, and the steps are shortened for
a while.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.gp import factorised
from hgpbench.gp.adam import Adam
from hgpbench.gp.batch import Batch
from hgpbench.gp.factorised import State, Workspace
from hgpbench.gp.params import LARGEST_LOG, Layout
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.whitened import Natural, Pull, Rooted, Whitened
from hgpbench.la import JITTER, Array

Method = Literal["ngd+adam", "adam"]
MAX_SHIFT = 1.5  # most that one natural step may move mu_g at a row of its batch
SHORTEST = 1e-9  # a natural step is given up below this gamma
RECOVERY = 1.05  # growth per step of the caution factor, back to one, after a rejected state
LEAST_CAUTION = 1e-6  # a fit whose steps must be shortened beyond this has diverged


class Diverged(ArithmeticError):
    """No step, however short, leads to a state that can be evaluated."""


@dataclass(frozen=True)
class Schedule:
    """Sizes of the steps; the paper's: gamma 0.1 after five log-linear steps from 1e-4, rate 0.01.

    The last ``cooling`` share of the steps shrinks both along a cosine, to a ``coldest`` share of themselves:
    it averages over batches what constant steps would leave as noise.
    """

    steps: int
    method: Method = "ngd+adam"
    gamma: float = 0.1
    rate: float = 0.01
    cooling: float = 0.0
    first_gamma: float = 1e-4
    warm_up: int = 5
    coldest: float = 0.02

    def gamma_at(self, step: int) -> float:
        """The natural step at step 0, 1, ..."""
        start = min(self.first_gamma, self.gamma)
        warmth = min(1.0, step / (self.warm_up - 1))
        return start ** (1.0 - warmth) * self.gamma**warmth * self._heat(step)

    def rate_at(self, step: int) -> float:
        """Adam's step."""
        return self.rate * self._heat(step)

    def _heat(self, step: int) -> float:
        length = self.cooling * self.steps
        done = max(0.0, step - (self.steps - length)) / length if length > 0.0 else 0.0
        return self.coldest + (1.0 - self.coldest) * 0.5 * (1.0 + float(np.cos(np.pi * min(done, 1.0))))


class Point(NamedTuple):
    """Where an ascent stands: flat parameters, and the coordinates of each q by its letter."""

    x: Array
    q: Mapping[str, Natural | Rooted]


class Ascent:
    """A point, the memory of Adam, and the step from one batch to the next."""

    def __init__(
        self,
        values: dict[str, Array],
        n: int,
        schedule: Schedule,
        workspace: Workspace,
        jitter: float = JITTER,
    ) -> None:
        # Sorted, so that the flat vector of a restored ascent has the same order whatever its values' was.
        values = {name: values[name] for name in sorted(values)}
        self.layout = Layout.of(values, [name for name in factorised.POSITIVE if name in values])
        self.schedule, self.steps, self.caution = schedule, 0, 1.0
        self.jitter = self._jitter = jitter
        self._n, self._workspace = n, workspace
        family = Natural if schedule.method == "ngd+adam" else Rooted
        q = {letter: family.prior(process.m) for letter, process in workspace.processes.items()}
        self.point = self._before = Point(self.layout.pack(values), q)
        self._adam = {"x": Adam(rate=1.0)}  # the schedule has the rate
        if schedule.method == "adam":
            self._adam |= {f"{part}_{letter}": Adam(rate=1.0) for letter in q for part in ("mean", "C")}
        self._is_log = np.zeros(self.layout.size, dtype=bool)
        for name, where in self.layout.slices().items():
            self._is_log[where] = name in self.layout.positive

    @property
    def values(self) -> dict[str, Array]:
        """The named parameters."""
        return self.layout.unpack(self.point.x)

    @property
    def q(self) -> dict[str, Whitened]:
        """Mean and covariance of each q."""
        return {letter: one.q for letter, one in self.point.q.items()}

    def step(self, X: Array, y: Array) -> float:
        """One step on a batch; returns the bound's estimate there, before the step.

        Raises Diverged when neither this point nor any close to the one before can be evaluated, and goes
        back to the latter.
        """
        state = self._evaluate(X, y)
        while state is None:
            self._retreat()
            state = self._evaluate(X, y)
        self._before = self.point
        self.point = self._following(state)
        self.steps += 1
        self.caution = min(1.0, RECOVERY * self.caution)
        self.jitter = state.bound.jitter
        return state.bound.value

    def bound(self, parts: Iterable[tuple[Array, Array]]) -> float:
        """The bound of all ``n`` rows at this point, from batches that cover all or a share of them."""
        total, seen = 0.0, 0
        for X, y in parts:
            total += factorised.log_likelihood(self.values, self.q, X, y, self._workspace, self._jitter)
            seen += len(y)
        return self._n / seen * total - factorised.divergence(self.q)

    def posteriors(self) -> dict[str, Posterior]:
        """q(f*) and, where there is one, q(g*), at this point."""
        return factorised.posteriors(self.values, self.q, self._workspace, self._jitter)

    def arrays(self) -> dict[str, Array]:
        """All that ``restore`` needs to go on from here with the same bits."""
        arrays = {name: np.asarray(getattr(self, name)) for name in ("steps", "caution", "jitter")}
        for moment, point in (("now", self.point), ("before", self._before)):
            arrays[f"{moment}.x"] = point.x
            for letter, one in point.q.items():
                arrays |= {f"{moment}.{letter}.{name}": array for name, array in one.arrays().items()}
        for owner, adam in self._adam.items():
            arrays |= {f"adam.{owner}.mean": adam.mean, f"adam.{owner}.square": adam.square}
        return arrays

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take the place of the ascent whose ``arrays`` these were."""
        self.steps, self.caution = int(arrays["steps"]), float(arrays["caution"])
        self.jitter = float(arrays["jitter"])
        self.point, self._before = (self._restored(arrays, moment) for moment in ("now", "before"))
        for owner, adam in self._adam.items():
            adam.steps = self.steps
            adam.mean, adam.square = arrays[f"adam.{owner}.mean"], arrays[f"adam.{owner}.square"]

    def _restored(self, arrays: Mapping[str, Array], moment: str) -> Point:
        q = {}
        for letter, one in self.point.q.items():
            parts = {name: arrays[f"{moment}.{letter}.{name}"] for name in one.arrays()}
            q[letter] = type(one).restored(**parts)
        return Point(arrays[f"{moment}.x"], q)

    def _evaluate(self, X: Array, y: Array) -> State | None:
        """The state at this point, or None where it cannot be had."""
        if np.abs(self.point.x[self._is_log]).max() > LARGEST_LOG:
            return None
        try:
            with np.errstate(all="ignore"):
                state = factorised.evaluate(self.values, self.q, X, y, self._n, self._workspace, self._jitter)
        except LinAlgError:
            return None
        numbers = [np.asarray(state.bound.value), *state.bound.grads.values()]
        return state if all(np.isfinite(number).all() for number in numbers) else None

    def _retreat(self) -> None:
        """Half the last step of x, and none of q; the coming steps are shorter."""
        self.caution *= 0.5
        if self.steps == 0 or self.caution < LEAST_CAUTION:
            self.point = self._before
            raise Diverged(f"the bound cannot be evaluated after {self.steps} steps")
        self.point = Point(0.5 * (self.point.x + self._before.x), self._before.q)

    def _following(self, state: State) -> Point:
        """The point after a step with the derivatives of this state."""
        schedule, caution = self.schedule, self.caution
        rate, gamma = caution * schedule.rate_at(self.steps), caution * schedule.gamma_at(self.steps)
        grad = self.layout.pack_grad(self.values, state.bound.grads)
        x = self.point.x + rate * self._adam["x"].step(grad)
        q: dict[str, Natural | Rooted] = {}

        def move(letter: str, one: Natural | Rooted) -> None:
            pull = state.pulls[letter]
            if isinstance(one, Natural):
                q[letter] = natural_step(one, pull, gamma, state.batches["g"] if letter == "g" else None)
            else:
                q[letter] = self._adam_step(one, pull, letter, rate)

        self._workspace.run([partial(move, letter, one) for letter, one in self.point.q.items()])
        return Point(x, q)

    def _adam_step(self, one: Rooted, pull: Pull, letter: str, rate: float) -> Rooted:
        dmean, dC = one.grad(pull)
        mean = one.q.mean + rate * self._adam[f"mean_{letter}"].step(dmean)
        return Rooted.of(mean, one.C + rate * self._adam[f"C_{letter}"].step(dC))


def natural_step(one: Natural, pull: Pull, gamma: float, limited: Batch | None = None) -> Natural:
    """A natural step, shortened until it is sound; with a batch, its rows move by ``MAX_SHIFT`` at most.

    In exact arithmetic Lam never leaves the positive-definite cone (``Natural.step``); with overflow or
    round-off it may, and then a tenth of the step is tried. q(f_m) needs no limit: its bound is quadratic.
    q(g_u)'s is not, and its mean is drawn far too low where the noise is much too large.
    """
    following = None
    while following is None and gamma > SHORTEST:
        following = _sound_step(one, pull, gamma)
        gamma *= 0.1
    if following is None:
        return one
    if limited is None:
        return following
    change = following.q.mean - one.q.mean
    shift = limited.shift(change)
    return following if shift <= MAX_SHIFT else following.at(one.q.mean + MAX_SHIFT / shift * change)


def _sound_step(one: Natural, pull: Pull, gamma: float) -> Natural | None:
    try:
        following = one.step(pull, gamma)
    except LinAlgError:
        return None
    return following if np.isfinite(following.q.mean).all() else None
