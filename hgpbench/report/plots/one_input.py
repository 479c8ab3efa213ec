"""The picture of a problem with one input: data by expert, mean, band, inducing points; the noise below."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from hgpbench.bench.record import Arrays
from hgpbench.report.collect import Experiment
from hgpbench.report.notes import target_name
from hgpbench.report.plots import stored, style
from hgpbench.report.styles import Styles

Array = NDArray[Any]
_COLUMNS = 3
_LINE_POINTS = 1000


def one_input(experiment: Experiment, styles: Styles) -> Figure | None:
    """Per label, its lowest finished seed: mean and 95 % band over the data, log noise variance below."""
    by_label = stored.first_runs(experiment, 1)
    if not by_label:
        return None
    columns = 2 if len(by_label) == 4 else min(_COLUMNS, len(by_label))
    rows = math.ceil(len(by_label) / columns)
    width = style.WIDTH if columns > 1 else 0.7 * style.WIDTH
    drawn = style.figure(0.4 + 3.6 * rows, width=width)
    cells = drawn.subfigures(rows, columns, squeeze=False).ravel()
    panels = []
    for cell, (label, arrays) in zip(cells, by_label.items(), strict=False):
        upper, lower = cell.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        upper.set_title(style.wrapped(label, 34), fontsize=9)
        _draw_data(upper, arrays, styles[label].colour)
        _draw_prediction(upper, arrays, styles[label].colour)
        _draw_noise(lower, arrays, styles[label].colour)
        lower.set_xlabel(stored.input_names(arrays)[0])
        panels.append((upper, lower))
    for upper, lower in panels[::columns]:
        upper.set_ylabel(target_name(experiment))
        lower.set_ylabel("log noise variance")
    _share_limits(list(by_label.values()), panels)
    style.legend_below(drawn, _entries(list(by_label.values())))
    return drawn


def _draw_data(axes: Axes, arrays: Arrays, taken: str) -> None:
    """Training points (or test points, where those were not stored), each expert's in its own way."""
    extras = arrays.extras
    if "X_train" not in extras:
        order, x = _sorted_inputs(arrays)
        style.points(axes, x, arrays.y[order])
    else:
        style.points(axes, extras["X_train"][:, 0], extras["y_train"], stored.ranked_experts(arrays), taken)


def _draw_prediction(axes: Axes, arrays: Arrays, colour: str) -> None:
    order, x = _sorted_inputs(arrays)
    prediction, extras = arrays.prediction, arrays.extras
    low, high = prediction.quantile(0.025)[order], prediction.quantile(0.975)[order]
    axes.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0, zorder=2)
    if "truth_mean" in extras:
        axes.plot(
            x, extras["truth_mean"][order], color="black", linestyle=(0, (2, 2)), linewidth=1.0, zorder=4
        )
    # A white edge lifts the curve off the points.
    edge = [withStroke(linewidth=2.8, foreground="white")]
    axes.plot(x, prediction.mean[order], color=colour, linewidth=1.6, zorder=3, path_effects=edge)
    # Inducing points hang from the frame: those of f on top, those of g at the bottom.
    for name, height, marker in (("inducing_f", 0.97, "v"), ("inducing_g", 0.03, "^")):
        if name in extras:
            points = extras[name].reshape(-1)
            places = np.full(points.size, height)
            axes.scatter(
                points, places, s=16, marker=marker, facecolors="white", edgecolors="black", linewidths=0.7,
                transform=axes.get_xaxis_transform(), zorder=5,
            )  # fmt: skip


def _draw_noise(axes: Axes, arrays: Arrays, colour: str) -> None:
    order, x = _sorted_inputs(arrays)
    noise = arrays.prediction.noise_var[order]
    if "truth_noise_var" in arrays.extras:
        true = arrays.extras["truth_noise_var"][order]
        axes.plot(x, _log(true), color="black", linestyle=(0, (2, 2)), linewidth=1.0, zorder=4)
    axes.plot(x, _log(noise), color=colour, linewidth=1.6, zorder=3)


def _log(values: Array) -> Array:
    """Log of the positive values; a gap elsewhere."""
    return np.log(np.where(values > 0, values, np.nan))


def _sorted_inputs(arrays: Arrays) -> tuple[Array, Array]:
    """Rows in order of their input, evenly thinned to what a line can show, and those inputs."""
    x = arrays.extras["X_test"][:, 0]
    order = np.argsort(x, kind="stable")
    order = order[np.unique(np.linspace(0, x.size - 1, min(x.size, _LINE_POINTS)).round().astype(int))]
    return order, x[order]


def _share_limits(shown: list[Arrays], panels: list[tuple[Axes, Axes]]) -> None:
    """The same axes in every cell, with room for the inducing points; one absurd band must not rule them."""
    targets = np.concatenate([a.extras.get("y_train", a.y) for a in shown])
    low, high = float(np.min(targets)), float(np.max(targets))
    margin = 0.22 * (high - low) or 1.0
    noises = [a.prediction.noise_var for a in shown]
    noises += [a.extras["truth_noise_var"] for a in shown if "truth_noise_var" in a.extras]
    logs = [log for noise in noises if (log := _log(noise)[noise > 0]).size]
    pooled = np.quantile(np.concatenate(logs), [0.005, 0.995]) if logs else np.zeros(2)
    room = 0.5 * (pooled[1] - pooled[0])  # a model may go beyond the others by so much
    ends = np.array([np.quantile(log, [0.001, 0.999]) for log in logs]) if logs else pooled[None]
    bottom, top = max(ends[:, 0].min(), pooled[0] - room), min(ends[:, 1].max(), pooled[1] + room)
    inputs = np.concatenate([a.extras.get("X_train", a.extras["X_test"])[:, 0] for a in shown])
    side = 0.03 * float(np.ptp(inputs)) or 1.0
    for upper, lower in panels:
        lower.set_xlim(float(np.min(inputs)) - side, float(np.max(inputs)) + side)
        style.plain_ticks(lower.xaxis, 5)
        upper.set_ylim(low - margin, high + margin)
        if logs:
            edge = 0.1 * (top - bottom) or 1.0
            lower.set_ylim(bottom - edge, top + edge)


def _entries(shown: list[Arrays]) -> list[Line2D | Patch]:
    def any_has(name: str) -> bool:
        return any(name in arrays.extras for arrays in shown)

    by_expert = any(stored.ranked_experts(arrays) is not None for arrays in shown)
    dots = (
        ("training data, by expert" if by_expert else "training data") if any_has("X_train") else "test data"
    )
    entries: list[Line2D | Patch] = [
        style.legend_dots(dots),
        Line2D([], [], color="#333333", linewidth=1.6, label="prediction"),
        Patch(color="#333333", alpha=0.22, label="95 % interval"),
    ]
    if any_has("truth_mean"):
        entries.append(Line2D([], [], color="black", linestyle=(0, (2, 2)), linewidth=1.0, label="truth"))
    for name, marker, words in (
        ("inducing_f", "v", "inducing inputs of f"),
        ("inducing_g", "^", "inducing inputs of g"),
    ):
        if any_has(name):
            entries.append(
                Line2D(
                    [],
                    [],
                    linestyle="none",
                    marker=marker,
                    markerfacecolor="white",
                    markeredgecolor="black",
                    label=words,
                )
            )
    return entries
