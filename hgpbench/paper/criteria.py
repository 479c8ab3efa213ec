"""What decides a claim: statements about means, written so that their words and their numbers cannot part.

Each function makes a Criterion from the same arguments that its words are made of. A statement about all of
several models is refuted by one of them, but holds only once all were run; what the runs do not tell is open.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from hgpbench.metrics import MARGIN
from hgpbench.paper.evidence import SHORT, TITLES, Evidence, called, listed
from hgpbench.paper.statements import (
    MOST_SEEDS,
    Absent,
    Answer,
    AtMost,
    Every,
    Ratio,
    Some,
    Statement,
    answer,
    joined,
    seeds_needed,
    telling,
)
from hgpbench.report.numbers import plain

_MOST_IN_WORDS = 4


@dataclass(frozen=True)
class Finding:
    """What the runs say of a criterion, the figures behind it, and where they do not decide, what would."""

    answer: Answer
    figures: str
    needs: str = ""


@dataclass(frozen=True)
class Stated:
    """A criterion put to the runs: the statement about their means, and the means in words."""

    statement: Statement
    figures: tuple[str, ...]

    def finding(self) -> Finding:
        """The answer with its figures and the comparison that it hangs on."""
        said = answer(self.statement)
        hinge = telling(self.statement) if said != "absent" else None
        figures = "; ".join([*dict.fromkeys(self.figures), *([str(hinge)] if hinge is not None else [])])
        return Finding(said, figures, _needs(self.statement) if said == "open" else "")


@dataclass(frozen=True)
class Criterion:
    """When a claim counts as true, in words and as a statement; and the models that it needs."""

    words: str
    state: Callable[[Evidence], Stated]
    names: tuple[str, ...]
    subjects: tuple[str, ...] = ()  # of these models, those that it says something good of; none: all

    def check(self, evidence: Evidence) -> Finding:
        """What these runs say of it."""
        return self.state(evidence).finding()


def _needs(statement: Statement) -> str:
    count = seeds_needed(statement)
    if count is not None:
        return f"about {count} seeds like these would decide"
    if any(len(leaf.values) < 2 for leaf in statement.leaves()):
        return "a single seed says nothing of chance; two are the least"
    return f"not even {MOST_SEEDS:,} such seeds would decide"


def most(answers: Iterable[Answer]) -> Answer:
    """Whether more than half are yes, as soon as the rest cannot change it."""
    found = list(answers)
    half = len(found) / 2
    if found.count("yes") > half:
        return "yes"
    if found.count("no") >= half:
        return "no"
    return "absent" if "absent" in found else "open"


def some(answers: Iterable[Answer]) -> Answer:
    """Whether at least one is yes."""
    found = list(answers)
    if "yes" in found:
        return "yes"
    return next((each for each in ("absent", "open") if each in found), "no")


def lower(quantity: str, names: Sequence[str], than: Sequence[str]) -> Criterion:
    """Each of ``names`` has a lower mean than each of ``than``."""
    words = f"{TITLES[quantity]} of {_each(names)} below that of {_each(than)}"

    def state(evidence: Evidence) -> Statement:
        return _every(_below(evidence, quantity, name, other) for name in names for other in than)

    return _of_means(words, quantity, (*names, *than), state, names)


def higher(quantity: str, names: Sequence[str], than: Sequence[str]) -> Criterion:
    """Each of ``names`` has a higher mean than each of ``than``."""
    made = lower(quantity, than, names)
    words = f"{TITLES[quantity]} of {_each(names)} above that of {_each(than)}"
    return Criterion(words, made.state, made.names, tuple(names))


def lowest(quantity: str, name: str, among: Sequence[str]) -> Criterion:
    """``name`` has the lowest mean of ``among``."""
    made = lower(quantity, (name,), [other for other in among if other != name])
    return Criterion(
        f"{TITLES[quantity]} of {called(name)} is the lowest of {_field(among)}",
        made.state,
        made.names,
        (name,),
    )


def highest(quantity: str, name: str, among: Sequence[str]) -> Criterion:
    """``name`` has the highest mean of ``among``."""
    made = lower(quantity, [other for other in among if other != name], (name,))
    return Criterion(
        f"{TITLES[quantity]} of {called(name)} is the highest of {_field(among)}",
        made.state,
        made.names,
        (name,),
    )


def between(quantity: str, name: str, among: Sequence[str]) -> Criterion:
    """``name`` is neither the best nor the worst."""
    words = f"{TITLES[quantity]} of {called(name)} is neither the lowest nor the highest of {_field(among)}"
    rivals = [other for other in among if other != name]

    def state(evidence: Evidence) -> Statement:
        better = Some(tuple(_below(evidence, quantity, other, name) for other in rivals))
        worse = Some(tuple(_below(evidence, quantity, name, other) for other in rivals))
        return Every((better, worse))

    return _of_means(words, quantity, (name, *rivals), state, (name,))


def near_best(
    quantity: str,
    names: Sequence[str],
    among: Sequence[str],
    percent: float | None = None,
    by: float | None = None,
) -> Criterion:
    """The means of ``names`` exceed no other's of ``among`` by more than so many per cent, or so much."""
    words = (
        f"{TITLES[quantity]} of {_each(names)} at most {_room(percent, by)} above the lowest of "
        f"{_field(among)}"
    )

    def state(evidence: Evidence) -> Statement:
        pairs = [(name, other) for name in names for other in among if other != name]
        return _every(_not_above(evidence, quantity, name, other, percent, by) for name, other in pairs)

    return _of_means(words, quantity, tuple(dict.fromkeys((*names, *among))), state, names)


def near(quantity: str, names: Sequence[str], target: str, by: float) -> Criterion:
    """The means of ``names`` are below that of ``target`` by at most so much."""
    words = f"{TITLES[quantity]} of {_each(names)} below that of {called(target)} by at most {by:g}"

    def state(evidence: Evidence) -> Statement:
        return _every(_mean(evidence, quantity, {target: 1.0, name: -1.0}, by) for name in names)

    return _of_means(words, quantity, (*names, target), state, names)


def alike(
    quantity: str, names: Sequence[str], percent: float | None = None, by: float | None = None
) -> Criterion:
    """No mean is more than so many per cent, or so much, above another."""
    words = f"{TITLES[quantity]} of {listed(names)} within {_room(percent, by)} of each other"

    def state(evidence: Evidence) -> Statement:
        pairs = permutations(names, 2)
        return _every(_not_above(evidence, quantity, name, other, percent, by) for name, other in pairs)

    return _of_means(words, quantity, names, state)


def at_most(quantity: str, names: Sequence[str], limit: float) -> Criterion:
    """Each mean is at most ``limit``."""
    words = f"{TITLES[quantity]} of {_each(names)} at most {limit:.3g}"

    def state(evidence: Evidence) -> Statement:
        return _every(_mean(evidence, quantity, {name: 1.0}, limit) for name in names)

    return _of_means(words, quantity, names, state)


def at_least(quantity: str, names: Sequence[str], limit: float) -> Criterion:
    """Each mean is at least ``limit``."""
    words = f"{TITLES[quantity]} of {_each(names)} at least {limit:.3g}"

    def state(evidence: Evidence) -> Statement:
        return _every(_mean(evidence, quantity, {name: -1.0}, -limit) for name in names)

    return _of_means(words, quantity, names, state)


def share(quantity: str, name: str, of: str, limit: float) -> Criterion:
    """The mean of ``name`` is at most ``limit`` times that of ``of``."""
    words = f"{TITLES[quantity]} of {called(name)} at most {limit:.3g} times that of {called(of)}"

    def state(evidence: Evidence) -> Statement:
        return _mean(evidence, quantity, {name: 1.0, of: -limit}, 0.0)

    return _of_means(words, quantity, (name, of), state, (name,))


def skilled(names: Sequence[str]) -> Criterion:
    """Each of ``names`` knows more than the mean and variance of the training targets."""
    made = at_most("smse", names, 1 - MARGIN)
    verb = "beats" if len(names) == 1 else "beat"
    return Criterion(f"{listed(names)} {verb} the mean of the training targets", made.state, made.names)


def same_sign(scores: tuple[str, str], name: str, than: str) -> Criterion:
    """``name`` is better than ``than`` in both scores, or worse in both."""
    titles = " and ".join(TITLES[each] for each in scores)
    words = f"{titles} of {called(name)} both below those of {called(than)}, or both above"

    def state(evidence: Evidence) -> Stated:
        better = Every(tuple(_below(evidence, each, name, than) for each in scores))
        worse = Every(tuple(_below(evidence, each, than, name) for each in scores))
        return Stated(Some((better, worse)), tuple(_figures(evidence, each, (name, than)) for each in scores))

    return Criterion(words, state, (name, than), (name,))


def unsteady(quantity: str, name: str, among: Sequence[str], times: float) -> Criterion:
    """The deviation of ``name`` over seeds is so many times that of every other."""
    others = [other for other in among if other != name]
    words = (
        f"standard deviation over seeds of the {TITLES[quantity]} of {called(name)} at least {times:g} times "
        f"that of each of {listed(others)}"
    )

    def state(evidence: Evidence) -> Stated:
        mine = tuple(evidence.values(name, quantity).values())
        parts = []
        for other in others:
            theirs = tuple(evidence.values(other, quantity).values())
            parts.append(Ratio(f"{name} over {other}", mine, theirs, times))
        figures = f"deviation of {_figures(evidence, quantity, (name, *others), deviations=True)}"
        return Stated(Every(tuple(parts)), (figures,))

    return Criterion(words, state, (name, *others), (name,))


def both(*criteria: Criterion) -> Criterion:
    """All criteria together."""
    return _joined(criteria, "; and ", Every)


def either(*criteria: Criterion) -> Criterion:
    """At least one of the criteria."""
    return _joined(criteria, "; or ", Some)


def _joined(
    criteria: Sequence[Criterion], word: str, rule: Callable[[tuple[Statement, ...]], Statement]
) -> Criterion:
    def state(evidence: Evidence) -> Stated:
        found = [criterion.state(evidence) for criterion in criteria]
        figures = tuple(figure for each in found for figure in each.figures)
        return Stated(rule(tuple(each.statement for each in found)), figures)

    names = dict.fromkeys(name for criterion in criteria for name in criterion.names)
    subjects = dict.fromkeys(name for each in criteria for name in each.subjects or each.names)
    words = word.join(criterion.words for criterion in criteria)
    return Criterion(words, state, tuple(names), tuple(subjects))


def _of_means(
    words: str,
    quantity: str,
    names: Sequence[str],
    state: Callable[[Evidence], Statement],
    subjects: Sequence[str] = (),
) -> Criterion:
    def stated(evidence: Evidence) -> Stated:
        return Stated(state(evidence), (_figures(evidence, quantity, names),))

    return Criterion(words, stated, tuple(names), tuple(subjects))


def _every(parts: Iterable[Statement]) -> Statement:
    return joined(list(parts))


def _below(evidence: Evidence, quantity: str, name: str, other: str) -> Statement:
    return _mean(evidence, quantity, {name: 1.0, other: -1.0}, 0.0, is_strict=True)


def _not_above(
    evidence: Evidence, quantity: str, name: str, other: str, percent: float | None, by: float | None
) -> Statement:
    """A mean is not above another by more than a share of that, or by more than an amount."""
    times = 1.0 if percent is None else 1 + percent / 100
    return _mean(evidence, quantity, {name: 1.0, other: -times}, by or 0.0)


def _mean(
    evidence: Evidence,
    quantity: str,
    weights: Mapping[str, float],
    bound: float,
    is_strict: bool = False,
) -> Statement:
    """A weighted sum of means is at most ``bound``, over the seeds that these labels share."""
    values = evidence.combined(quantity, weights)
    if not values:
        return Absent()
    labels = evidence.labels(weights)
    is_turned = all(weight < 0 for weight in weights.values())
    turn = -1.0 if is_turned else 1.0
    words = _sum({labels[name]: turn * weight for name, weight in weights.items()})
    return AtMost(words, tuple(values), bound, evidence.extra, is_strict, is_turned)


def _sum(weights: Mapping[str, float]) -> str:
    """A weighted sum in words: ``dvshgp − 1.1 rbcm``."""
    said = ""
    for label, weight in weights.items():
        sign = " − " if weight < 0 else " + "
        factor = "" if abs(weight) == 1 else f"{abs(weight):.3g} "
        said += f"{sign if said or weight < 0 else ''}{factor}{label}"
    return said.strip()


def _figures(evidence: Evidence, quantity: str, names: Iterable[str], deviations: bool = False) -> str:
    """The mean (or deviation) of each finished label, over how many seeds, and what is missing."""
    sample = evidence.every(names, quantity)
    stats = {name: sample.stat(name) for name in sample.values}
    shown = {name: stat.sd if deviations else stat.mean for name, stat in stats.items()}
    counts = sorted({stat.n for stat in stats.values()})
    said = ", ".join(f"{sample.labels[name]} {plain(value)}" for name, value in shown.items())
    span = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1]))) if counts else ""
    parts = [f"{SHORT.get(quantity, TITLES[quantity])}: {said} (n = {span})"] if said else []
    if sample.missing:
        parts.append("missing: " + ", ".join(sample.missing))
    return "; ".join(parts)


def _room(percent: float | None, by: float | None) -> str:
    return f"{percent:g} %" if percent is not None else f"{by or 0:g}"


def _field(names: Sequence[str]) -> str:
    """The models that a place is given among; many are counted, because the figures name them."""
    return listed(names) if len(names) <= _MOST_IN_WORDS else f"the {len(names)} models compared"


def _each(names: Sequence[str]) -> str:
    return listed(names) if len(names) < 2 else f"each of {listed(names)}"
