"""The plots of an experiment: each draws one figure, or gives None where there is nothing to draw."""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from hgpbench.report.collect import Experiment
from hgpbench.report.plots.distributions import calibration, noise, pit_histogram
from hgpbench.report.plots.one_input import one_input
from hgpbench.report.plots.scores import boxes, tradeoff
from hgpbench.report.plots.style import Styles
from hgpbench.report.plots.traces import traces
from hgpbench.report.plots.variational import variational


@dataclass(frozen=True)
class Plot:
    """A kind of plot: file name, title and drawing."""

    name: str
    title: str
    draw: Callable[[Experiment, Styles], Figure | None]


PLOTS = (
    Plot("tradeoff", "Scores against time: small points are runs, large ones their means", tradeoff),
    Plot("boxes", "Scores over seeds", boxes),
    Plot("one_input", "Predictions and learned noise, lowest finished seed", one_input),
    Plot("variational", "Variational parameters λ of training points, lowest finished seed", variational),
    Plot(
        "noise",
        "Noise variance over test points, all seeds; constant noise is a line, its range over seeds shaded",
        noise,
    ),
    Plot("calibration", "Calibration of central intervals, all seeds", calibration),
    Plot("pit", "Probability integral transform, all seeds", pit_histogram),
    Plot("traces", "Convergence, lowest finished seed", traces),
)

__all__ = ["PLOTS", "Plot"]
