"""A report as text: Markdown to read, CSV and JSON in full precision to compute with."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from hgpbench import __version__
from hgpbench.metrics import METRICS
from hgpbench.report import compare, notes, summary
from hgpbench.report.collect import Experiment, Run
from hgpbench.report.document import Document, Section
from hgpbench.report.tables import Cell, Table
from hgpbench.words import printable

Pictures = Mapping[str, Sequence[tuple[str, str]]]  # experiment -> (title, address) of each plot
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
NO_PICTURES: Pictures = MappingProxyType({})


def markdown(document: Document, pictures: Pictures = NO_PICTURES) -> str:
    """The report as Markdown, with the pictures of each experiment under its words."""
    blocks = []
    for section in document.sections:
        blocks += [f"## {_plain(section.title)}", *_markdown_tables(section.tables)]
        if section.findings:
            blocks += ["**Differences**", _bullets(section.findings)]
        for remarks in section.addition.remarks:
            if remarks.sentences:
                blocks += [f"**{remarks.heading}**", _bullets(remarks.sentences)]
        blocks += ["**Notes**", _bullets(section.notes)]
        for title, address in pictures.get(section.experiment.name, ()):
            blocks.append(f"![{title}]({address})")
    for closing in document.closings:
        if closing.tables:
            blocks += [f"## {closing.heading}", *_markdown_tables(closing.tables)]
    if document.problems:
        blocks += ["## Could not be read", _bullets(document.problems)]
    return "\n\n".join(blocks) + "\n"


def summary_csv(experiments: Iterable[Experiment]) -> str:
    """One line per experiment and label: mean, standard deviation and count of every quantity."""
    lines = []
    for experiment in experiments:
        for row in summary.rows(experiment):
            line = {**_place(experiment), "label": row.label, "model": row.model, "runs": row.done}
            line["planned"] = row.planned
            for name, stat in row.stats.items():
                line |= {f"{name}_mean": stat.mean, f"{name}_sd": stat.sd, f"{name}_n": stat.n}
            lines.append(line)
    return _csv(lines)


def runs_csv(experiments: Iterable[Experiment]) -> str:
    """One line per planned run, finished or not."""
    return _csv([line for experiment in experiments for line in _run_lines(experiment)])


def comparisons_csv(experiments: Iterable[Experiment]) -> str:
    """One line per tested pair of labels and metric."""
    lines = [
        {**_place(experiment), **asdict(pair)}
        for experiment in experiments
        for metric in compare.COMPARED
        for pair in compare.compare(experiment, metric)
    ]
    return _csv(lines)


def as_json(document: Document) -> str:
    """Everything as one JSON document; a number that is not finite is null."""
    body = {
        "hgpbench": __version__,
        "metrics": {name: {"title": m.title, "direction": m.direction} for name, m in METRICS.items()},
        "experiments": [_json_section(section) for section in document.sections],
        **{closing.name: closing.data for closing in document.closings},
        "problems": document.problems,
    }
    return json.dumps(_finite(body), indent=1, allow_nan=False) + "\n"


def _markdown_tables(tables: Iterable[Table]) -> list[str]:
    return [block for table in tables for block in (f"**{table.caption}**", _markdown_table(table))]


def _markdown_table(table: Table) -> str:
    rows = [[_markdown_cell(cell) for cell in row] for row in table.rows]
    if table.is_prose:  # padded to its longest sentence, a line would be too long to read
        lines = [table.headings, ["---"] * len(table.headings), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths = [
        max(3, *(len(row[i]) for row in [list(table.headings), *rows])) for i in range(len(table.headings))
    ]
    numeric = table.is_number

    def line(cells: Sequence[str]) -> str:
        padded = (c.rjust(w) if n else c.ljust(w) for c, w, n in zip(cells, widths, numeric, strict=True))
        return f"| {' | '.join(padded)} |"

    rule = "|".join(f"{'-' * (w + 1)}:" if n else "-" * (w + 2) for w, n in zip(widths, numeric, strict=True))
    return "\n".join([line(table.headings), f"|{rule}|", *(line(row) for row in rows)])


def _markdown_cell(cell: Cell) -> str:
    text = _plain(cell.text).replace("|", "\\|")
    return f"**{text}**" if cell.is_best else text


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_plain(line)}" for line in lines)


def _plain(text: str) -> str:
    """One line of Markdown; tags in it would be passed on to the page that it becomes."""
    return _TAG.sub(r"\<", printable(text))


def _place(experiment: Experiment) -> dict[str, Any]:
    return {"experiment": experiment.name, "dataset": notes.dataset_name(experiment)}


def _run_lines(experiment: Experiment) -> list[dict[str, Any]]:
    return [_run_line(experiment, run) for label in experiment.labels for run in experiment.of(label)]


def _run_line(experiment: Experiment, run: Run) -> dict[str, Any]:
    values = summary.values(run)
    return {
        **_place(experiment),
        "label": run.entry.label,
        "model": run.entry.model,
        "seed": run.entry.seed,
        "status": run.state,
        "reason": run.reason,
        "folder": printable(run.entry.folder),
        **{name: values.get(name) for name in summary.QUANTITIES},
    }


def _csv(lines: list[dict[str, Any]]) -> str:
    """Lines as CSV; an absent or undefined number is an empty cell."""
    if not lines:
        return ""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: None if value != value else value for key, value in line.items()} for line in lines
    )
    return out.getvalue()


def _json_section(section: Section) -> dict[str, Any]:
    experiment = section.experiment
    return {
        "name": experiment.name,
        "title": experiment.manifest.title,
        "dataset": experiment.manifest.dataset,
        "split": experiment.manifest.split,
        "models": [asdict(row) for row in summary.rows(experiment)],
        "runs": _run_lines(experiment),
        "comparisons": [asdict(pair) for m in compare.COMPARED for pair in compare.compare(experiment, m)],
        **section.addition.data,
        "findings": section.findings,
        **{remarks.name: remarks.sentences for remarks in section.addition.remarks},
        "notes": section.notes,
    }


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
