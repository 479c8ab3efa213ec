"""Reports for a terminal: tables that fit its width, with colours; text of others stays text."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from hgpbench.commands.screen import (
    HEADING,
    WIDE,
    bullets,
    console,
    empty,
    fitting,
    most_of_first,
    print_grid,
    tell_left_out,
)
from hgpbench.report import tables
from hgpbench.report.collect import NOT_RUN
from hgpbench.report.document import Document, Section
from hgpbench.report.flags import BADLY_CALIBRATED, NO_BETTER
from hgpbench.report.tables import Cell, Table
from hgpbench.words import printable

_SIGNS = f"{NO_BETTER.sign}{BADLY_CALIBRATED.sign}"
_VALUES = "Values are mean ± standard deviation over seeds."
_BARS = (
    f" Bars under {tables.BARS}: shares covered by intervals of 10 to 95 %; ▄ as it should be, "
    "lower too narrow, higher too wide."
)
_NOTES = "Notes on data, scores, machines and versions: in report.md, or by --format md.\n"
_FEW, _READABLE = 3, 32  # columns of words, and letters that each of them needs
_INDENT = 2
_STYLES = {"best": "bold", "told": "", "caution": "yellow", "origin": "dim"}


def show_report(
    document: Document, wide: bool = False, brief: bool = False, out: Console | None = None
) -> None:
    """Print a report in the words of Markdown; a brief one is the answer and the ranking."""
    shown = out or console()
    for section in document.sections:
        _show_first(section, shown, wide)
        if not brief:
            _show_rest(section, shown)
    for closing in document.closings:
        if closing.tables and not brief:
            shown.print(Text(f"\n{printable(closing.heading)}", style="bold underline"))
            shown.print(bullets(((words, "") for words in closing.words), "• "))
            _show_tables(closing.tables, shown)


def _show_first(section: Section, shown: Console, wide: bool) -> None:
    shown.print(Text(printable(section.title), style="bold underline"))
    shown.print(bullets(((each.words, _STYLES[each.kind]) for each in section.headlines), ""))
    _show_ranking(tables.ranking(section.experiment), shown, wide)


def _show_rest(section: Section, shown: Console) -> None:
    _show_tables((table for table in section.tables if not table.of_models), shown)
    remarks = [(each.heading, each.sentences, "") for each in section.addition.remarks]
    told = [("Cautions", section.cautions, "yellow"), ("Differences", section.findings, ""), *remarks]
    for heading, sentences, style in told:
        if sentences:
            shown.print(Text(printable(heading), style="bold"))
            shown.print(bullets(((sentence, style) for sentence in sentences), "• "))
    shown.print(Text(_NOTES, style="dim"))


def _show_ranking(table: Table, shown: Console, wide: bool) -> None:
    """As many columns as fit, the less asked for left out first."""
    headings = [Text(_folded(heading), style="bold") for heading in table.headings]
    rows = [[_text(cell) for cell in row] for row in table.rows]
    kept = len(headings) if wide else fitting(headings, rows, shown.width)
    numbers = {place for place, number in enumerate(table.is_number) if number}
    grid = empty(headings[:kept], numbers, most=None if wide else most_of_first(shown.width))
    for row in rows:
        grid.add_row(*row[:kept])
    shown.print()
    print_grid(shown, grid, wide, headings, rows)
    bars = tables.BARS in table.headings[:kept]
    shown.print(Text(f"{table.caption}. {_VALUES}{_BARS if bars else ''}", style="dim"))
    if kept < len(headings):
        tell_left_out(shown, table.headings[kept:], WIDE)
    shown.print()


def _show_tables(shown_tables: Iterable[Table], shown: Console) -> None:
    """Tables of words, which wrap; without claims that nothing was run for: there may be many of them."""
    for table in shown_tables:
        rows = [row for row in table.rows if row[0].text != NOT_RUN]
        shown.print(Text(printable(table.caption), style="bold"))
        if len(table.headings) > _FEW and shown.width < _FEW * _READABLE:
            _show_blocks(table.headings, rows, shown)
        elif rows:
            _show_grid(table.headings, rows, shown)
        if len(rows) < len(table.rows):
            rest = len(table.rows) - len(rows)
            shown.print(Text(f"Not shown: {rest} for which nothing was run.", style="dim"))
        shown.print()


def _show_grid(headings: Sequence[str], rows: Iterable[Sequence[Cell]], shown: Console) -> None:
    grid = empty([Text(heading, style="bold") for heading in headings], set(), wraps=True)
    for row in rows:
        grid.add_row(*(_text(cell) for cell in row))
    shown.print(grid)


def _show_blocks(headings: Sequence[str], rows: Iterable[Sequence[Cell]], shown: Console) -> None:
    """Rows one below the other, where columns would be of a word or two."""
    for row in rows:
        first = _text(row[0])
        first.stylize("bold")
        shown.print(first)
        for heading, cell in zip(headings[1:], row[1:], strict=True):
            if cell.text:
                words = Text.assemble((f"{heading}: ", "dim"), _text(cell))
                shown.print(Padding(words, (0, 0, 0, _INDENT)))


def _text(cell: Cell) -> Text:
    text = _flagged(cell.text)
    if cell.is_best:
        text.stylize("bold green")
    return text


def _flagged(words: str) -> Text:
    """A label with the signs of its flags in their colour."""
    text = Text(printable(words))
    text.highlight_regex(f"[{_SIGNS}]", "bold yellow")
    return text


def _folded(heading: str) -> str:
    """A long heading on two lines, as even as its words allow."""
    places = [place for place, letter in enumerate(heading) if letter == " "]
    if len(heading) <= HEADING or not places:
        return heading
    middle = min(places, key=lambda place: abs(place - len(heading) / 2))
    return f"{heading[:middle]}\n{heading[middle + 1 :]}"
