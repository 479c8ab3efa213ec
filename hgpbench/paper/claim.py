"""A claim of the paper: where it stands, what it says in our words, and what decides it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from hgpbench.paper.criteria import Criterion, Finding
from hgpbench.paper.evidence import Evidence
from hgpbench.paper.identities import Identity
from hgpbench.paper.statements import Answer


@dataclass(frozen=True)
class Survey:
    """Criteria asked of several experiments, and how many of the answers must be yes."""

    criteria: Mapping[str, tuple[Criterion, ...]]  # by experiment
    rule: Callable[[list[Answer]], Answer]
    words: str

    def check(self, found: Mapping[str, Evidence]) -> Finding:
        """Ask every criterion of every experiment; one that was not run leaves its answers open."""
        answers: list[Answer] = []
        said = []
        for name, criteria in self.criteria.items():
            here: list[Answer] = ["absent"] * len(criteria)
            if name in found:
                here = [criterion.check(found[name]).answer for criterion in criteria]
            answers += here
            shown = found[name].experiment.name if name in found else name
            said.append(f"{shown} {_counted(here)}")
        return Finding(self.rule(answers), ", ".join(said))


def _counted(answers: list[Answer]) -> str:
    """Several answers in words; the only one as it is."""
    words = {"yes": "yes", "no": "no", "open": "undecided", "absent": "not run"}
    counts = [(answers.count(each), word) for each, word in words.items() if each in answers]
    if len(answers) == 1 or counts == [(len(answers), "not run")]:
        return counts[0][1]
    return " / ".join(f"{count} {word}" for count, word in counts)


@dataclass(frozen=True)
class Claim:
    """One checkable statement."""

    id: str
    place: str  # section of the paper, and what in it
    says: str  # in our words
    test: "Criterion | Survey | Identity"
    experiment: str | None = None  # None: about several together, or about none
    trivial: str = ""  # why a trivial predictor in the place of its models may pass, where it does

    @property
    def is_general(self) -> bool:
        return self.experiment is None


class Place(Protocol):
    """What makes the claims of one place of the paper about one experiment."""

    def __call__(self, name: str, says: str, test: Criterion, trivial: str = "") -> Claim: ...


def on(experiment: str, place: str) -> Place:
    """A shorthand for the claims that one section makes about one experiment."""

    def claim(name: str, says: str, test: Criterion, trivial: str = "") -> Claim:
        return Claim(f"{experiment}/{name}", place, says, test, experiment, trivial)

    return claim
