"""Reports and listings for a terminal: tables that fit its width, with colours; text of others stays text."""

import sys
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from hgpbench.commands.listings import Listing
from hgpbench.report import tables
from hgpbench.report.document import Document, Section
from hgpbench.report.flags import BADLY_CALIBRATED, NO_BETTER
from hgpbench.report.tables import Cell, Table
from hgpbench.words import printable

_SIGNS = f"{NO_BETTER.sign}{BADLY_CALIBRATED.sign}"
_GAP = 2  # columns between two columns
_HEADING = 12  # letters of a heading on one line
_WIDE = "--wide shows them"
_VALUES = "Values are mean ± standard deviation over seeds."
_BARS = (
    f" Bars under {tables.BARS}: shares covered by intervals of 10 to 95 %; ▄ as it should be, "
    "lower too narrow, higher too wide."
)
_NOTES = "Notes on data, scores, machines and versions: in report.md, or by --format md.\n"
_STYLES = {"best": "bold", "told": "", "caution": "yellow", "origin": "dim"}


def is_terminal() -> bool:
    """Whether somebody looks at what is printed; a file or another program gets plain text."""
    return sys.stdout.isatty()


class _Terminal(Console):
    """A console that ends like every other command when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(width: int | None = None) -> Console:
    """Standard output, in its own width or a given one."""
    return _Terminal(highlight=False, width=width)


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
            _show_tables(closing.tables, shown)


def show_listing(
    listing: Listing, wide: bool = False, remedy: str = _WIDE, out: Console | None = None
) -> None:
    """Print a listing in the width of the terminal; ``remedy`` says where the rest is."""
    shown = out or console()
    headings = [Text(heading, style="bold") for heading in listing.headings]
    rows = [[Text(printable(cell)) for cell in row] for row in listing.rows]
    if not headings:
        shown.print(_pairs(rows))
        return
    kept = len(headings) if wide else _fitting(headings, rows, shown.width)
    grid = _grid(headings[:kept], listing.right, most=None if wide else _most_of_first(shown.width))
    for row in rows:
        grid.add_row(*row[:kept])
    _print(shown, grid, wide, headings, rows)
    if kept < len(headings):
        _tell_left_out(shown, [heading.plain.lower() for heading in headings[kept:]], remedy)


def show_text(text: str, out: Console | None = None) -> None:
    """Print lines in the width of the terminal, each wrapped under its own beginning."""
    shown = out or console()
    for line in printable(text, lines=True).splitlines():
        words = Text(line.strip())
        name, colon, _ = line.partition(":")
        if colon and not line.startswith(" ") and " " not in name:
            words.stylize("bold", 0, len(name))
        shown.print(Padding(words, (0, 0, 0, len(line) - len(line.lstrip()))))


def _show_first(section: Section, shown: Console, wide: bool) -> None:
    shown.print(Text(printable(section.title), style="bold underline"))
    shown.print(_bullets(((each.words, _STYLES[each.kind]) for each in section.headlines), ""))
    _show_ranking(tables.ranking(section.experiment), shown, wide)


def _show_rest(section: Section, shown: Console) -> None:
    _show_tables((table for table in section.tables if not table.of_models), shown)
    remarks = [(each.heading, each.sentences, "") for each in section.addition.remarks]
    told = [("Cautions", section.cautions, "yellow"), ("Differences", section.findings, ""), *remarks]
    for heading, sentences, style in told:
        if sentences:
            shown.print(Text(printable(heading), style="bold"))
            shown.print(_bullets(((sentence, style) for sentence in sentences), "• "))
    shown.print(Text(_NOTES, style="dim"))


def _show_ranking(table: Table, shown: Console, wide: bool) -> None:
    """As many columns as fit, the less asked for left out first."""
    headings = [Text(_folded(heading), style="bold") for heading in table.headings]
    rows = [[_text(cell) for cell in row] for row in table.rows]
    kept = len(headings) if wide else _fitting(headings, rows, shown.width)
    numbers = {place for place, number in enumerate(table.is_number) if number}
    grid = _grid(headings[:kept], numbers, most=None if wide else _most_of_first(shown.width))
    for row in rows:
        grid.add_row(*row[:kept])
    shown.print()
    _print(shown, grid, wide, headings, rows)
    bars = tables.BARS in table.headings[:kept]
    shown.print(Text(f"{table.caption}. {_VALUES}{_BARS if bars else ''}", style="dim"))
    if kept < len(headings):
        _tell_left_out(shown, table.headings[kept:], _WIDE)
    shown.print()


def _tell_left_out(shown: Console, names: Sequence[str], remedy: str) -> None:
    shown.print(Text(f"Left out for want of room, {remedy}: {', '.join(names)}.", style="dim"))


def _show_tables(shown_tables: Iterable[Table], shown: Console) -> None:
    """Tables of words, which wrap."""
    for table in shown_tables:
        grid = _grid([Text(heading, style="bold") for heading in table.headings], set(), wraps=True)
        for row in table.rows:
            grid.add_row(*(_text(cell) for cell in row))
        shown.print(Text(printable(table.caption), style="bold"))
        shown.print(grid)
        shown.print()


def _print(
    shown: Console, grid: Grid, wide: bool, headings: Sequence[Text], rows: Sequence[Sequence[Text]]
) -> None:
    """Print a grid; a wide one as wide as it is, for a terminal that scrolls or a reader who asked for it."""
    if not wide:
        shown.print(grid)
        return
    needed = sum(_widths([headings, *rows])) + _GAP * len(headings)
    usual = shown.width
    shown.width = max(usual, needed)
    try:
        shown.print(grid, crop=False)
    finally:
        shown.width = usual


def _fitting(headings: Sequence[Text], rows: Sequence[Sequence[Text]], width: int) -> int:
    """How many of the columns fit: two at least, the first of which may wrap."""
    widths = _widths([headings, *rows])
    widths[0] = min(widths[0], _most_of_first(width))
    taken, kept = 0, 0
    for each in widths:
        taken += each + _GAP * (kept > 0)
        if taken > width and kept >= 2:
            break
        kept += 1
    return kept


def _most_of_first(width: int) -> int:
    """How much room the first column may take before it wraps; labels of a sweep can be long."""
    return max(_HEADING, width // 4)


def _widths(rows: Iterable[Sequence[Text]]) -> list[int]:
    return [max(_width(cell) for cell in column) for column in zip(*rows, strict=True)]


def _width(cell: Text) -> int:
    return max((cell_len(line) for line in cell.plain.splitlines()), default=0)


def _grid(
    headings: Sequence[Text], right: Iterable[int], wraps: bool = False, most: int | None = None
) -> Grid:
    grid = Grid(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, collapse_padding=True)
    numbers = set(right)
    for place, heading in enumerate(headings):
        number = place in numbers
        grid.add_column(
            heading,
            justify="right" if number else "left",
            no_wrap=not wraps and place > 0,
            max_width=most if place == 0 else None,
            overflow="fold",
            vertical="top",
        )
    return grid


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
    if len(heading) <= _HEADING or not places:
        return heading
    middle = min(places, key=lambda place: abs(place - len(heading) / 2))
    return f"{heading[:middle]}\n{heading[middle + 1 :]}"


def _pairs(rows: Iterable[Sequence[Text]]) -> RenderableType:
    """Names and what is said of them, which wraps."""
    grid = Grid.grid(padding=(0, _GAP, 0, 0))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _bullets(lines: Iterable[tuple[str, str]], sign: str) -> RenderableType:
    grid = Grid.grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for words, style in lines:
        grid.add_row(Text(sign, style=style), Text(printable(words), style=style))
    return grid
