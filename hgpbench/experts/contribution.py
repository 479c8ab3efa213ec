"""What experts add to the sums over all of them, by name; stacked and summed here alone."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hgpbench.columns import Array


class Contribution(NamedTuple):
    """The bound of an expert, or of several, and its derivative by the shared parameters.

    Beside them the relative jitter and, of a visit, the mean square of leave-one-out residuals of some rows.
    """

    value: float
    jitter: float
    grad: Array
    error: float = np.nan


class Stacked(NamedTuple):
    """Several contributions: an entry, or a row of ``grads``, for each."""

    values: Array
    jitters: Array
    errors: Array
    grads: Array

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Whether all of a contribution is finite, (k,)."""
        entries = np.column_stack([self.values, self.jitters, self.errors, self.grads])
        return np.logical_and.reduce(np.isfinite(entries), axis=1)


def missing(size: int) -> Contribution:
    """That of an expert whose bound cannot be evaluated: not a number, for ``size`` shared parameters."""
    return Contribution(np.nan, np.nan, np.full(size, np.nan))


def stack(contributions: Sequence[Contribution]) -> Stacked:
    """The contributions side by side, in their order."""
    return Stacked(
        np.array([one.value for one in contributions]),
        np.array([one.jitter for one in contributions]),
        np.array([one.error for one in contributions]),
        np.array([one.grad for one in contributions]),
    )


def total(contributions: Sequence[Contribution]) -> Contribution:
    """Their sum, with the largest jitter.

    One is added to the next, in their order: numpy's sum of many numbers goes by pairs, and would round
    differently where experts are summed in lanes.
    """
    first, *others = contributions
    value, jitter, grad = first.value, first.jitter, first.grad
    for one in others:
        value, jitter, grad = value + one.value, max(jitter, one.jitter), grad + one.grad
    return Contribution(value, jitter, grad)
