"""What models say of the noise: a row per label, the density of its log noise variance over test points."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from hgpbench.report import noises
from hgpbench.report.collect import Experiment
from hgpbench.report.notes import target_name
from hgpbench.report.plots import style
from hgpbench.report.styles import LineStyle, Style, Styles

Array = NDArray[np.float64]

_GRID = 400
_ROW = 0.85  # of a row's height, that a usual peak takes
_HIGHEST = 1.9  # rows: a spike is cut here, and covers no more than the row above
_CONSTANT = 0.72  # of a row's height, that the line of constant noise takes
_CONSTANT_WORDS = "noise that is constant (deviation within 5 %), shaded over seeds"
_TRUE = "#d4d4d4"
_OF_F: LineStyle = (0, (3, 1.5))


@dataclass(frozen=True, eq=False)
class Row:
    """What a label says: values that vary over test points, or one constant a seed; and the variance of f.

    The last only where constant noise blames most of the variance on f, as FITC does: it has taken the
    noise's place.
    """

    varying: Array | None = None
    constant: Array | None = None
    of_f: Array | None = None

    @property
    def samples(self) -> list[Array]:
        return [sample for sample in (self.varying, self.of_f) if sample is not None]


def noise(experiment: Experiment, styles: Styles) -> Figure | None:
    """Densities of equal area, one scale of values for all; constant noise is a line."""
    found = {label: row for label in experiment.labels if (row := _row(experiment, label)) is not None}
    if not found:
        return None
    truth = _pooled(
        [each.log_noise_truth for label in experiment.labels for each in experiment.done(label).values()]
    )
    known = [truth] if truth.size else []
    span = _span(list(found.values()), known)
    grid = np.linspace(*span, _GRID)
    unit = _unit([density(sample, grid) for row in found.values() for sample in [*row.samples, *known]])
    drawn = style.figure(min(0.7 + 0.4 * len(found), style.TALLEST))
    axes = drawn.subplots()
    for place, (label, row) in enumerate(found.items()):
        base, depth = len(found) - 1.0 - place, 2.0 + place  # the first on top, the lower ones in front
        for sample in known:
            axes.fill_between(
                grid, base, base + _heights(sample, grid, unit), color=_TRUE, lw=0, zorder=depth
            )
        _draw(axes, row, grid, unit, base, depth, styles[label])
    axes.set_yticks(range(len(found)), [style.wrapped(label, 40) for label in reversed(found)])
    axes.tick_params(axis="y", length=0)
    first = next(iter(found.values()))
    tops = [float(np.max(_heights(sample, grid, unit))) for sample in [*first.samples, *known]]
    axes.set_ylim(-0.15, len(found) - 1 + max([1.0, *tops]) + 0.05)
    axes.set_xlim(*span)
    axes.set_xlabel(f"log noise variance (natural logarithm, unit of {target_name(experiment)} squared)")
    style.legend_below(drawn, _entries(list(found.values()), bool(known)))
    return drawn


def density(sample: Array, grid: Array) -> Array:
    """Kernel density of a sample; one that hardly varies is as wide as a step of the grid."""
    spread = min(float(np.std(sample)), float(np.subtract(*np.quantile(sample, [0.75, 0.25]))) / 1.34)
    step = float(grid[1] - grid[0])
    bandwidth = max(0.9 * (spread or float(np.std(sample))) * sample.size**-0.2, step)
    kernel = np.exp(-0.5 * ((grid[:, None] - sample) / bandwidth) ** 2)
    heights: Array = np.mean(kernel, axis=1) / (bandwidth * np.sqrt(2 * np.pi))
    return heights


def _row(experiment: Experiment, label: str) -> Row | None:
    """The values of all seeds; those of varying noise pooled."""
    told = [digest for digest in experiment.done(label).values() if digest.log_noise]
    if not told:
        return None
    constant = noises.constants(told)
    if constant is None:
        return Row(varying=_pooled([digest.log_noise for digest in told]))
    took_over = all(
        each.log_latent and np.median(each.log_latent) > value
        for each, value in zip(told, constant, strict=True)
    )
    of_f = _pooled([each.log_latent for each in told]) if took_over else None
    return Row(constant=np.array(constant), of_f=of_f)


def _pooled(parts: list[tuple[float, ...]]) -> Array:
    return np.concatenate([np.empty(0), *(np.asarray(part) for part in parts)])


def _span(rows: list[Row], known: list[Array]) -> tuple[float, float]:
    """A range that shows the bulk of every density, and constants that are not far from it."""
    samples = [*known, *(sample for row in rows for sample in row.samples)]
    constants = [float(np.mean(row.constant)) for row in rows if row.constant is not None]
    ends = [np.quantile(sample, [0.01, 0.99]) for sample in samples] or [np.quantile(constants, [0.0, 1.0])]
    low, high = float(np.min(ends)), float(np.max(ends))
    reach = (high - low) or 1.0
    near = [value for value in constants if low - reach / 4 <= value <= high + reach / 4]
    low, high = min([low, *near]), max([high, *near])
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _unit(heights: list[Array]) -> float:
    """The height of a row: that of most peaks, so that one spike does not flatten the others."""
    peaks = [float(np.max(each)) for each in heights]
    return float(np.quantile(peaks, 0.75)) / _ROW if peaks else 1.0


def _heights(sample: Array, grid: Array, unit: float) -> Array:
    heights: Array = np.minimum(density(sample, grid) / unit, _HIGHEST)
    return heights


def _draw(axes: Axes, row: Row, grid: Array, unit: float, base: float, depth: float, how: Style) -> None:
    if row.varying is not None:
        heights = base + _heights(row.varying, grid, unit)
        axes.fill_between(grid, base, heights, color=how.colour, alpha=0.4, lw=0, zorder=depth + 0.1)
        axes.plot(grid, heights, color=how.colour, lw=1.2, zorder=depth + 0.2)
    if row.of_f is not None:
        heights = base + _heights(row.of_f, grid, unit)
        axes.plot(grid, heights, color=how.colour, lw=1.2, linestyle=_OF_F, zorder=depth + 0.2)
    if row.constant is not None:
        _draw_constant(axes, row.constant, (float(grid[0]), float(grid[-1])), base, depth + 0.3, how)


def _draw_constant(
    axes: Axes, values: Array, span: tuple[float, float], base: float, depth: float, how: Style
) -> None:
    """A line at the mean over seeds, in a shade over their range; at the edge an arrow and the value."""
    mean, top = float(np.mean(values)), base + _CONSTANT
    if span[0] <= mean <= span[1]:
        axes.fill_betweenx(
            [base, top], float(np.min(values)), float(np.max(values)),
            color=how.colour, alpha=0.2, lw=0, zorder=depth,
        )  # fmt: skip
        axes.plot([mean, mean], [base, top], color=how.colour, lw=2.2, zorder=depth + 0.1)
        return
    is_low = mean < span[0]
    axes.annotate(
        f"{mean:.1f}", (span[0] if is_low else span[1], base + _CONSTANT / 2),
        xytext=(14 if is_low else -14, 0), textcoords="offset points", fontsize=8, color=how.colour,
        ha="left" if is_low else "right", va="center", zorder=depth,
        arrowprops={"arrowstyle": "-|>", "color": how.colour, "shrinkA": 1, "shrinkB": 0},
    )  # fmt: skip


def _entries(rows: list[Row], knows_truth: bool) -> list[Patch | Line2D]:
    entries: list[Patch | Line2D] = []
    if knows_truth:
        entries.append(Patch(color=_TRUE, label="truth"))
    if any(row.varying is not None for row in rows):
        entries.append(Patch(color=style.GREY, alpha=0.5, label="noise that varies over test points"))
    if any(row.constant is not None for row in rows):
        entries.append(Line2D([], [], color=style.GREY, lw=2.2, label=_CONSTANT_WORDS))
    if any(row.of_f is not None for row in rows):
        words = "variance of f, where it has taken the noise's place"
        entries.append(Line2D([], [], color=style.GREY, lw=1.2, linestyle=_OF_F, label=words))
    return entries
