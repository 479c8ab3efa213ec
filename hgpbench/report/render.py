"""A report as text: Markdown to read, CSV and JSON in full precision to compute with."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

from hgpbench import __version__
from hgpbench.metrics import METRICS
from hgpbench.report import compare, details, flags, notes, summary
from hgpbench.report.collect import Experiment, Run
from hgpbench.report.document import Document, Section
from hgpbench.report.supplement import Closing
from hgpbench.report.tables import Cell, Table
from hgpbench.words import printable

Pictures = Mapping[str, Sequence[tuple[str, str]]]  # experiment -> (title, address) of each plot
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
NO_PICTURES: Pictures = MappingProxyType({})
SCREEN = 100  # columns of a terminal that a table of numbers may take


def markdown(document: Document, pictures: Pictures = NO_PICTURES, wide: bool = False) -> str:
    """The report as Markdown, with the pictures of each experiment under its words; wide tables in parts."""
    blocks = [block for section in document.sections for block in section_blocks(section, pictures, wide)]
    blocks += closing_blocks(document.closings, pictures, wide)
    if document.problems:
        blocks += ["## Could not be read", bullets(document.problems)]
    return "\n\n".join(blocks) + "\n"


def section_blocks(section: Section, pictures: Pictures = NO_PICTURES, wide: bool = False) -> list[str]:
    """One experiment: its heading, tables and words, and its pictures under them."""
    blocks = [f"## {_plain(section.title)}"]
    if section.addition.lead:
        blocks.append(bullets(section.addition.lead))
    blocks += table_blocks(section.tables, wide)
    if section.cautions:
        blocks += ["**Cautions**", bullets(section.cautions)]
    if section.findings:
        blocks += ["**Differences**", bullets(section.findings)]
    for remarks in section.addition.remarks:
        if remarks.sentences:
            blocks += [f"**{remarks.heading}**", bullets(remarks.sentences)]
    blocks += ["**Notes**", bullets(section.notes)]
    for title, address in pictures.get(section.experiment.name, ()):
        blocks.append(f"![{title}]({address})")
    return blocks


def closing_blocks(
    closings: Iterable[Closing], pictures: Pictures = NO_PICTURES, wide: bool = False
) -> list[str]:
    """What ends a report: words, tables and pictures over all experiments."""
    blocks = []
    for closing in closings:
        if closing.tables:
            blocks.append(f"## {_plain(closing.heading)}")
            if closing.words:
                blocks.append(bullets(closing.words))
            blocks += table_blocks(closing.tables, wide)
            blocks += [f"![{title}]({address})" for title, address in pictures.get(closing.name, ())]
    return blocks


def brief(document: Document) -> str:
    """What comes first, and the scores, as Markdown."""
    blocks = []
    for section in document.sections:
        blocks += [f"## {_plain(section.title)}", bullets(section.addition.lead)]
        blocks += table_blocks(section.tables[:1], wide=False)
    return "\n\n".join(blocks) + "\n"


def summary_csv(experiments: Iterable[Experiment]) -> str:
    """One line per experiment and label: mean, standard deviation and count of every quantity."""
    lines = []
    for experiment in experiments:
        for row in summary.rows(experiment):
            line = {**_place(experiment), "label": row.label, "model": row.model, "runs": row.done}
            line |= {"planned": row.planned, "flags": "; ".join(_flags(experiment, row.label))}
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
    return json.dumps(body(document), indent=1, allow_nan=False) + "\n"


def body(document: Document) -> dict[str, Any]:
    """Everything as plain data, as the JSON format writes it and the page embeds it."""
    told = {
        "hgpbench": __version__,
        "metrics": {name: {"title": m.title, "direction": m.direction} for name, m in METRICS.items()},
        "experiments": [_json_section(section) for section in document.sections],
        **{closing.name: closing.data for closing in document.closings},
        "problems": document.problems,
    }
    finite: dict[str, Any] = _finite(told)
    return finite


def table_blocks(tables: Iterable[Table], wide: bool = False) -> list[str]:
    """Tables as Markdown, each under its caption."""
    parts = (part for table in tables for part in ([table] if wide else fitted(table)))
    return [block for part in parts for block in (f"**{part.caption}**", _markdown_table(part))]


def fitted(table: Table) -> list[Table]:
    """A table of numbers as one or several that a screen can hold, the first column in each of them."""
    if table.is_prose or not table.rows or not all(table.is_number[1:]):
        return [table]
    first, *widths = (width + len("|  ") for width in _widths(table))
    room = SCREEN - first - len("|")
    least = len(_groups(widths, room))
    # The narrowest that needs no more parts shares the columns evenly: no last one is left alone.
    narrowest = next((r for r in range(max(widths), room) if len(_groups(widths, r)) == least), room)
    groups = _groups(widths, narrowest)
    captions = [table.caption, *[f"{table.caption}, continued"] * (len(groups) - 1)]
    return [_part(table, caption, [0, *group]) for caption, group in zip(captions, groups, strict=True)]


def _groups(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns, numbered from 1, that go beside each other."""
    groups: list[list[int]] = []
    left = -1
    for column, width in enumerate(widths, start=1):
        if width > left:
            groups.append([])
            left = room
        groups[-1].append(column)
        left -= width
    return groups


def _part(table: Table, caption: str, columns: list[int]) -> Table:
    rows = tuple(tuple(row[i] for i in columns) for row in table.rows)
    return replace(table, caption=caption, headings=tuple(table.headings[i] for i in columns), rows=rows)


def _widths(table: Table) -> list[int]:
    """Characters of each column."""
    rows = [list(table.headings), *([_markdown_cell(cell) for cell in row] for row in table.rows)]
    return [max(3, *(len(row[i]) for row in rows)) for i in range(len(table.headings))]


def _markdown_table(table: Table) -> str:
    rows = [[_markdown_cell(cell) for cell in row] for row in table.rows]
    if table.is_prose:  # padded to its longest sentence, a line would be too long to read
        lines = [table.headings, ["---"] * len(table.headings), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths, numeric = _widths(table), table.is_number

    def line(cells: Sequence[str]) -> str:
        padded = (c.rjust(w) if n else c.ljust(w) for c, w, n in zip(cells, widths, numeric, strict=True))
        return f"| {' | '.join(padded)} |"

    rule = "|".join(f"{'-' * (w + 1)}:" if n else "-" * (w + 2) for w, n in zip(widths, numeric, strict=True))
    return "\n".join([line(table.headings), f"|{rule}|", *(line(row) for row in rows)])


def _markdown_cell(cell: Cell) -> str:
    text = _plain(cell.text).replace("|", "\\|")
    return f"**{text}**" if cell.is_best else text


def bullets(lines: Iterable[str]) -> str:
    """A list of Markdown."""
    return "\n".join(f"- {_plain(line)}" for line in lines)


def _plain(text: str) -> str:
    """One line of Markdown; tags in it would be passed on to the page that it becomes."""
    return _TAG.sub(r"\<", printable(text))


def _flags(experiment: Experiment, label: str) -> list[str]:
    return [flag.words for flag in flags.flags(experiment, label)]


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
    experiment, rows = section.experiment, summary.rows(section.experiment)
    lines = [(run, _run_line(experiment, run)) for label in experiment.labels for run in experiment.of(label)]
    behind = details.of_model(experiment, rows)
    return {
        "name": experiment.name,
        "title": experiment.manifest.title,
        "dataset": experiment.manifest.dataset,
        "split": experiment.manifest.split,
        "headlines": [asdict(each) for each in section.headlines],
        "models": [
            {**asdict(row), "flags": _flags(experiment, row.label), **more}
            for row, more in zip(rows, behind, strict=True)
        ],
        "noise_truth": details.noise_truth(experiment),
        "runs": [{**line, **details.of_run(run)} for run, line in lines],
        "comparisons": [asdict(pair) for m in compare.COMPARED for pair in compare.compare(experiment, m)],
        **section.addition.data,
        "cautions": section.cautions,
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
