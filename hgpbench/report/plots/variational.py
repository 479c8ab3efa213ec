"""The variational parameters of problems with one input: the diagonal of Lambda over the training inputs."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from hgpbench.bench.record import Arrays
from hgpbench.report.collect import Experiment
from hgpbench.report.plots import stored, style
from hgpbench.report.styles import Styles

ByLabel = dict[str, Arrays]
_ROOMY = 6  # rows of a figure that is not taller than a screen, with room for several ticks each
_PRIOR = 0.5  # where q(g_u) has the mean of the prior, and where the paper starts


def variational(experiment: Experiment, styles: Styles) -> Figure | None:
    """Per label, its lowest finished seed: lambda over the input, and beside it against the reference's.

    The reference is a model without experts, one on all points (VHGP) rather than a sparse one.
    """
    by_label = {
        label: arrays
        for label, arrays in stored.first_runs(experiment, 1).items()
        if "variational" in arrays.extras
    }
    if not by_label:
        return None
    reference = _reference(by_label)
    pairs = [label for label in by_label if reference is not None and _comparable(by_label, label, reference)]
    drawn = style.figure(min(0.5 + 1.7 * len(by_label), style.TALLEST))
    columns = 2 if pairs else 1
    panels = drawn.subplots(
        len(by_label),
        columns,
        squeeze=False,
        sharex="col",
        sharey=True,
        width_ratios=(2.4, 1.0)[:columns],
    )
    for (over, *beside), (label, arrays) in zip(panels, by_label.items(), strict=True):
        _draw(over, label, arrays)
        for axes in beside:
            if label in pairs and reference is not None:
                _draw_agreement(axes, label, reference, by_label, styles)
            else:
                axes.set_visible(False)
    panels[-1, 0].set_xlabel(stored.input_names(next(iter(by_label.values())))[0])
    if pairs and reference is not None:
        lowest = panels[max(list(by_label).index(label) for label in pairs), 1]
        lowest.tick_params(labelbottom=True)
        lowest.set_xlabel(style.wrapped(f"λ of {reference}", 30))
    values = np.concatenate([arrays.extras["variational"] for arrays in by_label.values()])
    style.logarithmic(panels[0, 0].yaxis, [float(values.min()), float(values.max())])
    if len(by_label) > _ROOMY:
        panels[0, 0].yaxis.set_major_locator(FixedLocator([_PRIOR]))
    style.legend_below(drawn, _entries(list(by_label.values()), bool(pairs)))
    return drawn


def _reference(by_label: ByLabel) -> str | None:
    whole = [label for label, arrays in by_label.items() if stored.ranked_experts(arrays) is None]
    return min(whole, key=lambda label: "inducing_g" in by_label[label].extras, default=None)


def _comparable(by_label: ByLabel, label: str, reference: str) -> bool:
    """Whether both learned from the same training rows; seeds may differ where runs failed."""
    mine, other = by_label[label].extras["X_train"], by_label[reference].extras["X_train"]
    return label != reference and np.array_equal(mine, other)


def _draw(axes: Axes, label: str, arrays: Arrays) -> None:
    extras = arrays.extras
    style.points(axes, extras["X_train"][:, 0], extras["variational"], stored.ranked_experts(arrays))
    style.reference(axes, _PRIOR)
    axes.set_title(style.wrapped(label, 60), fontsize=9)
    axes.set_ylabel("λ")
    style.plain_ticks(axes.xaxis, 7)


def _draw_agreement(axes: Axes, label: str, reference: str, by_label: ByLabel, styles: Styles) -> None:
    """Each training row once; on the diagonal where the two models agree."""
    mine, other = (by_label[name].extras["variational"] for name in (label, reference))
    ends = [float(min(mine.min(), other.min())), float(max(mine.max(), other.max()))]
    axes.plot(ends, ends, color=style.GREY, linewidth=1.0, zorder=1)
    axes.scatter(other, mine, s=5, color=styles[label].colour, alpha=0.6, linewidths=0, zorder=2)
    style.logarithmic(axes.xaxis, ends)
    # Ranks, since lambda spans orders of magnitude.
    order, other_order = (np.argsort(np.argsort(values)) for values in (mine, other))
    axes.set_title(f"rank correlation {np.corrcoef(order, other_order)[0, 1]:.2f}", fontsize=9)


def _entries(shown: list[Arrays], compared: bool) -> list[Line2D]:
    by_expert = any(stored.ranked_experts(arrays) is not None for arrays in shown)
    dots = "training points, by expert" if by_expert else "training points"
    entries = [
        style.legend_dots(dots),
        Line2D([], [], color=style.GREY, linestyle=(0, (2, 2)), label="λ = 0.5: the mean of the prior"),
    ]
    if compared:
        entries.append(Line2D([], [], color=style.GREY, label="equal"))
    return entries
