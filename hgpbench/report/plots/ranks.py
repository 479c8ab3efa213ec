"""Mean ranks over many data sets on one line, with bars over models that they do not tell apart."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hgpbench.metrics import METRICS
from hgpbench.report.across import Ranking
from hgpbench.report.plots.style import GREY, figure
from hgpbench.report.styles import Styles

_ROW = 0.26  # inches of a name or a bar


def ranks(ranking: Ranking, styles: Styles) -> Figure:
    """Demšar's picture: the better half of the names on the left, the others on the right of their ranks."""
    k, bars = len(ranking.labels), ranking.groups
    left = (k + 1) // 2
    rows = 3.2 + 0.7 * len(bars) + left
    drawn = figure(_ROW * (rows + 0.9))
    axes = drawn.add_subplot()
    axes.set_axis_off()
    margin = 0.22 * (k - 1) + 0.4
    axes.set(xlim=(1 - margin, k + margin), ylim=(rows, -0.9))
    _axis(axes, k, METRICS[ranking.metric].title)
    _ruler(axes, ranking.critical)
    top = 2.6
    for place, (start, end) in enumerate(bars):
        y = top + 0.7 * place
        reach = ranking.ranks[start] - 0.03, ranking.ranks[end] + 0.03
        axes.plot(reach, (y, y), color="#222222", linewidth=3.2, solid_capstyle="butt")
    first = top + 0.7 * len(bars) + 0.2
    for place, (label, rank) in enumerate(zip(ranking.labels, ranking.ranks, strict=True)):
        better = place < left
        y = first + (place if better else k - 1 - place)
        side = 1 - 0.1 * margin if better else k + 0.1 * margin
        style = styles[label]
        axes.plot((rank, rank, side), (2.0, y, y), color=style.colour, linewidth=1.1)
        axes.plot([rank], [2.0], style.marker, color=style.colour, markersize=6, zorder=3)
        text = f"{label}  {rank:.2f}" if better else f"{rank:.2f}  {label}"
        gap = -0.02 * margin if better else 0.02 * margin
        axes.text(side + gap, y, text, ha="right" if better else "left", va="center", color=style.colour)
    return drawn


def _axis(axes: Axes, k: int, title: str) -> None:
    axes.plot((1, k), (2.0, 2.0), color=GREY, linewidth=1.0, zorder=1)
    for rank in range(1, k + 1):
        axes.plot((rank, rank), (1.8, 2.0), color=GREY, linewidth=1.0, zorder=1)
        axes.text(rank, 1.65, str(rank), ha="center", va="bottom", color=GREY)
    axes.text((1 + k) / 2, -0.8, f"Mean rank by {title}: 1 is the best", ha="center", va="top")


def _ruler(axes: Axes, length: float) -> None:
    """How far two ranks have to be apart, drawn over the axis."""
    axes.plot((1, 1 + length), (0.55, 0.55), color="#222222", linewidth=1.4)
    for end in (1, 1 + length):
        axes.plot((end, end), (0.4, 0.7), color="#222222", linewidth=1.4)
    axes.text(1 - 0.05, 0.55, f"critical difference {length:.2f}", ha="right", va="center")
