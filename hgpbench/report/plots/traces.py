"""How the bound rose: beside its own kind alone, against seconds; where there is room, against iterations."""

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from hgpbench.report.collect import Experiment
from hgpbench.report.labels import base_of
from hgpbench.report.plots import style
from hgpbench.report.styles import LineStyle, Style, Styles

Array = NDArray[np.float64]
_SETTLED = 0.15  # share of the iterations that may lie below the plot: the first say little and reach far
_WIDE_RATIO = 30.0
_LEAST = 1.0  # nats that a panel spans: a rise of less says nothing
_WINDOW = 0.1  # share of a stochastic trace over which it is averaged
_ALONG = ((1, "time of fit [s]"), (0, "iteration"))  # columns of a trace
_CURVE_POINTS, _DOTS = 400, 2000
_ENDED: LineStyle = (0, (4, 3))
_KINDS = dict.fromkeys(("vsgp", "svgp"), "the bound of VSGP") | dict.fromkeys(
    ("vhgp", "vshgp", "svshgp"), "the bound of VSHGP"
)
"""Models that maximise one and the same, in batches or at once; every other label has its own."""


@dataclass(frozen=True, eq=False)
class Trace:
    """The bound of one run: iteration, seconds, bound; and the estimates from mini-batches behind it."""

    curve: Array
    last: Array
    estimates: Array | None = None

    @classmethod
    def of(cls, rows: Array, by_batches: bool) -> "Trace":
        """A curve as it is, or the running mean of estimates; the last bound is of many batches by itself."""
        if not by_batches:
            return cls(rows, rows[-1])
        mean = np.column_stack([rows[:-1, :2], smoothed(rows[:-1, 2])])
        return cls(thinned(mean, _CURVE_POINTS), rows[-1], thinned(rows[:-1], _DOTS))


def traces(experiment: Experiment, styles: Styles) -> Figure | None:
    """The bound of each label's lowest finished seed, a panel for each kind of bound.

    What one model maximises says nothing about another: bounds of experts, of a subset or with a trace term
    are different numbers, and those of different seeds are of different data. Where mini-batches were used,
    the estimates stand behind their running mean, and final bounds of the same kind go on as dashed lines.
    """
    by_label = {
        label: trace for label in experiment.labels if (trace := _trace(experiment, label)) is not None
    }
    if not by_label:
        return None
    kinds = _kinds(experiment, list(by_label))
    drawn, panels = _panels(len(kinds))
    for row, (kind, labels) in zip(panels, kinds.items(), strict=True):
        shown = {label: by_label[label] for label in labels}
        for axes, (column, words) in zip(row, _ALONG, strict=False):
            _draw_panel(axes, shown, column, styles)
            axes.set_xlabel(words)
        row[0].set_title(style.wrapped(kind, 30), fontsize=9)
    for row in panels[: -_across(len(kinds))]:  # the lowest of each column say what they are along
        row[0].set_xlabel("")
    drawn.supylabel("log evidence, or a bound of it;\nhigher is better", fontsize=9)
    if len(kinds) < len(by_label):  # else each panel has the name of its one curve over it
        style.legend_by_family(
            drawn, {label: style.legend_curve(label, styles[label]) for label in by_label}, styles
        )
    others = _entries([[by_label[label] for label in labels] for labels in kinds.values()])
    if others:
        style.legend_above(drawn, others)
    return drawn


def _kinds(experiment: Experiment, labels: list[str]) -> dict[str, list[str]]:
    """Labels by what they maximise, in words."""
    kinds: dict[str, list[str]] = {}
    for label in labels:
        run = experiment.of(label)[0]
        name = run.entry.model if run.entry.model in _KINDS else base_of(label)
        in_own_units = run.record is not None and run.record.params.get("standardize") is False
        kinds.setdefault(label if in_own_units else _KINDS.get(name, label), []).append(label)
    return {kind if len(members) > 1 else members[0]: members for kind, members in kinds.items()}


def _panels(count: int) -> tuple[Figure, list[list[Axes]]]:
    """For each kind its axes: against time, and where there is but one kind, against iterations."""
    if count == 1:
        drawn = style.figure(3.6)
        return drawn, [list(drawn.subplots(1, 2, sharey=True))]
    columns = _across(count)
    rows = math.ceil(count / columns)
    drawn = style.figure(min(0.4 + 2.3 * rows, style.TALLEST), width=min(style.WIDEST, 0.6 + 3.1 * columns))
    grid = drawn.subplots(rows, columns, squeeze=False).ravel()
    for axes in grid[count:]:
        axes.set_visible(False)
    return drawn, [[axes] for axes in grid[:count]]


def _across(count: int) -> int:
    return style.panels_across(count, 3 if count <= 6 else 4)


def _draw_panel(axes: Axes, shown: dict[str, Trace], column: int, styles: Styles) -> None:
    compared = any(trace.estimates is not None for trace in shown.values())
    span = _span(list(shown.values()))
    ends = [float(trace.last[column]) for trace in shown.values()]
    for label, trace in shown.items():
        _draw(axes, trace, column, styles[label], max(ends) if compared else None)
    if min(ends) > 0 and max(ends) > _WIDE_RATIO * min(ends):  # else the short ones would be a wall
        first = min(_entrance(trace, column, span[0]) for trace in shown.values())
        style.logarithmic(axes.xaxis, [first, max(ends)])
        axes.set_xlim(0.8 * first, 1.25 * max(ends))
    else:
        style.plain_ticks(axes.xaxis, 5)
    axes.set_ylim(*span)


def smoothed(values: Array) -> Array:
    """Running means over a tenth of the values.

    Over fewer at the beginning, so that a steep rise is shown neither too early nor too late.
    """
    places = np.arange(len(values))
    reach = np.minimum(max(1, round(_WINDOW * len(values) / 2)), places // 4)
    ends = np.minimum(places + reach + 1, len(values))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means: Array = (sums[ends] - sums[places - reach]) / (ends - places + reach)
    return means


def thinned(rows: Array, most: int) -> Array:
    """At most so many rows, the first and the last among them; half evenly, half by ratio for long axes."""
    if len(rows) <= most:
        return rows
    last = len(rows) - 1
    places = [np.linspace(0, last, most - most // 2), np.geomspace(1, last, most // 2)]
    return rows[np.unique(np.concatenate(places).round().astype(int))]


def _trace(experiment: Experiment, label: str) -> Trace | None:
    """The trace of the lowest finished seed, rows that are not finite left out; None where it is no curve."""
    run = next((run for run in experiment.of(label) if run.digest is not None), None)
    if run is None or run.digest is None or run.record is None:
        return None
    by_batches = "batch_size" in run.record.params
    # The digest has a few rows of it: enough for a curve, too few to average.
    arrays = run.arrays() if by_batches else None
    rows = None if arrays is None else arrays.trace
    rows = np.asarray(run.digest.trace, dtype=float).reshape(-1, 3) if rows is None else rows
    rows = rows[np.all(np.isfinite(rows), axis=1)]
    return Trace.of(rows, by_batches) if len(rows) > 1 else None


def _draw(axes: Axes, trace: Trace, column: int, how: Style, until: float | None) -> None:
    x, y = trace.curve[:, column], trace.curve[:, 2]
    last = trace.last[[column, 2]]
    if trace.estimates is not None:
        places, estimates = trace.estimates[:, [column, 2]].T
        axes.scatter(
            places, estimates, s=2, color=how.colour, alpha=0.3, linewidths=0, zorder=1, rasterized=True
        )
    elif until is not None:
        axes.plot([last[0], until], [last[1], last[1]], color=how.colour, linestyle=_ENDED, linewidth=1.0)
    axes.plot(x, y, color=how.colour, linestyle=how.line, linewidth=1.4, zorder=3)
    axes.plot(*last[:, None], color=how.colour, marker=how.marker, markersize=5, linestyle="none", zorder=4)


def _entrance(trace: Trace, column: int, low: float) -> float:
    """Where a curve comes into sight."""
    shown = trace.curve[(trace.curve[:, 2] >= low) & (trace.curve[:, column] > 0), column]
    return float(shown[0]) if shown.size else float(trace.last[column])


def _span(traces: list[Trace]) -> tuple[float, float]:
    rows = [np.vstack([trace.curve, trace.last]) for trace in traces]
    low = min(float(np.min(each[each[:, 0] >= _SETTLED * each[-1, 0], 2])) for each in rows)
    high = max(float(np.max(each[:, 2])) for each in rows)
    margin = max(0.06 * (high - low), (_LEAST - (high - low)) / 2)
    return low - margin, high + margin


def _entries(panels: list[list[Trace]]) -> list[Line2D]:
    """What dots and dashes mean, where there are some: a bound goes on only beside one by mini-batches."""
    by_batches = [[trace.estimates is not None for trace in panel] for panel in panels]
    entries = []
    if any(map(any, by_batches)):
        entries.append(style.legend_dots("estimates from mini-batches; lines are running means"))
    if any(any(panel) and not all(panel) for panel in by_batches):
        entries.append(Line2D([], [], color=style.GREY, linestyle=_ENDED, label="final bound, continued"))
    return entries
