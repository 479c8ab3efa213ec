"""Scores of all runs: against time, and as boxes over seeds."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hgpbench.metrics import METRICS
from hgpbench.report import summary, tables
from hgpbench.report.collect import Experiment
from hgpbench.report.plots import style
from hgpbench.report.styles import Style, Styles
from hgpbench.report.summary import Row

SHOWN = ("smse", "msll")
_STRIP = 0.4  # height over which the points of a label are spread
_BOX_SEEDS = 4  # fewer points are their own summary
_TRIVIAL_WORDS = "mean and variance of the training targets"
_TRIVIAL = 0.05  # of SMSE and of MSLL: what is nearer to the trivial predictor learned nothing

Points = dict[str, list[tuple[float, float]]]  # label -> (seconds, score) of each run


def tradeoff(experiment: Experiment, styles: Styles) -> Figure | None:
    """SMSE and MSLL against the time of fit and prediction: a point per run, a marker for the mean."""
    kept, trivial = _shown_labels(experiment)
    timed = {metric: _timed(experiment, metric, kept) for metric in SHOWN}
    labels = [label for label in kept if any(timed[metric].get(label) for metric in SHOWN)]
    if not labels:
        return None
    drawn = style.figure(3.8)
    referred = False
    for axes, metric in zip(drawn.subplots(1, len(SHOWN)), SHOWN, strict=True):
        _draw_timed(axes, timed[metric], styles)
        axes.set_ylabel(_axis_label(experiment, metric))
        scores = [score for points in timed[metric].values() for _, score in points]
        referred |= _refer(axes, metric, scores)
        style.widen(axes.yaxis, scores)
        style.logarithmic(axes.xaxis, [s for points in timed[metric].values() for s, _ in points])
        axes.set_xlabel("time of fit and prediction [s]")
    entries = [style.legend_marker(label, styles[label]) for label in labels]
    style.legend_below(drawn, [*entries, *([_trivial_entry()] if referred else [])], _note(trivial))
    return drawn


def boxes(experiment: Experiment, styles: Styles) -> Figure | None:
    """SMSE and MSLL of every seed, with a box per label where there are enough of them."""
    labels, trivial = _shown_labels(experiment)
    if not labels:
        return None
    drawn = style.figure(0.9 + 0.4 * len(labels))
    referred = False
    for axes, metric in zip(drawn.subplots(1, len(SHOWN), sharey=True), SHOWN, strict=True):
        everything = []
        for place, label in enumerate(labels):
            scores = style.finite(each.scores[metric] for each in experiment.done(label).values())
            _draw_box(axes, place, scores, styles[label])
            everything += scores
        referred |= _refer(axes, metric, everything, vertical=True)
        style.widen(axes.xaxis, everything)
        axes.set_xlabel(_axis_label(experiment, metric))
        axes.set_ylim(len(labels) - 0.4, -0.6)  # the first label on top, as in the tables
        axes.set_yticks(range(len(labels)), [style.wrapped(label, 40) for label in labels])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        if axes.get_xscale() == "linear":
            style.plain_ticks(axes.xaxis, 6)
    style.legend_below(drawn, [_trivial_entry()] if referred else [], _note(trivial))
    return drawn


def _shown_labels(experiment: Experiment) -> tuple[list[str], list[str]]:
    """Finished labels; apart from them those that do as the trivial predictor, unless all of them do.

    Baselines that learn nothing from a problem would squeeze all others into a corner of the picture.
    """
    done = [row for row in summary.rows(experiment) if row.done > 0]
    trivial = [row.label for row in done if all(_is_trivial(row, metric) for metric in SHOWN)]
    kept = [row.label for row in done if row.label not in trivial]
    return (kept, trivial) if kept else (trivial, [])


def _is_trivial(row: Row, metric: str) -> bool:
    return abs(row.stats[metric].mean - (METRICS[metric].trivial or 0.0)) <= _TRIVIAL


def _refer(axes: Axes, metric: str, scores: list[float], vertical: bool = False) -> bool:
    """Mark the score of the trivial predictor, where that does not take more room than the scores."""
    value = METRICS[metric].trivial or 0.0
    low, high = min(scores, default=value), max(scores, default=value)
    reach = max(high - low, _TRIVIAL)
    if not low - reach <= value <= high + reach:
        return False
    style.reference(axes, value, vertical)
    return True


def _timed(experiment: Experiment, metric: str, labels: list[str]) -> Points:
    """Finite scores of the runs whose times were recorded."""
    points: Points = {}
    for run in experiment.runs:
        if run.entry.label not in labels:
            continue
        values = summary.values(run)
        seconds = style.finite([values.get("total_seconds", float("nan")), values.get(metric, float("nan"))])
        if len(seconds) == 2 and seconds[0] > 0:
            points.setdefault(run.entry.label, []).append((seconds[0], seconds[1]))
    return points


def _draw_timed(axes: Axes, points: Points, styles: Styles) -> None:
    for label, pairs in points.items():
        how = styles[label]
        seconds, scores = zip(*pairs, strict=True)
        axes.scatter(
            seconds, scores, s=11, marker=how.marker, color=how.colour, alpha=0.45, linewidths=0, zorder=2
        )
        mean = sum(seconds) / len(seconds), sum(scores) / len(scores)
        axes.scatter(
            *mean, s=75, marker=how.marker, color=how.colour, edgecolors="white", linewidths=0.9, zorder=3
        )


def _draw_box(axes: Axes, place: int, scores: list[float], how: Style) -> None:
    if len(scores) >= _BOX_SEEDS:
        parts = axes.boxplot(
            [scores],
            positions=[place],
            widths=0.55,
            orientation="horizontal",
            showfliers=False,
            patch_artist=True,
        )
        for box in parts["boxes"]:
            box.set(facecolor=how.colour, alpha=0.25, edgecolor=how.colour)
        for line in [*parts["whiskers"], *parts["caps"], *parts["medians"]]:
            line.set(color=how.colour, linewidth=1.3)
    axes.scatter(
        scores, _spread(place, len(scores)), s=16, marker=how.marker, color=how.colour, linewidths=0, zorder=3
    )


def _spread(place: float, count: int) -> list[float]:
    """Places side by side, in order of seed, so that equal scores do not hide each other."""
    return [place + _STRIP * ((i + 0.5) / count - 0.5) for i in range(count)]


def _axis_label(experiment: Experiment, metric: str) -> str:
    return f"{tables.heading(metric, experiment.has_mixtures)}, lower is better"


def _trivial_entry() -> Line2D:
    return Line2D([], [], color=style.GREY, linestyle=(0, (2, 2)), label=_TRIVIAL_WORDS)


def _note(trivial: list[str]) -> str:
    return f"not shown, as good as the {_TRIVIAL_WORDS}: {', '.join(trivial)}" if trivial else ""
