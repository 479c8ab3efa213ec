"""A report as a reader meets it: sections with tables, findings and notes; every format renders this."""

from collections.abc import Iterable
from dataclasses import dataclass

from hgpbench.report import across, cautions, compare, notes, tables
from hgpbench.report.collect import Collection, Experiment
from hgpbench.report.headlines import Headline, headlines
from hgpbench.report.supplement import NOTHING_ADDED, Addition, Closing, Supplier, nothing
from hgpbench.report.tables import Table


@dataclass(frozen=True)
class Section:
    """The words and tables of one experiment, and what was added to them."""

    experiment: Experiment
    title: str
    headlines: tuple[Headline, ...]
    tables: tuple[Table, ...]
    cautions: tuple[str, ...]
    findings: tuple[str, ...]
    notes: tuple[str, ...]
    addition: Addition


@dataclass(frozen=True)
class Document:
    """The sections in order, what ends the report, and a line for each experiment that could not be read."""

    sections: tuple[Section, ...]
    closings: tuple[Closing, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def experiments(self) -> list[Experiment]:
        return [section.experiment for section in self.sections]


def write_up(collection: Collection, supplier: Supplier = nothing) -> Document:
    """Everything that a report says, pictures apart."""
    experiments = collection.experiments
    supplement = supplier(experiments)
    sections = tuple(section(*each) for each in zip(experiments, supplement.additions, strict=True))
    closings = (*across.closings(experiments), *supplement.closings)
    return Document(sections, closings, collection.problems)


def section(experiment: Experiment, addition: Addition = NOTHING_ADDED) -> Section:
    """Write up one experiment."""
    own = (
        tables.score_table(experiment),
        tables.interval_table(experiment),
        tables.coverage_table(experiment),
        tables.cost_table(experiment),
        tables.unfinished_table(experiment),
    )
    return Section(
        experiment=experiment,
        title=_title(experiment),
        headlines=_headlines(experiment, addition),
        tables=(*(table for table in own if table is not None), *addition.tables),
        cautions=tuple(cautions.cautions(experiment)),
        findings=tuple(_findings(experiment)),
        notes=tuple(notes.notes(experiment, addition.notes)),
        addition=addition,
    )


def _headlines(experiment: Experiment, addition: Addition) -> tuple[Headline, ...]:
    """The sentences on top; an answer that was added says more of the best than ours, and replaces it."""
    own = headlines(experiment)
    if not addition.lead:
        return tuple(own)
    led = [Headline("told" if place else "best", words) for place, words in enumerate(addition.lead)]
    return (*led, *(headline for headline in own if headline.kind != "best"))


def _title(experiment: Experiment) -> str:
    title, name = experiment.manifest.title, experiment.name
    return f"{name}: {title}" if title and title != name else name


def _findings(experiment: Experiment) -> list[str]:
    """Outcome of the tests; nothing to say where fewer than two models have a score."""
    if sum(bool(experiment.done(label)) for label in experiment.labels) < 2:
        return []
    said = _merged(sentence for metric in compare.SAID for sentence in compare.sentences(experiment, metric))
    method = compare.method(experiment)
    return [*said, method] if method else said


def _merged(sentences: Iterable[str]) -> list[str]:
    """What is said of several scores in the same words is said once, with their names before the colon."""
    names: dict[str, list[str]] = {}
    for sentence in sentences:
        name, _, rest = sentence.rpartition(": ") if sentence.count(": ") == 1 else ("", "", sentence)
        names.setdefault(rest, []).append(name)
    return [": ".join(filter(None, (", ".join(each), rest))) for rest, each in names.items()]
