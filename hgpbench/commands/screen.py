"""What any command shows on a terminal: lines and columns in its width; text of others stays text."""

import sys
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from hgpbench.commands.listings import Listing
from hgpbench.words import printable

HEADING = 12  # letters of a heading on one line
WIDE = "--wide shows them"
_GAP = 2  # columns between two columns


def is_terminal() -> bool:
    """Whether somebody looks at what is printed; a file or another program gets plain text."""
    return sys.stdout.isatty()


class Terminal(Console):
    """A console that ends like every other command when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(width: int | None = None) -> Console:
    """Standard output, in its own width or a given one."""
    return Terminal(highlight=False, width=width)


def show_listing(
    listing: Listing, wide: bool = False, remedy: str = WIDE, out: Console | None = None
) -> None:
    """Print a listing in the width of the terminal; ``remedy`` says where the rest is."""
    shown = out or console()
    headings = [Text(heading, style="bold") for heading in listing.headings]
    rows = [[Text(printable(cell)) for cell in row] for row in listing.rows]
    if not headings:
        shown.print(_pairs(rows))
        return
    kept = len(headings) if wide else fitting(headings, rows, shown.width)
    grid = empty(headings[:kept], listing.right, most=None if wide else most_of_first(shown.width))
    for row in rows:
        grid.add_row(*row[:kept])
    print_grid(shown, grid, wide, headings, rows)
    if kept < len(headings):
        tell_left_out(shown, [heading.plain.lower() for heading in headings[kept:]], remedy)


def show_text(text: str, out: Console | None = None) -> None:
    """Print lines in the width of the terminal, each wrapped under its own beginning."""
    shown = out or console()
    for line in printable(text, lines=True).splitlines():
        words = Text(line.strip())
        name, colon, _ = line.partition(":")
        if colon and not line.startswith(" ") and " " not in name:
            words.stylize("bold", 0, len(name))
        shown.print(Padding(words, (0, 0, 0, len(line) - len(line.lstrip()))))


def tell_left_out(shown: Console, names: Sequence[str], remedy: str) -> None:
    """Name the columns that had no room."""
    shown.print(Text(f"Left out for want of room, {remedy}: {', '.join(names)}.", style="dim"))


def print_grid(
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


def fitting(headings: Sequence[Text], rows: Sequence[Sequence[Text]], width: int) -> int:
    """How many of the columns fit: two at least, the first of which may wrap."""
    widths = _widths([headings, *rows])
    widths[0] = min(widths[0], most_of_first(width))
    taken, kept = 0, 0
    for each in widths:
        taken += each + _GAP * (kept > 0)
        if taken > width and kept >= 2:
            break
        kept += 1
    return kept


def most_of_first(width: int) -> int:
    """How much room the first column may take before it wraps; labels of a sweep can be long."""
    return max(HEADING, width // 4)


def _widths(rows: Iterable[Sequence[Text]]) -> list[int]:
    return [max(_width(cell) for cell in column) for column in zip(*rows, strict=True)]


def _width(cell: Text) -> int:
    return max((cell_len(line) for line in cell.plain.splitlines()), default=0)


def empty(
    headings: Sequence[Text], right: Iterable[int], wraps: bool = False, most: int | None = None
) -> Grid:
    """A table of these columns, without rows as yet; of ``right`` the numbers stand below each other."""
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


def _pairs(rows: Iterable[Sequence[Text]]) -> RenderableType:
    """Names and what is said of them, which wraps."""
    grid = Grid.grid(padding=(0, _GAP, 0, 0))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def bullets(lines: Iterable[tuple[str, str]], sign: str) -> RenderableType:
    """Sentences and their styles below each other, each wrapped under its own beginning."""
    grid = Grid.grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for words, style in lines:
        grid.add_row(Text(sign, style=style), Text(printable(words), style=style))
    return grid
