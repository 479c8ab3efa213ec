"""One experiment as a reader meets it: title, tables, findings and notes; every format renders this."""

from dataclasses import dataclass

from hgpbench.report import compare, notes, tables
from hgpbench.report.collect import Experiment
from hgpbench.report.tables import Table


@dataclass(frozen=True)
class Section:
    """The words and tables of one experiment."""

    experiment: Experiment
    title: str
    tables: tuple[Table, ...]
    findings: tuple[str, ...]
    notes: tuple[str, ...]


def section(experiment: Experiment) -> Section:
    """Write up one experiment."""
    made = [
        tables.score_table(experiment),
        tables.cost_table(experiment),
        tables.unfinished_table(experiment),
    ]
    return Section(
        experiment=experiment,
        title=_title(experiment),
        tables=tuple(table for table in made if table is not None),
        findings=tuple(_findings(experiment)),
        notes=tuple(notes.notes(experiment)),
    )


def _title(experiment: Experiment) -> str:
    title, name = experiment.manifest.title, experiment.name
    return f"{name}: {title}" if title and title != name else name


def _findings(experiment: Experiment) -> list[str]:
    """Outcome of the tests; nothing to say where fewer than two models have a score."""
    if sum(bool(experiment.done(label)) for label in experiment.labels) < 2:
        return []
    said = [sentence for metric in compare.COMPARED for sentence in compare.sentences(experiment, metric)]
    method = compare.method(experiment)
    return [*said, method] if method else said
