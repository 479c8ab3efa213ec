"""Scores and time against the parameters that an experiment sweeps."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hgpbench.report import summary, tables
from hgpbench.report.collect import Experiment
from hgpbench.report.labels import parse
from hgpbench.report.plots import style
from hgpbench.report.styles import Styles
from hgpbench.report.summary import Row

SCORES = ("smse", "msll")
_TIMES = {"processor_seconds": "fit and predict [processor s]", "total_seconds": "fit and predict [s]"}
_WORKERS = "n_jobs"  # what it changes is the time by the wall clock alone
_DECADE = 10.0
_LETTERS = 28  # of an axis label in one panel

Point = tuple[dict[str, str], Row]  # swept parameters and the scores with them


@dataclass(frozen=True)
class Line:
    """One curve: how it is called, whose style it has, and its points as (value of the parameter, scores)."""

    name: str
    style: str
    points: tuple[tuple[str, Row], ...]


def sweeps(experiment: Experiment, styles: Styles) -> Figure | None:
    """A column per swept parameter, a row per quantity, a curve per label: means and standard deviations."""
    table = summary.rows(experiment)
    panels = panels_of(table)
    if not panels:
        return None
    shown = (*SCORES, "total_seconds" if any(_WORKERS in name for name in panels) else summary.clock(table))
    drawn = style.figure(0.6 + 1.7 * len(shown), width=max(5.0, min(1.0 + 2.3 * len(panels), 14.0)))
    grid = drawn.subplots(len(shown), len(panels), sharex="col", sharey="row", squeeze=False)
    for column, (parameter, lines) in zip(grid.T, panels.items(), strict=True):
        places = _places(value for line in lines for value, _ in line.points)
        for axes, quantity in zip(column, shown, strict=True):
            for line in lines:
                _draw(axes, line, quantity, places, styles)
        _label_inputs(column[-1], parameter, places)
    for row, quantity in zip(grid, shown, strict=True):
        means = [
            row.stats[quantity].mean for lines in panels.values() for line in lines for _, row in line.points
        ]
        style.widen(row[0].yaxis, means)
        row[0].set_ylabel(_title(experiment, quantity))
    entries = {line.name: styles[line.style] for lines in panels.values() for line in lines}
    style.legend_below(drawn, [style.legend_curve(name, how) for name, how in entries.items()])
    return drawn


def panels_of(rows: Sequence[Row]) -> dict[str, list[Line]]:
    """Finished labels of sweeps by what varies, in words; labels that sweep the same share a panel."""
    groups: dict[tuple[str, tuple[str, ...]], list[Point]] = {}
    for row in rows:
        swept = parse(row.label)
        if swept is not None and row.done > 0:
            groups.setdefault((swept.base, tuple(swept.params)), []).append((swept.params, row))
    panels: dict[str, list[Line]] = {}
    for (base, names), points in groups.items():
        varying = [name for name in names if len({params[name] for params, _ in points}) > 1] or [names[0]]
        first, *rest = varying
        if len({params[first] for params, _ in points}) == len(points):  # the rest goes with the first
            line = Line(base, base, tuple((params[first], row) for params, row in points))
            panels.setdefault(_relation(first, rest, [params for params, _ in points]), []).append(line)
        else:
            panels.setdefault(first, []).extend(_crossed(base, first, rest, points))
    return panels


def _crossed(base: str, first: str, rest: list[str], points: list[Point]) -> list[Line]:
    """Of combinations of several parameters, a curve along the first for each setting of the others."""
    lines: dict[str, list[tuple[str, Row]]] = {}
    for params, row in points:
        setting = ", ".join(f"{name}={params[name]}" for name in rest)
        lines.setdefault(f"{base}, {setting}", []).append((params[first], row))
    return [Line(name, along[0][1].label, tuple(along)) for name, along in lines.items()]


def _relation(first: str, rest: list[str], settings: list[dict[str, str]]) -> str:
    """The swept parameter, and how the others go with it."""
    shares: dict[float | None, list[str]] = {}
    for name in rest:
        ratios = {_ratio(params[name], params[first]) for params in settings}
        shares.setdefault(ratios.pop() if len(ratios) == 1 else None, []).append(name)
    words = " = ".join([first, *shares.pop(1.0, [])])
    for ratio, names in shares.items():
        words += (
            f"; {', '.join(names)} with it" if ratio is None else f"; {' = '.join(names)} = {ratio:g} of it"
        )
    return words


def _ratio(value: str, to: str) -> float | None:
    numbers = _numbers([value, to])
    return None if numbers is None or numbers[1] == 0 else numbers[0] / numbers[1]


def _numbers(values: Iterable[str]) -> list[float] | None:
    try:
        return [float(value) for value in values]
    except ValueError:
        return None


def _places(values: Iterable[str]) -> dict[str, float]:
    """Where each value stands on its axis: at itself, or in order of appearance where some are words."""
    words = list(dict.fromkeys(values))
    numbers = _numbers(words)
    return dict(zip(words, numbers or [float(place) for place in range(len(words))], strict=True))


def _draw(axes: Axes, line: Line, quantity: str, places: dict[str, float], styles: Styles) -> None:
    how = styles[line.style]
    points = sorted((places[value], row.stats[quantity]) for value, row in line.points)
    axes.errorbar(
        [place for place, _ in points],
        [stat.mean for _, stat in points],
        yerr=[stat.sd if stat.n > 1 else 0.0 for _, stat in points],
        color=how.colour,
        linestyle=how.line,
        marker=how.marker,
        markersize=4,
        linewidth=1.3,
        elinewidth=0.9,
        capsize=2,
    )


def _label_inputs(axes: Axes, parameter: str, places: dict[str, float]) -> None:
    values, are_numbers = list(places.values()), _numbers(places) is not None
    is_long = are_numbers and min(values) > 0 and max(values) > _DECADE * min(values)
    if is_long:
        style.logarithmic(axes.xaxis, values)
    elif are_numbers:
        style.plain_ticks(axes.xaxis, 5)
    else:
        axes.set_xlim(min(values) - 0.4, max(values) + 0.4)
    if not are_numbers or _have_room(places, is_long):
        axes.set_xticks(values, list(places))
        axes.set_xticks([], minor=True)
    axes.set_xlabel(style.wrapped(parameter, _LETTERS))


def _have_room(places: dict[str, float], is_long: bool) -> bool:
    """Whether the swept values themselves can stand below the axis."""
    ordered = sorted((math.log(place) if is_long else place, len(word)) for word, place in places.items())
    reach = (ordered[-1][0] - ordered[0][0]) or 1.0
    return all(
        (right - left) / reach * _LETTERS >= (letters + more) / 2 + 1
        for (left, letters), (right, more) in pairwise(ordered)
    )


def _title(experiment: Experiment, quantity: str) -> str:
    return _TIMES.get(quantity) or tables.heading(quantity, experiment.has_mixtures)
