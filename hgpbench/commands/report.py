"""``hgpbench report``: tables, tests and plots of stored runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hgpbench.commands.endings import complain, say
from hgpbench.commands.options import Wide


def report(
    path: Annotated[
        Path,
        typer.Argument(metavar="RESULTS", help="A results folder, one experiment in it, or lines of export."),
    ] = Path("results"),
    plot: Annotated[bool, typer.Option("--plot", help="Draw the plots, as PNG and SVG.")] = False,
    html: Annotated[
        bool, typer.Option("--html", help="Write one page with the tables and the plots.")
    ] = False,
    format_: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="md|csv|latex|json", help="Format of the tables; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to write; default RESULTS/report, of lines ./report."),
    ] = None,
    wide: Wide = False,
    mixed: Annotated[
        bool, typer.Option("--mixed", help="Put lines of different code or data in one table, and mark them.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Of lines of the paper's experiments: all that they say as one page of Markdown.",
        ),
    ] = None,
) -> None:
    """Tables, tests and plots from stored predictions.

    A terminal gets one table in its width, the best first; files and other programs get Markdown.
    """
    if page is not None:
        write_page(path, page, mixed)
        return
    write_report(path, out, format_ or (), plot, html, wide=wide, mixed=mixed)


def write_page(lines: Path, page: Path, mixed: bool) -> None:
    """Make the page of a folder of lines, with its pictures beside it."""
    from hgpbench import files
    from hgpbench.commands import book

    document = book.read(lines, mixed)
    for written in book.draw(document, page):
        say(f"wrote {written}", err=True)
    files.write_text(page, book.text(document, page, lines))
    say(f"wrote {page}", err=True)


def write_report(
    path: Path,
    out: Path | None = None,
    formats: Sequence[str] = (),
    plot: bool = False,
    html: bool = False,
    names: Sequence[str] = (),
    wide: bool = False,
    brief: bool = False,
    mixed: bool = False,
) -> None:
    """Build a report, print its first format, and tell what was written and what could not be read.

    Without a format, that is Markdown; on a terminal, what suits its width. A brief one is the answer and
    the scores.
    """
    from hgpbench import report as reports
    from hgpbench.commands import ledgers, screen, terminal
    from hgpbench.commands.display import counting
    from hgpbench.commands.leads import supplement
    from hgpbench.report import collect, ledger

    of_lines = ledger.is_ledger(path)
    folder = out or (Path() if of_lines else path) / reports.FOLDER
    with counting("scoring runs") as progress:
        built = reports.build(
            path,
            folder,
            formats=formats or ("md",),
            plot=plot,
            html=html,
            names=names,
            progress=progress,
            supplier=supplement(path),
            wide=wide,
            reader=ledgers.reader(mixed) if of_lines else collect.collect,
        )
    if screen.is_terminal() and not formats:
        terminal.show_report(built.document, wide, brief)
    else:
        say(reports.brief(built.document) if brief else built.text)
    for problem in built.problems:
        complain(problem)
    for line in ledgers.old(built.document.experiments) if of_lines else ():
        complain(line)
    for written in built.files:
        say(f"wrote {written}", err=True)
