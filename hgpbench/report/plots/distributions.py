"""Whether the intervals of models hold: their coverage, and where in the predictive the targets lie."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from hgpbench.report.collect import Experiment
from hgpbench.report.digest import PIT_BINS, Digest
from hgpbench.report.plots import style
from hgpbench.report.styles import FAMILIES, Family, Style, Styles

Array = NDArray[np.float64]
Counts = dict[str, Array]  # of the probability integral transform, by label

_BARS = 20
_PIT_COLUMNS = 6
_MOST_CURVES = 12  # that one panel shows apart
_FAMILY_COLUMNS = 3
_NOMINAL = np.linspace(0, 100, PIT_BINS // 2 + 1)
_ACROSS, _EXCESS = "nominal coverage [%]", "empirical − nominal [percentage points]"
_CHANCE_WORDS = "what chance allows 19 times of 20, had all rows been drawn afresh"


def calibration(experiment: Experiment, styles: Styles) -> Figure | None:
    """Share of the test targets inside central intervals of every nominal level, all seeds together."""
    counts = _pit(experiment)
    if not counts:
        return None
    kin = [name for name in FAMILIES if any(styles[label].family == name for label in counts)]
    drawn = _by_family(counts, kin, styles) if len(counts) > _MOST_CURVES else _together(counts, styles)
    style.legend_by_family(
        drawn, {label: style.legend_curve(label, styles[label]) for label in counts}, styles
    )
    style.legend_above(drawn, [Patch(color=style.GREY, alpha=0.18, label=_CHANCE_WORDS)])
    return drawn


def _together(counts: Counts, styles: Styles) -> Figure:
    """Coverage as it is, and how far it is from nominal."""
    drawn = style.figure(4.3, width=style.WIDEST)
    plain, excess = drawn.subplots(1, 2, width_ratios=(1, 1.8))
    plain.plot([0, 100], [0, 100], color=style.GREY, linewidth=1.0)
    for label, pit in counts.items():
        plain.plot(_NOMINAL, 100 * coverage(pit), **_look(styles[label]))
    plain.set(xlabel=_ACROSS, ylabel="empirical coverage [%]", xlim=(0, 100), ylim=(0, 100))
    _draw_excess(excess, counts, _reach(counts), styles)
    excess.set(xlabel=_ACROSS, ylabel=_EXCESS)
    return drawn


def _by_family(counts: Counts, kin: list[Family], styles: Styles) -> Figure:
    """How far coverage is from nominal, a panel for each family: in one, many curves are a bundle."""
    columns = style.panels_across(len(kin), _FAMILY_COLUMNS)
    rows = math.ceil(len(kin) / columns)
    drawn = style.figure(min(0.5 + 2.6 * rows, style.TALLEST), width=style.WIDEST)
    grid = drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    reach = _reach(counts)
    for axes, name in zip(grid, kin, strict=False):
        mine = {label: pit for label, pit in counts.items() if styles[label].family == name}
        _draw_excess(axes, mine, reach, styles)
        axes.set_title(FAMILIES[name].words, fontsize=9)
    for axes in grid[len(kin) :]:
        axes.set_visible(False)
    for axes in grid[len(kin) - columns : len(kin)]:  # the lowest of each column, also in a short row
        axes.tick_params(labelbottom=True)
        axes.set_xlabel(_ACROSS)
    drawn.supylabel(_EXCESS, fontsize=9)
    return drawn


def _reach(counts: Counts) -> Array:
    return chance(_NOMINAL, max(float(np.sum(pit)) for pit in counts.values()))


def _draw_excess(axes: Axes, counts: Counts, reach: Array, styles: Styles) -> None:
    style.reference(axes, 0.0)
    axes.fill_between(_NOMINAL, -reach, reach, color=style.GREY, alpha=0.18, linewidth=0, zorder=0)
    for label, pit in counts.items():
        axes.plot(_NOMINAL, 100 * coverage(pit) - _NOMINAL, **_look(styles[label]))
    axes.set_xlim(0, 100)


def _look(how: Style) -> dict[str, Any]:
    return {
        "color": how.colour,
        "linestyle": how.line,
        "marker": how.marker,
        "markevery": 20,
        "markersize": 4,
    }


def pit_histogram(experiment: Experiment, styles: Styles) -> Figure | None:
    """Histogram of the probability integral transform per label; flat where the predictive is right."""
    counts = _pit(experiment)
    if not counts:
        return None
    columns = style.panels_across(len(counts), _PIT_COLUMNS)
    rows = math.ceil(len(counts) / columns)
    height = min(0.7 + 1.75 * rows, style.TALLEST)
    drawn = style.figure(height, width=max(4.0, style.WIDEST * columns / _PIT_COLUMNS))
    panels = drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (label, pit) in zip(panels, counts.items(), strict=False):
        _draw_pit(axes, pit, styles[label].colour)
        axes.set_title(style.wrapped(label, 26), fontsize=8.5)
    for axes in panels[len(counts) :]:
        axes.set_visible(False)
    for axes in panels[len(counts) - columns : len(counts)]:  # the lowest of each column, also in a short row
        axes.tick_params(labelbottom=True)
    highest = max(float(np.max(_bars(pit))) for pit in counts.values())
    panels[0].set_ylim(0, max(1.5, min(1.08 * highest, 6.0)))
    drawn.supxlabel("probability integral transform", fontsize=9)
    drawn.supylabel("density (1 = calibrated)", fontsize=9)
    return drawn


def coverage(pit: Array) -> Array:
    """Empirical coverage of the central intervals of 0, 1, ..., 100 per cent from PIT_BINS counts."""
    half = PIT_BINS // 2
    folded = pit[half:] + pit[:half][::-1]  # bins at the same distance from the median
    return np.concatenate([[0.0], np.cumsum(folded)]) / np.sum(pit)


def chance(nominal: Array, rows: float) -> Array:
    """How far from nominal, in points, the coverage of so many rows may be by chance: 1.96 deviations."""
    share = nominal / 100
    return 196 * np.sqrt(share * (1 - share) / rows)


def _pit(experiment: Experiment) -> Counts:
    """Counts of each label over all seeds."""

    def total(digests: dict[int, Digest]) -> Array:
        return np.sum([digest.pit for digest in digests.values()], axis=0).astype(float)

    return {label: total(experiment.done(label)) for label in experiment.labels if experiment.done(label)}


def _bars(pit: Array) -> Array:
    summed: Array = pit.reshape(_BARS, -1).sum(axis=1)
    return summed * _BARS / np.sum(pit)


def _draw_pit(axes: Axes, pit: Array, colour: str) -> None:
    places = (np.arange(_BARS) + 0.5) / _BARS
    axes.bar(places, _bars(pit), width=1 / _BARS, color=colour, alpha=0.55, edgecolor=colour, linewidth=0.6)
    axes.axhline(1.0, color=style.GREY, linewidth=1.0, linestyle=(0, (2, 2)))
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.grid(visible=False, axis="x")
