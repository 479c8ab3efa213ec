"""What decides a claim: comparisons of means, written so that their words and their numbers cannot part.

Each function makes a Criterion from the same arguments that its words are made of. An outcome is True, False
or None, which says that the runs do not decide. A statement about all of several models is refuted by one of
them, but holds only once all were run.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hgpbench.paper.evidence import SHORT, TITLES, Evidence, Sample, called, listed
from hgpbench.report.summary import Stat

Outcome = bool | None
_MOST_IN_WORDS = 4


@dataclass(frozen=True)
class Finding:
    """What the runs say of a criterion, and the figures behind it."""

    outcome: Outcome
    figures: str


@dataclass(frozen=True)
class Criterion:
    """When a claim counts as true, in words and as a computation; and the models that it needs."""

    words: str
    check: Callable[[Evidence], Finding]
    names: tuple[str, ...]


def every(outcomes: Iterable[Outcome]) -> Outcome:
    """True where all are, False where any is not, None where that is open."""
    found = list(outcomes)
    if False in found:
        return False
    return None if None in found else True


def most(outcomes: Iterable[Outcome]) -> Outcome:
    """Whether more than half are true, as soon as the rest cannot change it."""
    found = list(outcomes)
    half = len(found) / 2
    if sum(each is True for each in found) > half:
        return True
    return False if sum(each is False for each in found) >= half else None


def some(outcomes: Iterable[Outcome]) -> Outcome:
    """Whether at least one is true."""
    found = list(outcomes)
    if True in found:
        return True
    return None if None in found else False


def lower(quantity: str, names: Sequence[str], than: Sequence[str]) -> Criterion:
    """Each of ``names`` has a lower mean than each of ``than``."""
    words = f"{TITLES[quantity]} of {_each(names)} below that of {_each(than)}"

    def decide(sample: Sample) -> Outcome:
        return every(_below(sample, name, other) for name in names for other in than)

    return _of_means(words, quantity, (*names, *than), decide)


def lowest(quantity: str, name: str, among: Sequence[str]) -> Criterion:
    """``name`` has the lowest mean of ``among``."""
    made = lower(quantity, (name,), [other for other in among if other != name])
    return Criterion(
        f"{TITLES[quantity]} of {called(name)} is the lowest of {_field(among)}", made.check, made.names
    )


def highest(quantity: str, name: str, among: Sequence[str]) -> Criterion:
    """``name`` has the highest mean of ``among``."""
    made = lower(quantity, [other for other in among if other != name], (name,))
    return Criterion(
        f"{TITLES[quantity]} of {called(name)} is the highest of {_field(among)}", made.check, made.names
    )


def between(quantity: str, name: str, among: Sequence[str]) -> Criterion:
    """``name`` is neither the best nor the worst."""
    words = f"{TITLES[quantity]} of {called(name)} is neither the lowest nor the highest of {_field(among)}"
    rivals = [other for other in among if other != name]

    def decide(sample: Sample) -> Outcome:
        above = [_below(sample, other, name) for other in rivals]
        if True in above and False in above:
            return True
        return None if None in above else False

    return _of_means(words, quantity, (name, *rivals), decide)


def near_best(quantity: str, names: Sequence[str], among: Sequence[str], percent: float) -> Criterion:
    """The means of ``names`` exceed the lowest of ``among`` by at most so many per cent."""
    words = f"{TITLES[quantity]} of {_each(names)} at most {percent:g} % above the lowest of {_field(among)}"

    def decide(sample: Sample) -> Outcome:
        if not sample.means:
            return None
        limit = min(sample.means.values()) * (1 + percent / 100)
        inside = every(_known(sample, name, lambda mean: mean <= limit) for name in names)
        return None if inside and sample.missing else inside  # who is missing might be the lowest

    return _of_means(words, quantity, tuple(dict.fromkeys((*names, *among))), decide)


def alike(
    quantity: str, names: Sequence[str], percent: float | None = None, by: float | None = None
) -> Criterion:
    """All means lie within so many per cent of the lowest, or within an absolute range."""
    room = f"{percent:g} %" if percent is not None else f"{by:g}"
    words = f"{TITLES[quantity]} of {listed(names)} within {room} of each other"

    def decide(sample: Sample) -> Outcome:
        if len(sample.means) < 2:
            return None
        low, high = min(sample.means.values()), max(sample.means.values())
        allowed = abs(low) * percent / 100 if percent is not None else by or 0.0
        return (None if sample.missing else True) if high - low <= allowed else False

    return _of_means(words, quantity, names, decide)


def at_most(quantity: str, names: Sequence[str], limit: float) -> Criterion:
    """Each mean is at most ``limit``."""
    words = f"{TITLES[quantity]} of {_each(names)} at most {limit:.3g}"
    return _of_means(
        words, quantity, names, lambda s: every(_known(s, name, lambda v: v <= limit) for name in names)
    )


def at_least(quantity: str, names: Sequence[str], limit: float) -> Criterion:
    """Each mean is at least ``limit``."""
    words = f"{TITLES[quantity]} of {_each(names)} at least {limit:.3g}"
    return _of_means(
        words, quantity, names, lambda s: every(_known(s, name, lambda v: v >= limit) for name in names)
    )


def share(quantity: str, name: str, of: str, limit: float) -> Criterion:
    """The mean of ``name`` is at most ``limit`` times that of ``of``."""
    words = f"{TITLES[quantity]} of {called(name)} at most {limit:.3g} times that of {called(of)}"

    def decide(sample: Sample) -> Outcome:
        return None if sample.missing else sample.means[name] <= limit * sample.means[of]

    return _of_means(words, quantity, (name, of), decide)


def same_sign(scores: tuple[str, str], name: str, than: str) -> Criterion:
    """``name`` is better than ``than`` in both scores, or worse in both."""
    titles = " and ".join(TITLES[each] for each in scores)
    words = f"{titles} of {called(name)} both below those of {called(than)}, or both above"

    def check(evidence: Evidence) -> Finding:
        found = [evidence.sample((name, than), each) for each in scores]
        figures = "; ".join(sample.figures(sample.means) for sample in found)
        first, second = (_below(sample, name, than) for sample in found)
        return Finding(None if first is None or second is None else first == second, figures)

    return Criterion(words, check, (name, than))


def unsteady(quantity: str, name: str, among: Sequence[str], times: float, seeds: int) -> Criterion:
    """The deviation of ``name`` over seeds is so many times that of every other."""
    words = (
        f"standard deviation over seeds of the {TITLES[quantity]} of {called(name)} at least {times:g} times "
        f"that of each of {listed(other for other in among if other != name)}, over {seeds} seeds or more"
    )
    names = (name, *(other for other in among if other != name))

    def check(evidence: Evidence) -> Finding:
        sample = evidence.sample(names, quantity)
        if name not in sample.values or len(sample.seeds) < seeds:
            return Finding(None, f"{len(sample.seeds)} shared seeds of {seeds} that this takes")
        spread = {each: _deviation(values.values()) for each, values in sample.values.items()}
        outcome = every(
            spread[name] >= times * spread[other] if other in spread else None for other in names[1:]
        )
        return Finding(outcome, f"deviation of {TITLES[quantity]}: {sample.figures(spread)}")

    return Criterion(words, check, names)


def both(*criteria: Criterion) -> Criterion:
    """All criteria together."""
    return _joined(criteria, "; and ", every)


def either(*criteria: Criterion) -> Criterion:
    """At least one of the criteria."""
    return _joined(criteria, "; or ", some)


def _joined(
    criteria: Sequence[Criterion], word: str, rule: Callable[[Iterable[Outcome]], Outcome]
) -> Criterion:
    def check(evidence: Evidence) -> Finding:
        found = [criterion.check(evidence) for criterion in criteria]
        figures = dict.fromkeys(each.figures for each in found)
        return Finding(rule(each.outcome for each in found), "; ".join(figures))

    names = dict.fromkeys(name for criterion in criteria for name in criterion.names)
    return Criterion(word.join(criterion.words for criterion in criteria), check, tuple(names))


def _of_means(
    words: str, quantity: str, names: Sequence[str], decide: Callable[[Sample], Outcome]
) -> Criterion:
    def check(evidence: Evidence) -> Finding:
        sample = evidence.sample(names, quantity)
        if not sample.values:
            return Finding(None, sample.figures({}) or "no shared seed")
        alone = sum(decide(sample.at(seed)) is True for seed in sample.seeds)
        besides = f"; true on {alone}" if len(sample.seeds) > 1 and not sample.missing else ""
        title = SHORT.get(quantity, TITLES[quantity])
        return Finding(decide(sample), f"{title}: {sample.figures(sample.means, besides)}")

    return Criterion(words, check, tuple(names))


def _deviation(values: Iterable[float]) -> float:
    """Standard deviation; a loss that is once infinite is as unsteady as can be."""
    deviation = Stat.of(values).sd
    return math.inf if math.isnan(deviation) else deviation


def _below(sample: Sample, name: str, other: str) -> Outcome:
    if name not in sample.means or other not in sample.means:
        return None
    return sample.means[name] < sample.means[other]


def _known(sample: Sample, name: str, test: Callable[[float], bool]) -> Outcome:
    return test(sample.means[name]) if name in sample.means else None


def _field(names: Sequence[str]) -> str:
    """The models that a place is given among; many are counted, because the figures name them."""
    return listed(names) if len(names) <= _MOST_IN_WORDS else f"the {len(names)} models compared"


def _each(names: Sequence[str]) -> str:
    return listed(names) if len(names) < 2 else f"each of {listed(names)}"
