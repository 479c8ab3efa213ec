"""What models say of the noise, and whether their intervals hold."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from hgpbench.report.collect import Experiment
from hgpbench.report.digest import PIT_BINS, Digest
from hgpbench.report.notes import target_name
from hgpbench.report.plots import style
from hgpbench.report.styles import Styles

Array = NDArray[np.float64]

_GRID = 400
_BARS = 20
_PIT_COLUMNS = 4
_THIN = 0.8  # of curves that are not of the noise


def noise(experiment: Experiment, styles: Styles) -> Figure | None:
    """Density of the log noise variance over test points; a model with constant noise is a vertical line.

    Where such a model blames most of the variance on f instead, as FITC does, that variance is drawn too: it
    has taken the noise's place.
    """
    curves, lines = _noise_samples(experiment)
    instead = {label: sample for label in lines if (sample := _latent_sample(experiment, label)) is not None}
    truth = _pooled(
        [each.log_noise_truth for label in experiment.labels for each in experiment.done(label).values()]
    )
    samples = [*curves.values(), *lines.values(), *instead.values(), *([truth] if truth.size else [])]
    if not curves and not lines:
        return None
    grid = np.linspace(*_span(samples), _GRID)
    drawn = style.figure(3.6)
    axes = drawn.subplots()
    handles: list[Patch | style.Line2D] = []
    if truth.size:
        axes.fill_between(grid, density(truth, grid), color="#cccccc", linewidth=0, zorder=1)
        handles.append(Patch(color="#cccccc", label="truth"))
    for label, sample in curves.items():
        axes.plot(grid, density(sample, grid), color=styles[label].colour, linestyle=styles[label].line)
    for label, sample in instead.items():
        axes.plot(grid, density(sample, grid), color=styles[label].colour, linewidth=_THIN)
    for label, values in lines.items():
        how = styles[label]
        axes.axvline(float(np.mean(values)), color=how.colour, linestyle=how.line)
        axes.axvspan(float(np.min(values)), float(np.max(values)), color=how.colour, alpha=0.12, linewidth=0)
    axes.set_xlabel(f"log noise variance (natural logarithm, unit of {target_name(experiment)} squared)")
    axes.set_ylabel("density, peak = 1")
    axes.set_xlim(grid[0], grid[-1])
    axes.set_ylim(0, 1.05)
    handles += [
        style.legend_line(label, styles[label]) for label in experiment.labels if label in curves | lines
    ]
    handles += [
        style.Line2D([], [], color=styles[label].colour, linewidth=_THIN, label=f"{label}: variance of f")
        for label in instead
    ]
    style.legend_below(drawn, handles)
    return drawn


def calibration(experiment: Experiment, styles: Styles) -> Figure | None:
    """Share of the test targets inside central intervals of every nominal level, all seeds together."""
    counts = _pit(experiment)
    if not counts:
        return None
    drawn = style.figure(4.3)
    plain, excess = drawn.subplots(1, 2)
    plain.plot([0, 100], [0, 100], color=style.GREY, linewidth=1.0)
    style.reference(excess, 0.0)
    nominal = np.linspace(0, 100, PIT_BINS // 2 + 1)
    for label, pit in counts.items():
        inside, how = 100 * coverage(pit), styles[label]
        mark = {
            "color": how.colour,
            "linestyle": how.line,
            "marker": how.marker,
            "markevery": 20,
            "markersize": 4,
        }
        plain.plot(nominal, inside, **mark)
        excess.plot(nominal, inside - nominal, **mark)
    plain.set(xlabel="nominal coverage [%]", ylabel="empirical coverage [%]", xlim=(0, 100), ylim=(0, 100))
    excess.set(xlabel="nominal coverage [%]", ylabel="empirical − nominal [percentage points]", xlim=(0, 100))
    style.legend_by_family(
        drawn, {label: style.legend_curve(label, styles[label]) for label in counts}, styles
    )
    return drawn


def pit_histogram(experiment: Experiment, styles: Styles) -> Figure | None:
    """Histogram of the probability integral transform per label; flat where the predictive is right."""
    counts = _pit(experiment)
    if not counts:
        return None
    rows = math.ceil(len(counts) / _PIT_COLUMNS)
    columns = math.ceil(len(counts) / rows)
    drawn = style.figure(0.7 + 1.75 * rows, width=max(4.0, style.WIDTH * columns / _PIT_COLUMNS))
    panels = drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (label, pit) in zip(panels, counts.items(), strict=False):
        _draw_pit(axes, pit, styles[label].colour)
        axes.set_title(style.wrapped(label, 28), fontsize=8.5)
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


def density(sample: Array, grid: Array) -> Array:
    """Kernel density of a sample, scaled to a peak of one so that a spike does not flatten the others."""
    spread = min(float(np.std(sample)), float(np.subtract(*np.quantile(sample, [0.75, 0.25]))) / 1.34)
    step = float(grid[1] - grid[0])
    bandwidth = max(0.9 * (spread or float(np.std(sample))) * sample.size**-0.2, step)
    kernel = np.exp(-0.5 * ((grid[:, None] - sample) / bandwidth) ** 2)
    heights: Array = np.sum(kernel, axis=1)
    peak = float(np.max(heights))
    return heights / peak if peak > 0 else heights


def _noise_samples(experiment: Experiment) -> tuple[dict[str, Array], dict[str, Array]]:
    """Labels whose noise varies with their pooled values, and labels of constant noise with one per seed."""
    curves: dict[str, Array] = {}
    lines: dict[str, Array] = {}
    for label in experiment.labels:
        told = [digest for digest in experiment.done(label).values() if digest.log_noise]
        if not told:
            continue
        if all(digest.has_constant_noise for digest in told):
            lines[label] = np.array([digest.log_noise[0] for digest in told])
        else:
            curves[label] = _pooled([digest.log_noise for digest in told])
    return curves, lines


def _latent_sample(experiment: Experiment, label: str) -> Array | None:
    """Log variances of f, where at most test points they exceed the noise."""
    told = [each for each in experiment.done(label).values() if each.log_noise and each.log_latent]
    if not told or not all(np.median(each.log_latent) > each.log_noise[0] for each in told):
        return None
    return _pooled([each.log_latent for each in told])


def _pooled(parts: list[tuple[float, ...]]) -> Array:
    return np.concatenate([np.empty(0), *(np.asarray(part) for part in parts)])


def _span(samples: list[Array]) -> tuple[float, float]:
    """A range that shows the bulk of every sample; a few absurd points must not squeeze it."""
    low = min(float(np.quantile(sample, 0.005)) for sample in samples)
    high = max(float(np.quantile(sample, 0.995)) for sample in samples)
    margin = 0.15 * (high - low) or 1.0
    return low - margin, high + margin


def _pit(experiment: Experiment) -> dict[str, Array]:
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
