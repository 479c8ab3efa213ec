"""Draw the plots of every experiment, and keep them as files."""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from hgpbench import files
from hgpbench.metrics import METRICS
from hgpbench.report.across import Ranking
from hgpbench.report.collect import Experiment
from hgpbench.report.plots import PLOTS
from hgpbench.report.plots.ranks import ranks
from hgpbench.report.plots.style import ABOVE, context, wrapped
from hgpbench.report.render import Pictures
from hgpbench.report.styles import Styles, assign
from hgpbench.report.supplement import Closing

FOLDER = "plots"
DPI = 160
_HEADING = 10  # points
_LETTERS_PER_INCH, _LINE = 13.0, 0.22  # of a heading, and the height of its lines in inches


@dataclass(frozen=True)
class Picture:
    """One drawn plot, as bytes of both kinds."""

    name: str
    title: str
    inches: float  # width
    png: bytes
    svg: bytes


Drawn = dict[str, list[Picture]]  # by experiment, or by the name of a closing


def draw(
    experiments: Sequence[Experiment],
    closings: Sequence[Closing] = (),
    kinds: Mapping[str, Sequence[str]] | None = None,
    headings: Mapping[str, str] = MappingProxyType({}),
) -> Drawn:
    """Every plot that has something to show; a label looks the same in all of them.

    With ``kinds``, only these plots of each experiment; a heading stands above all of its pictures.
    """
    styles = styles_of(experiments)
    drawn: Drawn = {}
    with context():
        for experiment in experiments:
            pictures = drawn.setdefault(experiment.name, [])
            asked = [plot for plot in PLOTS if kinds is None or plot.name in kinds.get(experiment.name, ())]
            for plot in asked:
                figure = plot.draw(experiment, styles)
                if figure is not None:
                    _head(figure, headings.get(experiment.name, ""))
                    pictures.append(_picture(plot.name, plot.title, figure))
        for closing in closings:
            tested = [each for each in closing.rankings if not math.isnan(each.critical)]
            drawn[closing.name] = [
                _picture(f"ranks-{each.metric}", _ranks_title(each), ranks(each, styles)) for each in tested
            ]
    return drawn


def _head(figure: Figure, words: str) -> None:
    """Words above a picture, which comes to stand without its caption; over a legend that is there, too."""
    if not words:
        return
    text = wrapped(words, int(figure.get_figwidth() * _LETTERS_PER_INCH))
    figure.set_figheight(figure.get_figheight() + _LINE * (1 + text.count("\n")))
    above = next((legend for legend in figure.legends if legend.get_label() == ABOVE), None)
    if above is None:
        figure.suptitle(text, fontsize=_HEADING)
    else:
        above.set_title(text, prop=FontProperties(size=_HEADING))


def styles_of(experiments: Sequence[Experiment]) -> Styles:
    """The style of every label of a report."""
    models = {run.entry.label: run.entry.model for experiment in experiments for run in experiment.runs}
    return assign((label for experiment in experiments for label in experiment.labels), models)


def save(drawn: Drawn, folder: Path) -> tuple[Pictures, list[Path]]:
    """Write PNG and SVG files; gives titles and addresses relative to ``folder``, and the paths."""
    shown: dict[str, list[tuple[str, str]]] = {}
    written = []
    for experiment, pictures in drawn.items():
        for picture in pictures:
            stem = f"{experiment}-{picture.name}"
            for kind, content in (("png", picture.png), ("svg", picture.svg)):
                path = folder / FOLDER / f"{stem}.{kind}"
                with files.replacing(path) as part:
                    part.write_bytes(content)
                written.append(path)
            shown.setdefault(experiment, []).append((picture.title, f"{FOLDER}/{stem}.png"))
    return shown, written


def _ranks_title(ranking: Ranking) -> str:
    return (
        f"Mean ranks by {METRICS[ranking.metric].title} over {len(ranking.datasets)} data sets; a bar joins "
        "models that they do not tell apart"
    )


def _picture(name: str, title: str, figure: Figure) -> Picture:
    png = _bytes(figure, "png")
    figure.set_layout_engine("none")  # laid out once is enough for both
    return Picture(name, title, figure.get_figwidth(), png, _bytes(figure, "svg"))


def _bytes(figure: Figure, kind: str) -> bytes:
    out = io.BytesIO()
    # No date, so that an unchanged plot is an unchanged file.
    figure.savefig(
        out, format=kind, dpi=DPI, facecolor="white", metadata={"Date": None} if kind == "svg" else None
    )
    return out.getvalue()
