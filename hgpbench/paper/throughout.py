"""Criteria on several labels along one sweep: what holds at each of its values, and what grows with them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from hgpbench.paper.criteria import Criterion, Stated
from hgpbench.paper.evidence import TITLES, Evidence, called
from hgpbench.paper.statements import Absent, AtMost, Statement, joined
from hgpbench.report.numbers import plain

LOST = 1.0  # nats a training row that a fit which fails counts as behind
Weights = Mapping[tuple[str, float], float]  # by name and value of the sweep
Mean = Callable[[Weights, float], Statement]


def lower_throughout(quantity: str, name: str, than: str, parameter: str) -> Criterion:
    """One label has a lower mean than another at each value."""
    words = f"{TITLES[quantity]} of {called(name)} below that of {called(than)} at every {parameter}"
    return _along(
        words,
        quantity,
        (name, than),
        lambda sweep, mean: joined([mean({(name, at): 1, (than, at): -1}, 0) for at in sweep]),
    )


def higher_throughout(quantity: str, name: str, than: str, parameter: str) -> Criterion:
    """One label has a higher mean than another at each value."""
    words = f"{TITLES[quantity]} of {called(name)} above that of {called(than)} at every {parameter}"
    return _along(
        words,
        quantity,
        (name, than),
        lambda sweep, mean: joined([mean({(than, at): 1, (name, at): -1}, 0) for at in sweep]),
    )


def at_most_throughout(quantity: str, name: str, parameter: str, limit: float) -> Criterion:
    """The mean is at most so much at each value."""
    words = f"{TITLES[quantity]} of {called(name)} at most {limit:.3g} at every {parameter}"
    return _along(
        words, quantity, (name,), lambda sweep, mean: joined([mean({(name, at): 1}, limit) for at in sweep])
    )


def falls_by(quantity: str, name: str, parameter: str, by: float) -> Criterion:
    """The mean at the largest value is below that at the smallest by so much or more."""
    words = (
        f"{TITLES[quantity]} of {called(name)} lower by {by:g} or more at the largest {parameter} than at "
        "the smallest"
    )
    return _along(
        words,
        quantity,
        (name,),
        lambda sweep, mean: mean({(name, sweep[-1]): 1, (name, sweep[0]): -1}, -by),
    )


def grows_no_faster(quantity: str, name: str, parameter: str, power: float) -> Criterion:
    """From each value to the next the mean grows by no more than a power of how the value does."""
    words = (
        f"{TITLES[quantity]} of {called(name)} grows from each {parameter} to the next by at most that "
        f"growth to the power of {power:g}"
    )
    return _along(
        words,
        quantity,
        (name,),
        lambda sweep, mean: joined(
            [mean({(name, b): 1, (name, a): -((b / a) ** power)}, 0) for a, b in pairwise(sweep)]
        ),
    )


def behind(names: Sequence[str], than: str, parameter: str, by: float) -> Criterion:
    """Final bounds are so much below another's at each value; a fit that fails is far behind."""
    words = (
        f"final bound a training row of each of {' and '.join(map(called, names))} below that of "
        f"{called(than)} by {by:g} or more at every {parameter} (a fit that fails is behind by {LOST:g})"
    )

    def stated(evidence: Evidence) -> Stated:
        return _of_gaps(
            evidence,
            names,
            than,
            lambda gaps: joined(
                [
                    AtMost(f"{than} − {name} at {at:g}, less {by:g}", _negated(values, -by), 0.0)
                    for name, found in gaps.items()
                    for at, values in found.items()
                ]
            ),
        )

    return Criterion(words, stated, (*names, than), tuple(names))


def further_behind(names: Sequence[str], than: str, parameter: str) -> Criterion:
    """By how much final bounds are below another's is more at the largest value than at the smallest."""
    words = (
        f"final bound a training row of each of {' and '.join(map(called, names))} further below that of "
        f"{called(than)} at the largest {parameter} than at the smallest (a fit that fails is behind by "
        f"{LOST:g})"
    )

    def stated(evidence: Evidence) -> Stated:
        def statement(gaps: Mapping[str, Mapping[float, Mapping[int, float]]]) -> Statement:
            parts = []
            for name, found in gaps.items():
                first, *_, last = found
                shared = sorted(found[first].keys() & found[last].keys())
                grown = tuple(found[first][seed] - found[last][seed] for seed in shared)
                what = f"{than} − {name}: at {first:g} less than at {last:g}"
                parts.append(AtMost(what, grown, 0.0, is_strict=True))
            return joined(parts)

        return _of_gaps(evidence, names, than, statement)

    return Criterion(words, stated, (*names, than), tuple(names))


Gaps = Mapping[str, Mapping[float, Mapping[int, float]]]  # by name, value of the sweep and seed


def _of_gaps(
    evidence: Evidence, names: Sequence[str], than: str, statement: Callable[[Gaps], Statement]
) -> Stated:
    """A statement about how far each label's bound is below another's along their sweep."""
    sweeps = {name: evidence.sweep(name) for name in (*names, than)}
    values = sorted(set.intersection(*(set(sweep) for sweep in sweeps.values())))
    gaps: dict[str, dict[float, dict[int, float]]] = {
        name: {at: _gaps(evidence, sweeps[name][at], sweeps[than][at]) for at in values} for name in names
    }
    missing = [f"{name} at {at:g}" for name, found in gaps.items() for at, told in found.items() if not told]
    if len(values) < 2 or missing:
        return Stated(Absent(), (f"missing: {', '.join(missing) or 'a sweep'}",))
    figures = []
    for name, found in gaps.items():
        said = ", ".join(f"{plain(sum(e.values()) / len(e), 3)} at {at:g}" for at, e in found.items())
        failed = sum(len(evidence.failures(sweeps[name][at])) for at in values)
        lost = f"; {failed} fits failed" if failed else ""
        figures.append(f"{name} behind by {said} (n = {min(len(e) for e in found.values())}{lost})")
    return Stated(statement(gaps), tuple(figures))


def _gaps(evidence: Evidence, name: str, than: str) -> dict[int, float]:
    bounds, best = evidence.values(name, "bound"), evidence.values(than, "bound")
    failed = dict.fromkeys(evidence.failures(name) & best.keys(), LOST)
    return {seed: min(LOST, best[seed] - bounds[seed]) for seed in bounds.keys() & best.keys()} | failed


def _negated(values: Mapping[int, float], plus: float) -> tuple[float, ...]:
    return tuple(-values[seed] - plus for seed in sorted(values))


def _along(
    words: str, quantity: str, names: tuple[str, ...], state: Callable[[list[float], Mean], Statement]
) -> Criterion:
    """Decided only where all of these labels are complete along their sweep."""

    def stated(evidence: Evidence) -> Stated:
        sweeps = {name: evidence.sweep(name) for name in names}
        values = sorted(set.intersection(*(set(sweep) for sweep in sweeps.values())))
        figures, missing = [], []
        for name, sweep in sweeps.items():
            sample = evidence.every(sweep.values(), quantity)
            said = [(at, sample.stat(sweep[at])) for at in values if sweep[at] in sample.values]
            missing += [f"{name} at {at:g}" for at in values if sweep[at] not in sample.values]
            told = ", ".join(f"{plain(stat.mean, 3)} at {at:g}" for at, stat in said)
            count = f" (n = {min(stat.n for _, stat in said)})" if said else ""
            figures.append(f"{TITLES[quantity]} of {name}: {told or 'none'}{count}")
        if len(values) < 2 or missing:
            lacking = f"missing: {', '.join(missing) or 'a sweep'}"
            return Stated(Absent(), (*figures, lacking))

        def mean(weights: Weights, bound: float) -> Statement:
            by_name = {sweeps[name][at]: weight for (name, at), weight in weights.items()}
            told = " ".join(
                f"{'−' if w < 0 else '+'} {abs(w):.3g} × {name} at {at:g}"
                for (name, at), w in weights.items()
            )
            return AtMost(
                told.removeprefix("+ "),
                tuple(evidence.combined(quantity, by_name)),
                bound,
                evidence.extra,
                bound == 0,
            )

        return Stated(state(values, mean), tuple(figures))

    return Criterion(words, stated, names, names[:1])
