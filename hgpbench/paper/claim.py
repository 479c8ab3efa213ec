"""A claim of the paper: where it stands, what it says in our words, and what decides it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hgpbench.paper.criteria import Criterion, Finding, Outcome
from hgpbench.paper.evidence import Evidence


@dataclass(frozen=True)
class Survey:
    """Criteria asked of several experiments, and how many of the answers must be yes."""

    criteria: Mapping[str, tuple[Criterion, ...]]  # by experiment
    rule: Callable[[list[Outcome]], Outcome]
    words: str

    def check(self, found: Mapping[str, Evidence]) -> Finding:
        """Ask every criterion of every experiment; one that was not run leaves its answers open."""
        outcomes: list[Outcome] = []
        said = []
        for name, criteria in self.criteria.items():
            here = [criterion.check(found[name]).outcome if name in found else None for criterion in criteria]
            outcomes += here
            known = [outcome for outcome in here if outcome is not None]
            shown = found[name].experiment.name if name in found else name
            said.append(f"{shown} {sum(known)} of {len(known)}" if known else f"{shown} not run")
        return Finding(self.rule(outcomes), f"yes: {', '.join(said)}")


@dataclass(frozen=True)
class Claim:
    """One checkable statement."""

    id: str
    place: str  # section of the paper, and what in it
    says: str  # in our words
    test: "Criterion | Survey"
    experiment: str | None = None  # None: about several together

    @property
    def is_general(self) -> bool:
        return self.experiment is None


def on(experiment: str, place: str) -> Callable[[str, str, Criterion], Claim]:
    """A shorthand for the claims that one section makes about one experiment."""

    def claim(name: str, says: str, test: Criterion) -> Claim:
        return Claim(f"{experiment}/{name}", place, says, test, experiment)

    return claim
