"""Scores of all runs: against time, and as boxes over seeds."""

import math
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import offset_copy

from hgpbench.metrics import METRICS
from hgpbench.report import summary, tables
from hgpbench.report.collect import Experiment
from hgpbench.report.plots import style
from hgpbench.report.styles import Style, Styles
from hgpbench.report.summary import Row, Stat

SHOWN = ("smse", "msll")
_STRIP = 0.4  # height over which the points of a label are spread
_BOX_SEEDS = 4  # fewer points are their own summary
_TRIVIAL_WORDS = "mean and variance of the training targets"
_TRIVIAL = 0.05  # of SMSE and of MSLL: what is nearer to the trivial predictor learned nothing
_BESIDE = 13.0  # points from one mark to the next in a corner of the frame
_MARGIN = 0.07  # of a frame beyond the outermost mean
_TIMES = {
    "processor_seconds": "processor time of fit and prediction [s]",
    "total_seconds": "time of fit and prediction by the wall clock [s]",
}


@dataclass(frozen=True)
class Place:
    """Where a label stands: the mean time over its seeds, and the score with its deviation."""

    seconds: float
    score: Stat

    @property
    def ends(self) -> tuple[float, float]:
        """One standard deviation below and above the mean score."""
        sd = self.score.sd if math.isfinite(self.score.sd) else 0.0
        return self.score.mean - sd, self.score.mean + sd


@dataclass(frozen=True)
class Frame:
    """What a panel shows: ends of the times (as logarithms) and of the scores, and how these are spaced."""

    times: tuple[float, float]
    scores: tuple[float, float]
    is_log: bool = False  # scores over orders of magnitude

    @classmethod
    def around(cls, places: list[Place]) -> "Frame":
        """Room for every mean, and for a standard deviation each way as far as most of them reach.

        One that outweighs the means and most of the others is cut off at the frame.
        """
        means = [place.score.mean for place in places]
        is_log = 0 < style.WIDE_RATIO * min(means) < max(means)
        low, high = (math.log(end) if is_log else end for end in (min(means), max(means)))
        told = [[_spaced(end, is_log) for end in place.ends] for place in places]
        usual = median(top - bottom for bottom, top in told)
        least = usual if math.isfinite(usual) else 0.0
        reach = max(high - low, least, 0.02 * max(abs(low), abs(high)), 1e-9)
        ends = [min(max(end, low - reach / 2), high + reach / 2) for pair in told for end in pair]
        bottom, top = _with_margin(ends, 0.05 * reach)
        times = _with_margin([math.log(place.seconds) for place in places], 0.4)
        return cls(times, (math.exp(bottom), math.exp(top)) if is_log else (bottom, top), is_log)

    def nearest(self, place: Place) -> tuple[float, float]:
        """Where a mark of the place can stand: in the frame itself, else at its edge."""
        time = min(max(math.log(place.seconds), self.times[0]), self.times[1])
        return math.exp(time), min(max(place.score.mean, self.scores[0]), self.scores[1])

    def holds(self, place: Place) -> bool:
        inside = self.times[0] <= math.log(place.seconds) <= self.times[1]
        return inside and self.scores[0] <= place.score.mean <= self.scores[1]


def _spaced(value: float, is_log: bool) -> float:
    """Where a value stands on its axis; on a logarithmic one, what is not positive is infinitely low."""
    if not is_log:
        return value
    return math.log(value) if value > 0 else -math.inf


def tradeoff(experiment: Experiment, styles: Styles) -> Figure | None:
    """SMSE and MSLL against processor time: a marker for the mean over seeds, a bar for the deviation.

    Baselines and what learned nothing do not stretch the frame: outside of it they stand at its edge, and in
    figures below.
    """
    table = [row for row in summary.rows(experiment) if row.done > 0]
    clock = summary.clock(table)
    placed = {metric: _placed(table, metric, clock) for metric in SHOWN}
    labels = [row.label for row in table if any(row.label in placed[metric] for metric in SHOWN)]
    if not labels:
        return None
    framing = _framing(table, labels, styles)
    drawn = style.figure(4.2, width=style.WIDTH + 1)
    outside: dict[str, list[str]] = {}
    referred = False
    for axes, metric in zip(drawn.subplots(1, len(SHOWN)), SHOWN, strict=True):
        frame = Frame.around([place for label, place in placed[metric].items() if label in framing])
        corners: Counter[tuple[float, float]] = Counter()
        for label, place in placed[metric].items():
            spot = frame.nearest(place)
            _draw_place(axes, place, frame, styles[label], corners[spot] * _BESIDE)
            if not frame.holds(place):
                corners[spot] += 1
                outside.setdefault(label, []).append(
                    f"{metric.upper()} {round(place.score.mean, 2) + 0.0:.2f}"
                )
        referred |= _draw_frame(axes, frame, metric, _TIMES[clock])
        axes.set_ylabel(_axis_label(experiment, metric))
    entries = {label: style.legend_marker(label, styles[label]) for label in labels}
    style.legend_by_family(drawn, entries, styles, _note_outside(outside, placed))
    if referred:
        style.legend_above(drawn, [_trivial_entry()])
    return drawn


def _framing(table: list[Row], labels: list[str], styles: Styles) -> set[str]:
    """The labels that a frame has to hold; all, where nothing else would be left."""
    competing = {
        row.label
        for row in table
        if row.label in labels
        and styles[row.label].family != "baseline"
        and not all(_is_trivial(row, metric) for metric in SHOWN)
    }
    return competing or set(labels)


def _placed(table: list[Row], metric: str, clock: str) -> dict[str, Place]:
    """Labels with a finite mean score and a time."""
    places = {}
    for row in table:
        seconds, score = row.stats[clock].mean, row.stats[metric]
        if math.isfinite(seconds) and seconds > 0 and math.isfinite(score.mean):
            places[row.label] = Place(seconds, score)
    return places


def _draw_place(axes: Axes, place: Place, frame: Frame, how: Style, aside: float) -> None:
    """The mark of a label, so many points aside where others stand in the same corner."""
    x, y = frame.nearest(place)
    look: dict[str, Any]
    if frame.holds(place):
        axes.plot([x, x], place.ends, color=how.colour, linewidth=1.2, alpha=0.7, zorder=2)
        look = {"color": how.colour, "markeredgecolor": "white", "markeredgewidth": 0.8}
    else:
        look = {"color": "white", "markeredgecolor": how.colour, "markeredgewidth": 1.4, "clip_on": False}
    if aside:
        look["transform"] = offset_copy(axes.transData, axes.get_figure(root=True), x=aside, units="points")
    size = style.sized(how.marker, 8.5)
    axes.plot(x, y, marker=how.marker, markersize=size, linestyle="none", zorder=4, **look)


def _draw_frame(axes: Axes, frame: Frame, metric: str, words: str) -> bool:
    """Axes and ticks; whether the score of the trivial predictor lies between them, and is marked."""
    low, high = frame.scores
    if frame.is_log:
        style.logarithmic(axes.yaxis, [low, high])
    elif low <= 0:
        style.widen(axes.yaxis, [low, high])
    axes.set_ylim(low, high)
    style.logarithmic(axes.xaxis, [math.exp(end) for end in frame.times])
    axes.set_xlim(*(math.exp(end) for end in frame.times))
    axes.set_xlabel(words)
    trivial = METRICS[metric].trivial or 0.0
    if low <= trivial <= high:
        style.reference(axes, trivial)
        return True
    return False


def _with_margin(values: list[float], least: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = max(_MARGIN * (high - low), least)
    return low - margin, high + margin


def _note_outside(outside: dict[str, list[str]], placed: dict[str, dict[str, Place]]) -> str:
    """Figures of what stands at the edge."""
    if not outside:
        return ""
    seconds = {label: place.seconds for places in placed.values() for label, place in places.items()}
    told = [f"{label} {', '.join(words)} ({seconds[label]:.2g} s)" for label, words in outside.items()]
    return f"hollow, at the edge of the frame: {'; '.join(told)}"


def boxes(experiment: Experiment, styles: Styles) -> Figure | None:
    """SMSE and MSLL of every seed, with a box per label where there are enough of them."""
    labels, trivial = _shown_labels(experiment)
    if not labels:
        return None
    drawn = style.figure(min(0.9 + 0.4 * len(labels), style.TALLEST))
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
