"""One committee on a problem of one input: (a) data, experts, inducing points and y; (b) f; (c) g."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from hgpbench.bench.record import Arrays
from hgpbench.report.collect import Experiment
from hgpbench.report.notes import target_name
from hgpbench.report.plots import stored, style
from hgpbench.report.styles import Styles

Array = NDArray[Any]
_TWO_SIDED = 1.96
_BAND = 0.25
_MEAN = "#C00000"
_TRUTH: dict[str, Any] = {"color": "black", "linestyle": (0, (2, 2)), "linewidth": 1.0, "zorder": 4}
_INDUCING = {"inducing_f": ("o", 0.96), "inducing_g": ("s", 0.04)}  # marker, height in the panel
_PREFERRED = "dvshgp-paper"
_MOST_TURNS = 25  # of a curve that a third of the width can show


def experts(experiment: Experiment, styles: Styles) -> Figure | None:
    """The paper's settings where they were run, else the first committee; its lowest finished seed."""
    found = {
        label: arrays
        for label, arrays in stored.first_runs(experiment, 1).items()
        if stored.ranked_experts(arrays) is not None and stored.curve(arrays)[1].f_var is not None
    }
    if not found:
        return None
    label = _PREFERRED if _PREFERRED in found else next(iter(found))
    arrays = found[label]
    over_each_other = _turns(stored.curve(arrays)[1].mean) > _MOST_TURNS
    drawn, panels = _panels(over_each_other)
    drawings = {
        f"(a) {label}: data, experts, y": (_draw_y, target_name(experiment)),
        "(b) f and its 95 % interval": (_draw_f, "f"),
        "(c) g and its 95 % interval": (_draw_g, "log noise variance"),
    }
    for axes, (title, (draw, words)) in zip(panels, drawings.items(), strict=True):
        draw(axes, arrays)
        axes.set_title(title)
        axes.set_ylabel(words)
    for axes in panels[-1:] if over_each_other else panels:
        axes.set_xlabel(stored.input_names(arrays)[0])
    style.legend_below(drawn, _entries(arrays))
    return drawn


def _panels(over_each_other: bool) -> tuple[Figure, list[Axes]]:
    """Beside each other as in the paper; over each other, where curves need the whole width."""
    if over_each_other:
        drawn = style.figure(style.TALLEST)
        return drawn, list(drawn.subplots(3, 1, sharex=True, height_ratios=[1.6, 1, 1]))
    drawn = style.figure(3.5, width=style.WIDEST)
    return drawn, list(drawn.subplots(1, 3))


def _turns(curve: Array) -> int:
    """How often a curve changes between rising and falling."""
    return int(np.count_nonzero(np.diff(np.sign(np.diff(curve)))))


def _draw_y(axes: Axes, arrays: Arrays) -> None:
    extras = arrays.extras
    ranks = stored.ranked_experts(arrays)
    style.points(axes, extras["X_train"][:, 0], extras["y_train"], ranks)
    x, prediction = stored.curve(arrays)
    low, high = prediction.quantile(0.025), prediction.quantile(0.975)
    axes.plot(x, prediction.mean, color=_MEAN, linewidth=1.4, zorder=3)
    for end in (low, high):
        axes.plot(x, end, color="black", linewidth=0.9, zorder=3)
    bottom, top = axes.get_ylim()
    room = 0.09 * (top - bottom)
    axes.set_ylim(bottom - room, top + room)
    for name, (marker, height) in _INDUCING.items():
        for rank, points in inducing_by_expert(arrays, name).items():
            colour = style.GROUP_COLOURS[rank % len(style.GROUP_COLOURS)]
            axes.scatter(
                points, np.full(points.size, height), s=20, marker=marker, facecolors="none",
                edgecolors=colour, linewidths=0.9, transform=axes.get_xaxis_transform(), zorder=5,
            )  # fmt: skip


def _draw_f(axes: Axes, arrays: Arrays) -> None:
    x, prediction = stored.curve(arrays)
    if prediction.f_mean is None or prediction.f_var is None:
        return
    _band(axes, x, prediction.f_mean, prediction.f_var)
    if "truth_mean" in arrays.extras:
        order = stored.along_input(arrays)
        axes.plot(arrays.extras["X_test"][order, 0], arrays.extras["truth_mean"][order], **_TRUTH)


def _draw_g(axes: Axes, arrays: Arrays) -> None:
    x, prediction = stored.curve(arrays)
    if prediction.g_mean is not None and prediction.g_var is not None:
        _band(axes, x, prediction.g_mean, prediction.g_var)
    if "truth_noise_var" in arrays.extras:
        order = stored.along_input(arrays)
        true = np.log(arrays.extras["truth_noise_var"][order])
        axes.plot(arrays.extras["X_test"][order, 0], true, **_TRUTH)


def _band(axes: Axes, x: Array, mean: Array, var: Array) -> None:
    reach = _TWO_SIDED * np.sqrt(var)
    axes.fill_between(x, mean - reach, mean + reach, color=_MEAN, alpha=_BAND, linewidth=0, zorder=2)
    axes.plot(x, mean, color=_MEAN, linewidth=1.4, zorder=3)


def inducing_by_expert(arrays: Arrays, name: str) -> dict[int, Array]:
    """Inducing inputs by the rank of their expert along the input; empty where experts share them unevenly.

    They are stored expert after expert, as many of each.
    """
    points = arrays.extras.get(name)
    numbers, ranks = arrays.extras.get("expert"), stored.ranked_experts(arrays)
    if points is None or numbers is None or ranks is None:
        return {}
    known = {int(number): int(rank) for number, rank in zip(numbers, ranks, strict=True)}
    if len(points) % len(known):
        return {}
    parts = np.split(np.ravel(points), len(known))
    return {known[number]: part for number, part in zip(sorted(known), parts, strict=True)}


def _entries(arrays: Arrays) -> list[Line2D | Patch]:
    entries: list[Line2D | Patch] = [
        style.legend_dots("training data, by expert"),
        Line2D([], [], color=_MEAN, linewidth=1.6, label="mean"),
        Line2D([], [], color="black", linewidth=0.9, label="95 % interval of y"),
        Patch(color=_MEAN, alpha=_BAND, label="95 % interval of f, of g"),
    ]
    if "truth_mean" in arrays.extras:
        entries.append(Line2D([], [], **_TRUTH, label="truth"))
    for name, (marker, _) in _INDUCING.items():
        if inducing_by_expert(arrays, name):
            words = f"inducing inputs of {name[-1]}, by expert"
            entries.append(
                Line2D(
                    [], [], linestyle="none", marker=marker, color=style.GREY, fillstyle="none", label=words
                )
            )
    return entries
