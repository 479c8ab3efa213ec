"""The paper's printed numbers beside ours."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hgpbench.paper.evidence import Evidence, paper_label
from hgpbench.paper.published import Quantity, departures, printouts
from hgpbench.report import numbers
from hgpbench.report.collect import Experiment
from hgpbench.report.summary import Stat
from hgpbench.report.tables import Cell, Table

TITLES: dict[Quantity, str] = {
    "smse": "SMSE",
    "msll": "MSLL (Gaussian)",
    "seconds": "time [s]",
    "hours": "time [h]",
    "noise_var": "noise variance",
    "speedup": "speed-up",
}
# What of ours a printed number is compared with, and the factor to the paper's unit. The paper's MSLL is that
# of a normal density, so ours must be; its noise variances are in the units of the target, as ours are.
OURS: dict[Quantity, tuple[str, float]] = {
    "smse": ("smse", 1.0),
    "msll": ("msll_gaussian", 1.0),
    "seconds": ("total_seconds", 1.0),
    "hours": ("total_seconds", 1 / 3600),
    "noise_var": ("noise_var", 1.0),
}


@dataclass(frozen=True)
class Comparison:
    """One printed number and ours."""

    label: str
    quantity: Quantity
    ours: Stat
    printed: str
    place: str

    @property
    def published(self) -> float:
        return float(self.printed)

    @property
    def difference(self) -> float:
        """Ours minus the paper's; NaN where ours was not run."""
        return self.ours.mean - self.published


def comparisons(experiment: Experiment) -> list[Comparison]:
    """Every printed number whose model is in this experiment, with the paper's settings or with ours."""
    return [
        Comparison(label, quantity, _ours(experiment, label, quantity), text, printout.place)
        for printout in printouts(experiment)
        for name, printed in printout.models.items()
        for label in (name, paper_label(name))
        if label in experiment.labels
        for quantity, text in printed.items()
    ]


def notes(experiment: Experiment, compared: Sequence[Comparison]) -> list[str]:
    """What to know about the printed numbers."""
    shown = {each.place for each in compared}
    return [f"Published values, {p.place}: {p.about}" for p in printouts(experiment) if p.place in shown]


def table(experiment: Experiment, compared: Sequence[Comparison]) -> Table | None:
    """Ours, published, difference; None where the paper prints nothing of it."""
    if not compared:
        return None
    other = "; ".join(each.words for each in departures(experiment))
    caption = f"Published values beside ours ({other})" if other else "Published values beside ours"
    headings = ("model", "quantity", "ours", "published", "difference", "place")
    return Table(caption, headings, tuple(tuple(_cells(each)) for each in compared))


def as_data(each: Comparison) -> dict[str, Any]:
    """A comparison for JSON."""
    return {**asdict(each), "published": each.published, "difference": each.difference}


def _cells(each: Comparison) -> Iterator[Cell]:
    yield Cell(each.label, is_number=False)
    yield Cell(TITLES[each.quantity], is_number=False)
    yield Cell(numbers.mean_sd(each.ours))
    yield Cell(each.printed)
    yield Cell(_difference(each))
    yield Cell(each.place, is_number=False)


def _difference(each: Comparison) -> str:
    if each.ours.n == 0:
        return numbers.ABSENT
    share = 100 * each.difference / abs(each.published)
    return f"{'+' if each.difference > 0 else ''}{numbers.plain(each.difference, 2)} ({share:+.0f} %)"


def _ours(experiment: Experiment, label: str, quantity: Quantity) -> Stat:
    evidence = Evidence(experiment, ours=True)
    if quantity == "speedup":
        alone = label.partition("=")[0] + "=1"
        both = evidence.sample((alone, label), "total_seconds")
        return Stat.of([] if both.missing else [both.means[alone] / both.means[label]])
    source, factor = OURS[quantity]
    return Stat.of(factor * value for value in evidence.by_seed(label, source).values())
