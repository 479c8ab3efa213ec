"""How the bound rose: against seconds and against iterations."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hgpbench.report.collect import Experiment
from hgpbench.report.plots import style
from hgpbench.report.plots.style import Styles

Array = NDArray[np.float64]
_SETTLED = 0.15  # share of a trace that may fall below the plot: its first steps say little and reach far
_WIDE_RATIO = 30.0


def traces(experiment: Experiment, styles: Styles) -> Figure | None:
    """The bound of every run that has one, against seconds and against iterations."""
    found = {label: _traces(experiment, label) for label in experiment.labels}
    found = {label: curves for label, curves in found.items() if curves}
    if not found:
        return None
    drawn = style.figure(3.8)
    panels = drawn.subplots(1, 2, sharey=True)
    for axes, column, words in zip(panels, (1, 0), ("time of fit [s]", "iteration"), strict=True):
        for label, curves in found.items():
            for curve in curves:
                _draw(axes, curve[:, column], curve[:, 2], styles[label], alone=len(curves) == 1)
        ends = [float(curve[-1, column]) for curves in found.values() for curve in curves]
        if min(ends) > 0 and max(ends) > _WIDE_RATIO * min(ends):  # else the short ones would be a wall
            style.logarithmic(axes.xaxis, ends)
        axes.set_xlabel(words)
    panels[0].set_ylabel("log evidence or its bound, higher is better")
    panels[0].set_ylim(*_span([curve for curves in found.values() for curve in curves]))
    style.legend_below(drawn, [style.legend_line(label, styles[label]) for label in found])
    return drawn


def _traces(experiment: Experiment, label: str) -> list[Array]:
    """Traces of a label with more than one point, rows that are not finite left out."""
    curves = [np.asarray(each.trace, dtype=float).reshape(-1, 3) for each in experiment.done(label).values()]
    curves = [curve[np.all(np.isfinite(curve), axis=1)] for curve in curves]
    return [curve for curve in curves if len(curve) > 1]


def _draw(axes: Axes, x: Array, y: Array, how: style.Style, alone: bool) -> None:
    axes.plot(
        x,
        y,
        color=how.colour,
        linestyle=how.line,
        linewidth=1.4 if alone else 1.0,
        alpha=1.0 if alone else 0.6,
    )
    axes.plot(x[-1:], y[-1:], color=how.colour, marker=how.marker, markersize=4, linestyle="none")


def _span(curves: list[Array]) -> tuple[float, float]:
    low = min(float(np.min(curve[int(_SETTLED * len(curve)) :, 2])) for curve in curves)
    high = max(float(np.max(curve[:, 2])) for curve in curves)
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin
