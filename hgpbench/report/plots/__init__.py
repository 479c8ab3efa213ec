"""The plots of an experiment: each draws one figure, or gives None where there is nothing to draw."""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from hgpbench.report.collect import Experiment
from hgpbench.report.labels import readable
from hgpbench.report.plots.distributions import calibration, pit_histogram
from hgpbench.report.plots.experts import experts
from hgpbench.report.plots.maps import maps
from hgpbench.report.plots.noise import noise
from hgpbench.report.plots.one_input import one_input
from hgpbench.report.plots.scores import boxes, tradeoff
from hgpbench.report.plots.sweeps import sweeps
from hgpbench.report.plots.traces import traces
from hgpbench.report.plots.variational import variational
from hgpbench.report.styles import Styles

Draw = Callable[[Experiment, Styles], Figure | None]


@dataclass(frozen=True)
class Plot:
    """A kind of plot: file name, title and drawing."""

    name: str
    title: str
    draw: Draw


def _by_label(draw: Draw) -> Draw:
    """A plot of labels one by one, which leaves out the variants of large sweeps."""
    return lambda experiment, styles: draw(readable(experiment), styles)


PLOTS = (
    Plot(
        "tradeoff",
        "Scores against processor time: means over seeds, with a standard deviation each way",
        _by_label(tradeoff),
    ),
    Plot("sweeps", "Effect of the swept parameters: means and standard deviations over seeds", sweeps),
    Plot("boxes", "Scores over seeds", _by_label(boxes)),
    Plot("one_input", "Predictions and learned noise, lowest finished seed", _by_label(one_input)),
    Plot("experts", "A committee: its experts, y, f and g, lowest finished seed", experts),
    Plot(
        "maps",
        "Noise variance and predictive variances over the inputs, lowest finished seed",
        _by_label(maps),
    ),
    Plot(
        "variational",
        "Variational parameters λ of training points, lowest finished seed",
        _by_label(variational),
    ),
    Plot(
        "noise",
        "Noise variance over test points, all seeds: densities of equal area; constant noise is a line",
        _by_label(noise),
    ),
    Plot("calibration", "Calibration of central intervals, all seeds", _by_label(calibration)),
    Plot("pit", "Probability integral transform, all seeds", _by_label(pit_histogram)),
    Plot("traces", "Convergence, lowest finished seed: each bound beside its own kind", _by_label(traces)),
)

TITLES = {plot.name: plot.title for plot in PLOTS}

__all__ = ["PLOTS", "TITLES", "Plot"]
