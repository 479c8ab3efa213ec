"""What somebody else adds to a report, such as a paper whose numbers and claims stand beside our runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hgpbench.report.collect import Experiment
from hgpbench.report.tables import Table

if TYPE_CHECKING:
    from hgpbench.report.across import Ranking


@dataclass(frozen=True)
class Remarks:
    """Sentences under a heading of their own; ``name`` is their key in JSON."""

    name: str
    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Addition:
    """What is added to the section of one experiment."""

    lead: tuple[str, ...] = ()  # before everything else
    tables: tuple[Table, ...] = ()
    remarks: tuple[Remarks, ...] = ()
    notes: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)  # for JSON, by key


@dataclass(frozen=True)
class Closing:
    """What ends the report; ``name`` is its anchor in the page, its key in JSON, and begins its files."""

    name: str
    heading: str
    tables: tuple[Table, ...]
    data: tuple[Mapping[str, Any], ...]
    words: tuple[str, ...] = ()
    rankings: tuple["Ranking", ...] = ()  # of which pictures are drawn


@dataclass(frozen=True)
class Supplement:
    """All that is added to one report."""

    additions: tuple[Addition, ...]  # one for each experiment, in their order
    closings: tuple[Closing, ...] = ()


NOTHING_ADDED = Addition()
Supplier = Callable[[Sequence[Experiment]], Supplement]


def nothing(experiments: Sequence[Experiment]) -> Supplement:
    """A report of our own runs alone."""
    return Supplement((NOTHING_ADDED,) * len(experiments))
