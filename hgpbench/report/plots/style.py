"""The settings of every plot, its legend and its axes; how a label looks is said in ``report.styles``."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike, NDArray

from hgpbench.report.styles import FAMILIES, Family, Style, Styles

Array = NDArray[Any]

GREY = "#6b6b6b"
# Of neighbouring groups of points: a dark colour next to a light one, and five or six against four markers.
GROUP_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
GROUP_MARKERS = ("o", "s", "^", "D")

ABOVE = "above"  # what a legend over the axes is called: a heading becomes its title

WIDTH = 9.0  # inches
WIDEST, TALLEST = 11.5, 6.6  # of many small panels: what a screen shows at once, legend apart
_LETTERS_PER_INCH = 13.0  # of legend text at this size
_HANDLE_LETTERS = 9  # that the line beside a text takes, with the gap to the next column
_MOST_COLUMNS = 9
_LEGEND_ROW = 0.21  # inches
_VECTOR_POINTS = 800  # more than this are drawn as pixels, also in SVG
WIDE_RATIO = 10.0  # of positive values: beyond this a linear axis hides the smaller ones
_WIDE_RANGE = 50.0  # of values of both signs


def context() -> AbstractContextManager[None]:
    """The settings under which plots are drawn and saved; outside of it nothing is changed."""
    return mpl.rc_context(
        {
            "font.size": 9.0,
            "axes.titlesize": 10.0,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.formatter.useoffset": False,
            "grid.color": "#dddddd",
            "grid.linewidth": 0.6,
            "legend.frameon": False,
            "legend.handlelength": 3.2,  # long enough to tell the dashes apart
            "text.parse_math": False,  # a dollar in a name is a dollar
            "svg.hashsalt": "hgpbench",  # the same plot is the same file
        }
    )


def figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure that keeps its labels apart."""
    return Figure(figsize=(width, height), layout="constrained")


def panels_across(count: int, most: int) -> int:
    """Columns for so many panels: rows as full as can be, the last one included."""
    rows = math.ceil(count / most)
    return math.ceil(count / rows)


def legend_below(drawn: Figure, handles: Sequence[Artist], note: str = "") -> None:
    """A legend under the axes, in as many columns as there is room for, and a note above it."""
    if not handles and not note:
        return
    letters = [len(str(handle.get_label())) + _HANDLE_LETTERS for handle in handles]
    columns = next(
        (k for k in range(len(letters), 1, -1) if sum(map(max, np.array_split(letters, k))) <= _room(drawn)),
        1,
    )
    _below(drawn, handles, columns, note)


def legend_by_family(drawn: Figure, entries: Mapping[str, Artist], styles: Styles, note: str = "") -> None:
    """A legend of labels under the axes: a row for each family, which says what its colour means.

    Where all labels are of one family, its colour tells nothing and its name is left out.
    """
    by_family: dict[Family, list[Artist]] = {}
    for label, entry in entries.items():
        by_family.setdefault(styles[label].family, []).append(entry)
    if len(by_family) < 2:
        legend_below(drawn, list(entries.values()), note)
        return
    room = _room(drawn)
    groups = [(kin.words, by_family[name]) for name, kin in FAMILIES.items() if name in by_family]
    rows = _in_rows(groups, room)
    legend = _below(
        drawn, [cell for column in zip(*rows, strict=True) for cell in column], len(rows[0]), note
    )
    for words in legend.get_texts()[: len(rows)]:  # the first column: legends fill column by column
        words.set_color(GREY)


def legend_above(drawn: Figure, handles: Sequence[Artist]) -> None:
    """A legend over the axes, of what is the same for all labels."""
    drawn.set_figheight(drawn.get_figheight() + _LEGEND_ROW)
    drawn.legend(handles=handles, loc="outside upper center", ncols=len(handles)).set_label(ABOVE)


def _in_rows(groups: Sequence[tuple[str, list[Artist]]], room: int) -> list[list[Artist]]:
    """Rows of legend entries, the first of each a family's name; as many columns as there is room for."""
    most = min(_MOST_COLUMNS, max(len(entries) for _, entries in groups))
    for columns in range(most, 0, -1):
        rows = []
        for words, entries in groups:
            for start in range(0, len(entries), columns):
                row = [_words(words if start == 0 else " "), *entries[start : start + columns]]
                rows.append([*row, *(_words(" ") for _ in range(columns + 1 - len(row)))])
        widths = [max(len(str(cell.get_label())) for cell in column) for column in zip(*rows, strict=True)]
        if sum(widths) + _HANDLE_LETTERS * len(widths) <= room:
            break
    return rows


def _below(drawn: Figure, handles: Sequence[Artist], columns: int, note: str) -> Legend:
    """The legend comes on top of the height that was asked for; it must not eat the axes."""
    title = wrapped(note, _room(drawn))
    lines = math.ceil(len(handles) / columns) + (title.count("\n") + 1 if title else 0)
    drawn.set_figheight(drawn.get_figheight() + _LEGEND_ROW * lines)
    return drawn.legend(
        handles=handles, loc="outside lower center", ncols=columns, title=title, title_fontsize=9
    )


def _words(words: str) -> Artist:
    """A legend entry without a handle."""
    return Line2D([], [], linestyle="none", label=words or " ")


def _room(drawn: Figure) -> int:
    """Letters that a legend can have side by side."""
    return int(drawn.get_figwidth() * _LETTERS_PER_INCH)


def legend_line(label: str, style: Style) -> Line2D:
    """Legend entry of a curve."""
    return Line2D([], [], color=style.colour, linestyle=style.line, label=label)


def legend_curve(label: str, style: Style) -> Line2D:
    """Legend entry of a curve with markers."""
    return Line2D(
        [], [], color=style.colour, linestyle=style.line, marker=style.marker, markersize=4.5, label=label
    )


def sized(marker: str, points: float) -> float:
    """The size of a marker that looks as large as the others: a star is hardly more than its middle."""
    return 1.5 * points if marker == "*" else points


def legend_marker(label: str, style: Style) -> Line2D:
    """Legend entry of a marker."""
    return Line2D(
        [],
        [],
        linestyle="none",
        color=style.colour,
        marker=style.marker,
        markeredgecolor="white",
        markersize=sized(style.marker, 8.0),
        label=label,
    )


def legend_dots(words: str) -> Line2D:
    """Legend entry of small points."""
    return Line2D([], [], linestyle="none", marker="o", markersize=3, color=GREY, label=words)


def wrapped(label: str, letters: int) -> str:
    """A long label on several lines; labels of a sweep differ at their ends, so none is cut."""
    return textwrap.fill(label, letters)


def finite(values: Iterable[float]) -> list[float]:
    """The values that can be drawn."""
    return [value for value in values if math.isfinite(value)]


def logarithmic(axis: Axis, values: Sequence[float]) -> None:
    """A logarithmic axis in plain numbers: at 1, 2 and 5, or only at powers of ten where it is long."""
    _scale(axis, "log")
    is_long = bool(values) and max(values) > 100 * min(values)
    axis.set_major_locator(LogLocator(subs=(1.0,) if is_long else (1.0, 2.0, 5.0)))
    _in_plain_numbers(axis)


def plain_ticks(axis: Axis, most: int) -> None:
    """At most so many ticks and one, at round numbers that readers count in."""
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))


def widen(axis: Axis, values: ArrayLike) -> None:
    """Make an axis logarithmic, both ways if need be, where its values span orders of magnitude."""
    shown = np.asarray(values, dtype=float)
    shown = shown[np.isfinite(shown)]
    if shown.size == 0:
        return
    low, high = float(np.min(shown)), float(np.max(shown))
    if low > 0 and high / low > WIDE_RATIO:
        logarithmic(axis, [low, high])
    elif low <= 0 and high - low > _WIDE_RANGE:
        _scale(axis, "symlog", linthresh=1.0)
        _in_plain_numbers(axis)


def _in_plain_numbers(axis: Axis) -> None:
    """Powers of ten would be markup, and that is left as it is written."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))
    axis.set_minor_formatter(NullFormatter())


def _scale(axis: Axis, name: str, **settings: float) -> None:
    set_scale = axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale
    set_scale(name, **settings)


def points(axes: Axes, x: Array, y: Array, groups: Array | None = None, taken: str = "") -> None:
    """Small points behind curves; of groups, neighbours differ in colour (none ``taken``) and marker."""
    pixels = len(x) > _VECTOR_POINTS
    shared: dict[str, Any] = {"linewidths": 0, "zorder": 1, "rasterized": pixels}
    if groups is None:
        axes.scatter(x, y, s=5, color=GREY, alpha=0.5, **shared)
        return
    colours = [colour for colour in GROUP_COLOURS if colour != taken]
    for group in np.unique(groups).tolist():
        mine = groups == group
        axes.scatter(
            x[mine],
            y[mine],
            s=9,
            marker=GROUP_MARKERS[group % len(GROUP_MARKERS)],
            color=colours[group % len(colours)],
            alpha=0.75,
            **shared,
        )


def reference(axes: Axes, value: float, vertical: bool = False) -> None:
    """A thin line at the score of the trivial predictor."""
    draw = axes.axvline if vertical else axes.axhline
    draw(value, color=GREY, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1)
