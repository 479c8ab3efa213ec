"""One run made of several searches, one after the other, under a weak prior on the variance of a process.

With rough kernels data tell the ratio of variance to lengthscale, and neither by itself: without a prior
both may wander off, and predictions far from all rows with them.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import get_args

import numpy as np

from hgpbench.fitting.checkpoint import Arrays
from hgpbench.fitting.checks import ensure_started
from hgpbench.fitting.journal import Recall, anew
from hgpbench.fitting.values import Values
from hgpbench.gp.leave_one_out import POSITIVE
from hgpbench.gp.optim import Callback, OptimResult, Outcome, lbfgs
from hgpbench.gp.params import Bound, Layout, objective

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


def with_prior(bound: Callable[[Values], Bound], std: float) -> Callable[[Values], Bound]:
    """The bound of some rows plus the log of a prior of s2_k: flat up to one, beyond it half of a log-normal.

    So a variance may vanish where nothing varies, but grow only as far as the rows insist.
    """

    def posterior(values: Values) -> Bound:
        value, grads, jitter = bound(values)
        log_s2_k = max(float(np.log(values["s2_k"])), 0.0)
        pull = log_s2_k / std**2
        grads = grads | {"s2_k": grads["s2_k"] - pull / values["s2_k"]}
        return Bound(value - 0.5 * pull * log_s2_k, grads, jitter)

    return posterior


class Ascent:
    """Counts, trace and callback go on from one search to the next; bounds are those of all ``n`` rows."""

    def __init__(
        self, n: int, max_iter: int, callback: Callback | None = None, recall: Recall = anew
    ) -> None:
        self._n, self._max_iter, self._callback, self._recall = n, max_iter, callback, recall
        self._result: OptimResult | None = None
        self.aside = 0  # evaluations of what was tried and not taken

    def climb(
        self,
        bound: Callable[[Values], Bound],
        values: Values,
        rows: int,
        *,
        held: Collection[str] = (),
    ) -> Values:
        """The values after some iterations on a bound of some rows, plus a constant; those ``held`` stay."""
        share = self._n / rows

        def of_all(values: Values) -> Bound:
            value, grads, jitter = bound(values)
            return Bound(share * value, {name: share * grad for name, grad in grads.items()}, jitter)

        layout = Layout.of(values, positive=POSITIVE & values.keys()).only(values.keys() - set(held))
        function = objective(of_all, layout, held=values)

        def climbed() -> Arrays:
            found = lbfgs(function, layout.pack(values), max_iter=self._max_iter, callback=self._heard)
            return _arrays(ensure_started(found))

        result = _result(self._recall(climbed))
        self._result = result if self._result is None else self._result.then(result)
        return values | layout.unpack(result.x)

    def _heard(self, step: int, total: int | None, bound: float) -> None:
        if self._callback is not None:
            before = 0 if self._result is None else self._result.iterations
            self._callback(before + step, None, bound)

    @property
    def result(self) -> OptimResult:
        """All of it."""
        if self._result is None:
            raise ValueError("nothing was searched for")
        return replace(self._result, evaluations=self._result.evaluations + self.aside)


def _arrays(result: OptimResult) -> Arrays:
    """How a search ended, for a journal."""
    numbers = (result.value, result.jitter)
    counts = (OUTCOMES.index(result.outcome), result.iterations, result.evaluations)
    return {"x": result.x, "numbers": np.array(numbers), "counts": np.array(counts), "trace": result.trace}


def _result(arrays: Arrays) -> OptimResult:
    """The search that ended so."""
    value, jitter = arrays["numbers"].tolist()
    outcome, iterations, evaluations = arrays["counts"].tolist()
    ended = OUTCOMES[outcome]
    return OptimResult(arrays["x"], value, ended, iterations, evaluations, arrays["trace"], jitter)
