"""Criteria on sweeps: what happens to a score as a parameter grows."""

from collections.abc import Callable
from itertools import pairwise

from hgpbench.paper.criteria import Criterion, Finding, Outcome
from hgpbench.paper.evidence import TITLES, Evidence, called
from hgpbench.report.numbers import plain

Curve = dict[float, float]  # mean score by the value of the parameter, smallest first


def improves(quantity: str, base: str, parameter: str) -> Criterion:
    """The score is lower at the end of the sweep than at its beginning."""
    words = f"{TITLES[quantity]} of {called(base)} lower at the largest {parameter} than at the smallest"

    def decide(curve: Curve) -> Outcome:
        first, *_, last = curve.values()
        return last < first

    return _of_curve(words, quantity, base, parameter, decide)


def worsens_slightly(quantity: str, base: str, parameter: str, limit: float) -> Criterion:
    """The score is higher at the end of the sweep, by no more than ``limit``."""
    words = (
        f"{TITLES[quantity]} of {called(base)} higher at the largest {parameter} than at the smallest, "
        f"by at most {limit:g}"
    )

    def decide(curve: Curve) -> Outcome:
        first, *_, last = curve.values()
        return 0 < last - first <= limit

    return _of_curve(words, quantity, base, parameter, decide)


def wavers(quantity: str, base: str, parameter: str, percent: float) -> Criterion:
    """The score rises somewhere and falls elsewhere, each by so many per cent of its value."""
    words = (
        f"{TITLES[quantity]} of {called(base)} rises by {percent:g} % or more from one {parameter} "
        "to the next and falls by as much from another to its next"
    )

    def decide(curve: Curve) -> Outcome:
        scores = list(curve.values())
        steps = [after / before - 1 for before, after in pairwise(scores)]
        return min(steps) <= -percent / 100 and max(steps) >= percent / 100

    return _of_curve(words, quantity, base, parameter, decide)


def poorer_from(quantity: str, base: str, parameter: str, threshold: float) -> Criterion:
    """The mean over the values from ``threshold`` on is above that over the smaller ones."""
    words = (
        f"{TITLES[quantity]} of {called(base)} higher on average over {parameter} of {threshold:,.0f} and "
        "more than over smaller ones"
    )

    def decide(curve: Curve) -> Outcome:
        small = [score for value, score in curve.items() if value < threshold]
        large = [score for value, score in curve.items() if value >= threshold]
        if not small or not large:
            return None
        return sum(large) / len(large) > sum(small) / len(small)

    return _of_curve(words, quantity, base, parameter, decide)


def steadily_falls(quantity: str, base: str, parameter: str) -> Criterion:
    """Each value has a lower score than the one before."""
    words = f"{TITLES[quantity]} of {called(base)} falls from each {parameter} to the next larger one"

    def decide(curve: Curve) -> Outcome:
        scores = list(curve.values())
        return all(after < before for before, after in pairwise(scores))

    return _of_curve(words, quantity, base, parameter, decide)


def drop(quantity: str, base: str, parameter: str, value: float, low: float, high: float) -> Criterion:
    """The score at 1 is so many times that at ``value``."""
    words = (
        f"{TITLES[quantity]} of {called(base)} with {value:g} {parameter} goes into that with one "
        f"{low:g} to {high:g} times"
    )

    def decide(curve: Curve) -> Outcome:
        return low <= curve[1] / curve[value] <= high if {1, value} <= curve.keys() else None

    return _of_curve(words, quantity, base, parameter, decide)


def quicker(base: str, parameter: str, limit: float) -> Criterion:
    """The time at the smallest value is at most ``limit`` times that at the largest."""
    words = f"time of {called(base)} at the smallest {parameter} at most {limit:g} times that at the largest"

    def decide(curve: Curve) -> Outcome:
        first, *_, last = curve.values()
        return first <= limit * last

    return _of_curve(words, "total_seconds", base, parameter, decide)


def flat(
    quantity: str, base: str, parameter: str, percent: float | None = None, by: float = 0.0
) -> Criterion:
    """The scores of the whole sweep lie within so many per cent of the lowest, or within ``by``."""
    room = f"{percent:g} %" if percent is not None else f"{by:g}"
    words = f"{TITLES[quantity]} of {called(base)} within {room} over every {parameter}"

    def decide(curve: Curve) -> Outcome:
        low, high = min(curve.values()), max(curve.values())
        return high - low <= (by if percent is None else abs(low) * percent / 100)

    return _of_curve(words, quantity, base, parameter, decide)


def _of_curve(
    words: str, quantity: str, base: str, parameter: str, decide: Callable[[Curve], Outcome]
) -> Criterion:
    """A sweep decides only when it is complete: its ends are what most of these criteria look at."""

    def check(evidence: Evidence) -> Finding:
        names = evidence.sweep(base)
        sample = evidence.sample(names.values(), quantity)
        if not names:
            return Finding(None, f"no sweep of {base}")
        curve = {value: sample.means[name] for value, name in names.items() if name in sample.means}
        said = ", ".join(f"{plain(score)} at {value:g}" for value, score in curve.items())
        stem = evidence.labels([base])[base]
        if len(curve) < len(names) or len(curve) < 2:
            return Finding(None, f"{stem}: {len(curve)} of {len(names)} values done")
        return Finding(decide(curve), f"{TITLES[quantity]} of {stem}: {said} (n = {len(sample.seeds)})")

    return Criterion(words, check, (base,))
