"""How the bound rose: against seconds and against iterations."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from hgpbench.bench import record
from hgpbench.report.collect import Experiment
from hgpbench.report.plots import style
from hgpbench.report.styles import LineStyle, Style, Styles

Array = NDArray[np.float64]
_SETTLED = 0.15  # share of the iterations that may lie below the plot: the first say little and reach far
_WIDE_RATIO = 30.0
_WINDOW = 0.1  # share of a stochastic trace over which it is averaged
_CURVE_POINTS, _DOTS = 400, 2000
_ENDED: LineStyle = (0, (4, 3))


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
    """The bound of each label's lowest finished seed, against seconds and against iterations.

    Bounds of different seeds are of different data. Where mini-batches were used, the estimates stand behind
    their running mean, and every other label's final bound goes on as a dashed line to compare with.
    """
    by_label = {
        label: trace for label in experiment.labels if (trace := _trace(experiment, label)) is not None
    }
    if not by_label:
        return None
    compared = any(trace.estimates is not None for trace in by_label.values())
    span = _span(list(by_label.values()))
    drawn = style.figure(3.8)
    panels = drawn.subplots(1, 2, sharey=True)
    for axes, column, words in zip(panels, (1, 0), ("time of fit [s]", "iteration"), strict=True):
        ends = [float(trace.last[column]) for trace in by_label.values()]
        for label, trace in by_label.items():
            _draw(axes, trace, column, styles[label], max(ends) if compared else None)
        if min(ends) > 0 and max(ends) > _WIDE_RATIO * min(ends):  # else the short ones would be a wall
            first = min(_entrance(trace, column, span[0]) for trace in by_label.values())
            style.logarithmic(axes.xaxis, [first, max(ends)])
            axes.set_xlim(0.8 * first, 1.25 * max(ends))
        axes.set_xlabel(words)
    panels[0].set_ylabel("log evidence of the standardised target,\nor its bound; higher is better")
    panels[0].set_ylim(*span)
    style.legend_below(drawn, _entries(by_label, styles))
    return drawn


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
    rows = record.read_arrays(run.folder).trace if by_batches else None
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
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _entries(by_label: dict[str, Trace], styles: Styles) -> list[Line2D]:
    entries = [style.legend_curve(label, styles[label]) for label in by_label]
    exact = [trace for trace in by_label.values() if trace.estimates is None]
    if len(exact) < len(by_label):
        entries.append(style.legend_dots("estimates from mini-batches; lines are running means"))
        if exact:
            entries.append(Line2D([], [], color=style.GREY, linestyle=_ENDED, label="final bound, continued"))
    return entries
