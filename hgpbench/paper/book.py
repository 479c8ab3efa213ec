"""The page of the paper's experiments: a preface by hand, and everything else from lines of runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hgpbench.paper import figures, leaks, ran
from hgpbench.paper.published import load
from hgpbench.report import render
from hgpbench.report.document import Document
from hgpbench.report.plots import TITLES
from hgpbench.report.render import Pictures

CLAIMS = "claims"  # the closing that the page begins with
TITLE = "The paper's experiments, run again"
PREFACE, CRITERIA = "preface.md", "criteria.md"
"""Beside the pictures, written by hand: what was found, and how criteria changed after runs."""


@dataclass(frozen=True)
class Written:
    """What was written by hand."""

    preface: str = ""
    criteria: str = ""


def ordered(names: Iterable[str]) -> list[str]:
    """Experiments in the order of the paper, each with its parts behind it; others at the end."""
    known = [
        each for base, setup in load().experiments.items() for each in (base, *setup.series, *setup.parts)
    ]
    every = sorted(names)
    return [name for name in known if name in every] + [name for name in every if name not in known]


def text(document: Document, written: Written, drawn: Sequence[str], folder: str, command: str) -> str:
    """The page as Markdown; ``drawn`` names the pictures in the folder, of which each is shown once."""
    experiments = document.experiments
    claims = next((each for each in document.closings if each.name == CLAIMS and each.tables), None)
    blocks = [
        f"# {TITLE}",
        f"What follows the preface was made by `{command}` from lines of runs, nothing of it by hand. "
        "[tuning.md](tuning.md) says how settings were found, [protocol.md](protocol.md) how runs are made.",
    ]
    if written.preface:
        blocks += ["## Preface", written.preface.strip()]
    if claims is not None:
        blocks += [f"## {claims.heading}", *render.table_blocks(claims.tables[::-1])]
    blocks += ["## The paper's figures", *render.table_blocks([figures.table(experiments, drawn, folder)])]
    blocks += ["## What was run, and what is missing", *render.table_blocks([ran.table(experiments)])]
    lacking = ran.missing(experiments)
    blocks += [
        render.bullets([*ran.sources(experiments), *(lacking or ["Nothing that was planned is missing."])])
    ]
    blocks += _rankings(document)
    pictures = _pictures(document, drawn, folder)
    blocks += [block for section in document.sections for block in render.section_blocks(section, pictures)]
    blocks += render.closing_blocks(each for each in document.closings if each.name != CLAIMS)
    if written.criteria:
        blocks += ["## How criteria changed", written.criteria.strip()]
    return "\n\n".join(blocks) + "\n"


def _rankings(document: Document) -> list[str]:
    """Second tables: whether what a random split shows is more than that test rows were seen."""
    blocks = []
    for heading, tables, sentences in leaks.tables(document.experiments):
        blocks += [f"### {heading}", *render.table_blocks(tables, wide=True), render.bullets(sentences)]
    return ["## Do the rankings survive where no test row is known?", *blocks] if blocks else []


def _pictures(document: Document, drawn: Sequence[str], folder: str) -> Pictures:
    """Title and address of the pictures of each experiment."""
    return {
        each.name: [
            (f"{figures.heading(each)}: {title}", f"{folder}/{each.name}-{kind}.png")
            for kind, title in TITLES.items()
            if f"{each.name}-{kind}" in drawn
        ]
        for each in document.experiments
    }
