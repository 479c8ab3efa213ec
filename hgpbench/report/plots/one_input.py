"""A problem with one input: data, y and f with intervals; below the log noise variance with that of g."""

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
from hgpbench.prediction import Prediction
from hgpbench.report.collect import Experiment
from hgpbench.report.notes import target_name
from hgpbench.report.plots import stored, style
from hgpbench.report.styles import Styles

Array = NDArray[Any]
_COLUMNS = 4
_ROOMY = 2  # rows of panels that leave room for letters of the usual size
_TWO_SIDED = 1.96  # standard deviations around the mean of a normal that hold 95 %
_BAND, _INNER = 0.20, 0.38  # how opaque the intervals of y and of f are
_TRUTH: dict[str, Any] = {"color": "black", "linestyle": (0, (2, 2)), "linewidth": 1.0}


def one_input(experiment: Experiment, styles: Styles) -> Figure | None:
    """Per label, its lowest finished seed: mean, 95 % intervals of y and f over the data; log noise below."""
    by_label = stored.without_baselines(stored.first_runs(experiment, 1), styles)
    if not by_label:
        return None
    columns = style.panels_across(len(by_label), _COLUMNS) if len(by_label) != 4 else 2
    rows = math.ceil(len(by_label) / columns)
    width = min(style.WIDEST, 0.7 + 3.2 * columns) if columns > 1 else 0.7 * style.WIDTH
    drawn = style.figure(min(0.4 + 3.5 * rows, style.TALLEST), width=width)
    grid = drawn.subplots(
        2 * rows, columns, squeeze=False, sharex=True, sharey="row", height_ratios=[2, 1] * rows
    )
    panels = list(zip(grid[::2].ravel(), grid[1::2].ravel(), strict=True))
    for (upper, lower), (label, arrays) in zip(panels, by_label.items(), strict=False):
        upper.set_title(style.wrapped(label, 34), fontsize=9)
        _draw_data(upper, arrays)
        _draw_prediction(upper, arrays, styles[label].colour)
        _draw_noise(lower, arrays, styles[label].colour)
    for axes in (each for pair in panels[len(by_label) :] for each in pair):
        axes.set_visible(False)
    for _, lower in panels[len(by_label) - columns : len(by_label)]:  # the lowest of each column
        lower.tick_params(labelbottom=True)
        lower.set_xlabel(stored.input_names(next(iter(by_label.values())))[0])
    for upper, lower in panels[::columns]:
        upper.set_ylabel(target_name(experiment))
        lower.set_ylabel("log noise", fontsize=9 if rows <= _ROOMY else 7)
    _share_limits(list(by_label.values()), panels[: len(by_label)])
    style.legend_below(drawn, _entries(list(by_label.values())))
    return drawn


def _draw_data(axes: Axes, arrays: Arrays) -> None:
    """Training points (or test points, where those were not stored), each expert's in its own shade."""
    extras = arrays.extras
    if "X_train" not in extras:
        order = stored.along_input(arrays)
        style.points(axes, extras["X_test"][order, 0], arrays.y[order])
    else:
        style.points(axes, extras["X_train"][:, 0], extras["y_train"], stored.ranked_experts(arrays))


def _draw_prediction(axes: Axes, arrays: Arrays, colour: str) -> None:
    x, prediction = stored.curve(arrays)
    low, high = prediction.quantile(0.025), prediction.quantile(0.975)
    axes.fill_between(x, low, high, color=colour, alpha=_BAND, linewidth=0, zorder=2)
    if prediction.f_mean is not None and prediction.f_var is not None:
        reach = _TWO_SIDED * np.sqrt(prediction.f_var)
        axes.fill_between(
            x, prediction.f_mean - reach, prediction.f_mean + reach,
            color=colour, alpha=_INNER, linewidth=0, zorder=2,
        )  # fmt: skip
    if "truth_mean" in arrays.extras:
        order = stored.along_input(arrays)
        axes.plot(arrays.extras["X_test"][order, 0], arrays.extras["truth_mean"][order], **_TRUTH, zorder=4)
    # A white edge lifts the curve off the points.
    edge = [withStroke(linewidth=2.4, foreground="white")]
    axes.plot(x, prediction.mean, color=colour, linewidth=1.3, zorder=3, path_effects=edge)
    _draw_inducing(axes, arrays, "inducing_f", 0.97)


def _draw_noise(axes: Axes, arrays: Arrays, colour: str) -> None:
    """The log noise variance, with the interval of g where the model has one."""
    x, prediction = stored.curve(arrays)
    if "truth_noise_var" in arrays.extras:
        order = stored.along_input(arrays)
        true = _log(arrays.extras["truth_noise_var"][order])
        axes.plot(arrays.extras["X_test"][order, 0], true, **_TRUTH, zorder=4)
    axes.plot(x, _log_noise(prediction), color=colour, linewidth=1.5, zorder=3)
    if prediction.g_mean is not None and prediction.g_var is not None:
        reach = _TWO_SIDED * np.sqrt(prediction.g_var)
        axes.fill_between(
            x, prediction.g_mean - reach, prediction.g_mean + reach,
            color=colour, alpha=_BAND, linewidth=0, zorder=2,
        )  # fmt: skip
    _draw_inducing(axes, arrays, "inducing_g", 0.05)


def _draw_inducing(axes: Axes, arrays: Arrays, name: str, height: float) -> None:
    """Inducing inputs as strokes at the frame: those of f above f, those of g below g."""
    if name in arrays.extras:
        points = arrays.extras[name].reshape(-1)
        places = np.full(points.size, height)
        axes.scatter(
            points, places, s=22, marker="|", color="black", linewidths=0.6, alpha=0.6,
            transform=axes.get_xaxis_transform(), zorder=5,
        )  # fmt: skip


def _log_noise(prediction: Prediction) -> Array:
    return _log(prediction.noise_var) if prediction.g_mean is None else prediction.g_mean


def _log(values: Array) -> Array:
    """Log of the positive values; a gap elsewhere."""
    return np.log(np.where(values > 0, values, np.nan))


def _share_limits(shown: list[Arrays], panels: list[tuple[Axes, Axes]]) -> None:
    """The same axes in every cell, with room for the inducing points; one absurd band must not rule them."""
    targets = np.concatenate([a.extras.get("y_train", a.y) for a in shown])
    low, high = float(np.min(targets)), float(np.max(targets))
    margin = 0.22 * (high - low) or 1.0
    noises = [_log_noise(stored.curve(a)[1]) for a in shown]
    noises += [_log(a.extras["truth_noise_var"]) for a in shown if "truth_noise_var" in a.extras]
    logs = [kept for noise in noises if (kept := noise[np.isfinite(noise)]).size]
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
            edge = 0.18 * (top - bottom) or 1.0
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
        Line2D([], [], color="#333333", linewidth=1.6, label="mean of y; of the log noise variance"),
        Patch(color="#333333", alpha=_BAND, label="95 % interval of y; of g"),
    ]
    if any(stored.curve(arrays)[1].f_var is not None for arrays in shown):
        entries.append(Patch(color="#333333", alpha=_BAND + _INNER, label="95 % interval of f"))
    if any_has("truth_mean"):
        entries.append(Line2D([], [], **_TRUTH, label="truth"))
    words = [name for name, key in (("f (above)", "inducing_f"), ("g (below)", "inducing_g")) if any_has(key)]
    if words:
        entries.append(
            Line2D(
                [], [], linestyle="none", marker="|", color="black", markersize=6,
                label=f"inducing inputs of {', '.join(words)}",
            )
        )  # fmt: skip
    return entries
