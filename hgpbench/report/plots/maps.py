"""Maps of problems with two inputs: the exact noise variance beside every model's predictive variance."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hgpbench.bench.record import Arrays
from hgpbench.report.collect import Experiment
from hgpbench.report.notes import target_name
from hgpbench.report.plots import stored, style
from hgpbench.report.styles import Styles

Array = NDArray[np.float64]
_COLUMNS = 6
_COLOURS = "viridis"  # even steps to the eye, also in grey and for the colour-blind
_TAIL = 0.01  # of the variances of a label may be off the scale at each end
_MOST_DECADES = 4.0


def maps(experiment: Experiment, styles: Styles) -> Figure | None:
    """Variance over the two inputs: exact, where it is known, and each label's; one logarithmic scale."""
    by_label = stored.without_baselines(stored.first_runs(experiment, 2), styles)
    if not by_label:
        return None
    panels = _panels(by_label)
    scale = _scale([values for _, _, values in panels])
    norm = LogNorm(*scale)
    columns = style.panels_across(len(panels), _COLUMNS)
    rows = math.ceil(len(panels) / columns)
    side = min(1.6, (style.TALLEST - 0.6) / rows)
    drawn = style.figure(0.6 + side * rows, width=max(4.5, 1.0 + (side + 0.1) * columns))
    grid = drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, (title, arrays, values) in zip(grid.ravel(), panels, strict=False):
        _draw(axes, arrays.extras["X_test"], values, norm)
        axes.set_title(style.wrapped(title, 24), fontsize=9)
    for axes in grid.ravel()[len(panels) :]:
        axes.set_visible(False)
    for axes in grid.ravel()[len(panels) - columns : len(panels)]:  # the lowest of each column
        axes.tick_params(labelbottom=True)
    first, second = stored.input_names(panels[0][1])
    drawn.supxlabel(first, fontsize=9)
    drawn.supylabel(second, fontsize=9)
    bar = drawn.colorbar(ScalarMappable(norm, _COLOURS), ax=grid, extend="both", aspect=30, pad=0.02)
    bar.set_label(f"variance of {target_name(experiment)}")
    style.logarithmic(bar.ax.yaxis, scale)
    return drawn


def _panels(by_label: dict[str, Arrays]) -> list[tuple[str, Arrays, Array]]:
    """Title, run and values of each panel: the truth first."""
    panels = [(label, arrays, arrays.prediction.var) for label, arrays in by_label.items()]
    known = [arrays for arrays in by_label.values() if "truth_noise_var" in arrays.extras]
    if known:
        panels.insert(0, ("exact noise variance", known[0], known[0].extras["truth_noise_var"]))
    return panels


def _scale(fields: list[Array]) -> tuple[float, float]:
    """Ends of a scale for nearly all values of every panel; one absurd model must not take it all."""
    logs = [np.log10(values[values > 0]) for values in fields]
    ends = np.array([np.quantile(log, [_TAIL, 1 - _TAIL]) for log in logs if log.size])
    middle = float(np.median(np.concatenate(logs)))
    low = max(float(ends[:, 0].min()), middle - _MOST_DECADES / 2)
    high = min(float(ends[:, 1].max()), middle + _MOST_DECADES / 2)
    if high - low < 0.1:  # nearly constant everywhere: let it look so
        low, high = middle - 0.5, middle + 0.5
    return 10.0**low, 10.0**high


def _draw(axes: Axes, X: Array, values: Array, norm: LogNorm) -> None:
    """Cells of a regular grid; elsewhere the points themselves, since nothing is known between them."""
    grid = regular_grid(X, values)
    if grid is not None:
        axes.pcolormesh(*grid, norm=norm, cmap=_COLOURS, shading="nearest", rasterized=True)
    else:
        size = float(np.clip(6000 / len(X), 0.3, 20))
        axes.scatter(
            X[:, 0], X[:, 1], c=values, s=size, norm=norm, cmap=_COLOURS, linewidths=0, rasterized=True
        )
    axes.grid(visible=False)
    axes.set_facecolor("#eeeeee")
    axes.locator_params(nbins=4)
    axes.set_box_aspect(1)


def regular_grid(X: Array, values: Array) -> tuple[Array, Array, Array] | None:
    """Both axes, and the values as a table (second input down), where the points are all of a grid."""
    first, i = np.unique(X[:, 0], return_inverse=True)
    second, j = np.unique(X[:, 1], return_inverse=True)
    if len(first) * len(second) != len(X) or min(len(first), len(second)) < 2:
        return None
    table = np.full((len(second), len(first)), np.nan)
    table[j, i] = values
    return None if np.isnan(table).any() else (first, second, table)
