"""What stands at the head of a report on a comparison, beside what the paper adds to its own experiments."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hgpbench.bench import asked, manifest
from hgpbench.paper import supplement as paper
from hgpbench.report.answer import answer
from hgpbench.report.collect import Experiment
from hgpbench.report.supplement import Addition, Supplement, Supplier


def supplement(path: Path) -> Supplier:
    """The supplier of a report on this folder: a results folder, or one experiment's."""

    def supply(experiments: Sequence[Experiment]) -> Supplement:
        added = paper.supplement(experiments)
        pairs = zip(experiments, added.additions, strict=True)
        return replace(added, additions=tuple(_with_lead(path, each, about) for each, about in pairs))

    return supply


def _with_lead(path: Path, experiment: Experiment, addition: Addition) -> Addition:
    own = (path / manifest.MANIFEST).is_file()
    found = asked.find(path if own else path / experiment.name)
    return addition if found is None else replace(addition, lead=answer(experiment, found))
