"""Criteria on sweeps: what happens to a score as a parameter grows."""

from collections.abc import Callable, Mapping
from itertools import pairwise, permutations

from hgpbench.metrics import MARGIN
from hgpbench.paper.criteria import Criterion, Stated
from hgpbench.paper.evidence import TITLES, Evidence, called
from hgpbench.paper.statements import Absent, AtMost, Every, Some, Statement, joined
from hgpbench.report.numbers import plain

Sweep = list[float]  # values of the parameter, smallest first
Mean = Callable[[Mapping[float, float], float], Statement]
"""A weighted sum of the means at some values is at most a bound."""


def improves(quantity: str, base: str, parameter: str) -> Criterion:
    """The score is lower at the end of the sweep than at its beginning."""
    words = f"{TITLES[quantity]} of {called(base)} lower at the largest {parameter} than at the smallest"
    return _of_sweep(words, quantity, base, lambda sweep, mean: mean({sweep[-1]: 1, sweep[0]: -1}, 0))


def worsens_slightly(quantity: str, base: str, parameter: str, limit: float) -> Criterion:
    """The score is higher at the end of the sweep, by no more than ``limit``."""
    words = (
        f"{TITLES[quantity]} of {called(base)} higher at the largest {parameter} than at the smallest, "
        f"by at most {limit:g}"
    )

    def state(sweep: Sweep, mean: Mean) -> Statement:
        rises = mean({sweep[0]: 1, sweep[-1]: -1}, 0)
        return Every((rises, mean({sweep[-1]: 1, sweep[0]: -1}, limit)))

    return _of_sweep(words, quantity, base, state)


def wavers(quantity: str, base: str, parameter: str, percent: float) -> Criterion:
    """The score rises somewhere and falls elsewhere, each by so many per cent of its value."""
    words = (
        f"{TITLES[quantity]} of {called(base)} rises by {percent:g} % or more from one {parameter} "
        "to the next and falls by as much from another to its next"
    )
    more, less = 1 + percent / 100, 1 - percent / 100

    def state(sweep: Sweep, mean: Mean) -> Statement:
        rises = Some(tuple(mean({before: more, after: -1}, 0) for before, after in pairwise(sweep)))
        falls = Some(tuple(mean({after: 1, before: -less}, 0) for before, after in pairwise(sweep)))
        return Every((rises, falls))

    return _of_sweep(words, quantity, base, state)


def poorer_from(quantity: str, base: str, parameter: str, threshold: float) -> Criterion:
    """The mean over the values from ``threshold`` on is above that over the smaller ones."""
    words = (
        f"{TITLES[quantity]} of {called(base)} higher on average over {parameter} of {threshold:,.0f} and "
        "more than over smaller ones"
    )

    def state(sweep: Sweep, mean: Mean) -> Statement:
        small = [value for value in sweep if value < threshold]
        large = [value for value in sweep if value >= threshold]
        if not small or not large:
            return Absent()
        return mean({v: 1 / len(small) for v in small} | {v: -1 / len(large) for v in large}, 0)

    return _of_sweep(words, quantity, base, state)


def steadily_falls(quantity: str, base: str, parameter: str) -> Criterion:
    """Each value has a lower score than the one before."""
    words = f"{TITLES[quantity]} of {called(base)} falls from each {parameter} to the next larger one"

    def state(sweep: Sweep, mean: Mean) -> Statement:
        return joined([mean({after: 1, before: -1}, 0) for before, after in pairwise(sweep)])

    return _of_sweep(words, quantity, base, state)


def drop(quantity: str, base: str, parameter: str, value: float, low: float, high: float) -> Criterion:
    """The score at 1 is so many times that at ``value``."""
    words = (
        f"{TITLES[quantity]} of {called(base)} with {value:g} {parameter} goes into that with one "
        f"{low:g} to {high:g} times"
    )

    def state(sweep: Sweep, mean: Mean) -> Statement:
        if not {1, value} <= set(sweep):
            return Absent()
        return Every((mean({value: low, 1: -1}, 0), mean({1: 1, value: -high}, 0)))

    return _of_sweep(words, quantity, base, state)


def quicker(base: str, parameter: str, limit: float) -> Criterion:
    """The processor time at the smallest value is at most ``limit`` times that at the largest."""
    words = (
        f"processor time of {called(base)} at the smallest {parameter} at most {limit:g} times that at the "
        "largest"
    )
    return _of_sweep(
        words, "processor_seconds", base, lambda sweep, mean: mean({sweep[0]: 1, sweep[-1]: -limit}, 0)
    )


def flat(
    quantity: str, base: str, parameter: str, percent: float | None = None, by: float = 0.0
) -> Criterion:
    """No score of the sweep is more than so many per cent, or ``by``, above another."""
    room = f"{percent:g} %" if percent is not None else f"{by:g}"
    words = f"{TITLES[quantity]} of {called(base)} within {room} over every {parameter}"
    times = 1 + (percent or 0) / 100

    def state(sweep: Sweep, mean: Mean) -> Statement:
        pairs = permutations(sweep, 2)
        return Every(tuple(mean({one: 1, other: -times}, by) for one, other in pairs))

    return _of_sweep(words, quantity, base, state)


def all_skilled(base: str, parameter: str) -> Criterion:
    """Every fit of the sweep knows more than the mean of the training targets."""
    words = f"{called(base)} beats the mean of the training targets at every {parameter}"

    def state(sweep: Sweep, mean: Mean) -> Statement:
        return joined([mean({value: 1}, 1 - MARGIN) for value in sweep])

    return _of_sweep(words, "smse", base, state)


def _of_sweep(words: str, quantity: str, base: str, state: Callable[[Sweep, Mean], Statement]) -> Criterion:
    """A sweep decides only when it is complete: its ends are what most of these criteria look at."""

    def stated(evidence: Evidence) -> Stated:
        names = evidence.sweep(base)
        sample = evidence.every(names.values(), quantity)
        if not names:
            return Stated(Absent(), (f"no sweep of {base}",))
        stem = evidence.labels([base])[base]
        done = {value: name for value, name in names.items() if name in sample.values}
        said = ", ".join(f"{plain(sample.stat(name).mean)} at {value:g}" for value, name in done.items())
        figures = f"{TITLES[quantity]} of {stem}: {said}"
        if len(done) < len(names) or len(done) < 2:
            return Stated(Absent(), (f"{figures}; {len(done)} of {len(names)} values done",))

        def mean(weights: Mapping[float, float], bound: float) -> Statement:
            values = evidence.combined(quantity, {names[at]: weight for at, weight in weights.items()})
            told = " ".join(f"{'−' if w < 0 else '+'} {abs(w):.3g} × at {at:g}" for at, w in weights.items())
            return AtMost(told.removeprefix("+ "), tuple(values), bound, evidence.extra, bound == 0)

        return Stated(
            state(list(names), mean),
            (f"{figures} (n = {min(len(each) for each in sample.values.values())})",),
        )

    return Criterion(words, stated, (base,))
