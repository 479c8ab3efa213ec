"""Every claim of the paper judged by the runs, and the tables that tell it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from hgpbench.paper import claims_large, claims_medium, claims_rows, claims_sinc2d, claims_toy
from hgpbench.paper.claim import Claim, Survey
from hgpbench.paper.criteria import Criterion, Finding
from hgpbench.paper.evidence import AS_IN_PAPER, PAPER, Evidence
from hgpbench.paper.identities import Identity
from hgpbench.paper.published import SIZES, Departure, counterpart, departures
from hgpbench.paper.statements import Answer
from hgpbench.report.collect import Experiment
from hgpbench.report.tables import Cell, Table

CLAIMS: tuple[Claim, ...] = (
    *claims_rows.MATHEMATICS,
    *claims_toy.CLAIMS,
    *claims_rows.CLAIMS,
    *claims_sinc2d.CLAIMS,
    *claims_medium.PROTEIN,
    *claims_medium.SARCOS,
    *claims_medium.ROAD,
    *claims_large.ELECTRIC,
    *claims_large.GENERAL,
)

Ruling = Literal["holds", "does not hold", "undecided", "not run"]
_RULINGS: dict[Answer, Ruling] = {
    "yes": "holds",
    "no": "does not hold",
    "open": "undecided",
    "absent": "not run",
}
SMALLER = "smaller"


@dataclass(frozen=True)
class Verdict:
    """A claim, what the runs say of it, and whose runs they are."""

    claim: Claim
    ruling: Ruling
    figures: str
    needs: str = ""  # what would decide it, where the runs do not
    ours: Ruling | None = None  # the same of our settings, where the paper's have a label of their own
    experiments: tuple[str, ...] = ()
    departures: tuple[Departure, ...] = ()  # from the paper's data and sizes

    @property
    def said(self) -> str:
        """The ruling, never without the variant that it is of."""
        if not self.departures or self.ruling == "not run":
            return self.ruling
        tags = [tag for tag in dict.fromkeys(each.tag for each in self.departures) if tag != SIZES]
        return f"{self.ruling} ({', '.join(tags or [SIZES])})"


def judge(experiment: Experiment) -> list[Verdict]:
    """The claims about one experiment alone."""
    base = counterpart(experiment)
    return [
        _judge(claim, claim.test, experiment)
        for claim in CLAIMS
        if isinstance(claim.test, Criterion) and base is not None and claim.experiment == base
    ]


def judge_all(experiments: Sequence[Experiment], judged: Iterable[Sequence[Verdict]]) -> list[Verdict]:
    """Every claim once, by the fullest experiment that decides it, from the verdicts of each alone."""
    of_claim: dict[str, list[Verdict]] = {}
    for verdict in chain.from_iterable(judged):
        of_claim.setdefault(verdict.claim.id, []).append(verdict)
    chosen = _fullest(experiments)
    return [_once(claim, of_claim, chosen) for claim in CLAIMS]


def _once(
    claim: Claim, of_claim: Mapping[str, Sequence[Verdict]], chosen: Mapping[str, Experiment]
) -> Verdict:
    if isinstance(claim.test, Survey):
        return _survey(claim, claim.test, chosen)
    if isinstance(claim.test, Identity):
        return _verdict(claim, claim.test.check(), (), ())
    return min(of_claim.get(claim.id, [Verdict(claim, "not run", "")]), key=_rank)


def counts(verdicts: Sequence[Verdict]) -> str:
    """How many hold, do not hold, stay undecided, were not run; and how many are of a smaller variant."""
    plural = {
        "holds": "hold",
        "does not hold": "do not hold",
        "undecided": "undecided",
        "not run": "not run",
    }
    said = [f"{sum(each.ruling == ruling for each in verdicts)} {words}" for ruling, words in plural.items()]
    partly = sum(bool(each.departures) and each.ruling != "not run" for each in verdicts)
    verb = "is" if partly == 1 else "are"
    besides = (
        f"; {partly} of the verdicts {verb} of runs unlike the paper's in data or size" if partly else ""
    )
    return ", ".join(said) + besides


def table(experiment: Experiment, verdicts: Sequence[Verdict]) -> Table | None:
    """The claims about one experiment; None where the paper makes none."""
    if not verdicts:
        return None
    other = "; ".join(each.words for each in departures(experiment))
    runs = f", of runs that are not the paper's in full ({other})" if other else ""
    return _table(f"Claims of the paper{runs}: {counts(verdicts)}", verdicts)


def notes(verdicts: Sequence[Verdict]) -> list[str]:
    """How to read the claims, where there are any."""
    if not verdicts:
        return []
    return [
        "Claims: a claim holds where the 95 % intervals of the differences that it speaks of lie on its side "
        "(or within its margin), does not hold where one lies on the other, and is undecided else. The "
        "comparison that it hangs on is given with its interval, over the seeds that its models share: "
        "paired t tests, corrected for shared training rows; that one of several parts fails, by Bonferroni. "
        "MSLL is that of a normal density, as in the paper. A claim is judged by the "
        f"paper's settings where they have a label of their own (with {PAPER}), and by ours besides."
    ]


def general_table(verdicts: Sequence[Verdict]) -> Table:
    """The claims about several experiments together."""
    general = [each for each in verdicts if isinstance(each.claim.test, Survey)]
    return _table(f"Claims about several datasets: {counts(general)}", general)


def computed_table(verdicts: Sequence[Verdict]) -> Table:
    """The claims that no run can show: what they state was computed for this report."""
    computed = [each for each in verdicts if isinstance(each.claim.test, Identity)]
    return _table(f"Claims of mathematics, computed for this report: {counts(computed)}", computed)


def summary_table(verdicts: Sequence[Verdict]) -> Table:
    """One line a claim over the whole report."""
    rows = [
        (each.said, each.ours or "", each.claim.id, each.claim.says, each.claim.place) for each in verdicts
    ]
    caption = f"All claims of the paper: {counts(verdicts)}"
    return _prose(caption, ("verdict", "our settings", "claim", "what the paper says", "place"), rows)


def as_data(verdict: Verdict) -> dict[str, Any]:
    """A verdict for JSON."""
    claim = verdict.claim
    return {
        "id": claim.id,
        "place": claim.place,
        "says": claim.says,
        "criterion": claim.test.words,
        "trivial": claim.trivial,
        "verdict": verdict.ruling,
        "our_settings": verdict.ours,
        "figures": verdict.figures,
        "needs": verdict.needs,
        "experiments": verdict.experiments,
        "departures": [each.words for each in verdict.departures],
    }


def _table(caption: str, verdicts: Sequence[Verdict]) -> Table:
    rows = [
        (
            each.said,
            each.ours or "",
            f"{each.claim.says} ({each.claim.place})",
            each.claim.test.words,
            "; ".join(part for part in (each.figures, each.needs) if part),
        )
        for each in verdicts
    ]
    return _prose(
        caption, ("verdict", "our settings", "what the paper says", "counts as true if", "figures"), rows
    )


def _prose(caption: str, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    """A table of words, without a column that is empty throughout."""
    kept = [i for i in range(len(headings)) if any(row[i] for row in rows)]
    cells = tuple(tuple(Cell(row[i], is_number=False) for i in kept) for row in rows)
    return Table(caption, tuple(headings[i] for i in kept), cells, is_prose=True)


def _judge(claim: Claim, test: Criterion, experiment: Experiment) -> Verdict:
    evidence = Evidence(experiment)
    finding = test.check(evidence)
    ours = None
    differs = any(name != label for name, label in evidence.labels(test.names).items())
    if differs and not set(test.names) & set(AS_IN_PAPER):
        ours = _RULINGS[test.check(Evidence(experiment, ours=True)).answer]
    smaller = ", ".join(evidence.smaller(test.names))
    less = (Departure(SMALLER, f"{smaller}: fewer inducing points than in the paper"),) if smaller else ()
    return _verdict(claim, finding, (experiment.name,), (*departures(experiment), *less), ours)


def _survey(claim: Claim, test: Survey, chosen: Mapping[str, Experiment]) -> Verdict:
    used = {name: chosen[name] for name in test.criteria if name in chosen}
    finding = test.check({name: Evidence(each) for name, each in used.items()})
    different = tuple(
        Departure(each.name, f"{each.name}: {'; '.join(d.words for d in departures(each))}")
        for each in used.values()
        if departures(each)
    )
    return _verdict(claim, finding, tuple(each.name for each in used.values()), different)


def _verdict(
    claim: Claim,
    finding: Finding,
    names: tuple[str, ...],
    different: tuple[Departure, ...],
    ours: Ruling | None = None,
) -> Verdict:
    ruling = _RULINGS[finding.answer]
    return Verdict(claim, ruling, finding.figures, finding.needs, ours, names, different)


def _fullest(experiments: Sequence[Experiment]) -> dict[str, Experiment]:
    """For each of the paper's experiments, the one here with runs that departs least from it."""
    chosen: dict[str, Experiment] = {}
    for experiment in sorted(experiments, key=lambda each: (not each.finished, len(departures(each)))):
        base = counterpart(experiment)
        if base is not None:
            chosen.setdefault(base, experiment)
    return chosen


def _rank(verdict: Verdict) -> tuple[bool, int]:
    return verdict.ruling == "not run", len(verdict.departures)
