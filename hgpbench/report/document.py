"""One experiment as a reader meets it: title, tables, findings and notes; every format renders this."""

from collections.abc import Sequence
from dataclasses import dataclass

from hgpbench.report import compare, notes, tables
from hgpbench.report.collect import Experiment
from hgpbench.report.paper import beyond, values, verdicts
from hgpbench.report.paper.verdicts import Verdict
from hgpbench.report.tables import Table

BEYOND = "What the paper does not say"
CLOSING = "Claims of the paper"


@dataclass(frozen=True)
class Section:
    """The words and tables of one experiment."""

    experiment: Experiment
    title: str
    tables: tuple[Table, ...]
    findings: tuple[str, ...]
    beyond: tuple[str, ...]  # what the runs show and the paper does not say
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Closing:
    """The paper's claims over all experiments, at the end of the report."""

    tables: tuple[Table, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


NO_CLAIMS = Closing()


def section(experiment: Experiment) -> Section:
    """Write up one experiment."""
    made = [
        tables.score_table(experiment),
        tables.cost_table(experiment),
        tables.unfinished_table(experiment),
        values.table(experiment),
        verdicts.table(experiment),
    ]
    return Section(
        experiment=experiment,
        title=_title(experiment),
        tables=tuple(table for table in made if table is not None),
        findings=tuple(_findings(experiment)),
        beyond=tuple(beyond.sentences(experiment)),
        notes=tuple(notes.notes(experiment)),
    )


def closing(experiments: Sequence[Experiment]) -> Closing:
    """Judge all claims; tables of them only where the report shows more than one experiment of the paper."""
    shown = sum(bool(verdicts.judge(experiment)) for experiment in experiments)
    if not shown:
        return NO_CLAIMS
    judged = tuple(verdicts.judge_all(experiments))
    tables = (verdicts.general_table(judged), verdicts.summary_table(judged)) if shown > 1 else ()
    return Closing(tables, judged)


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
