"""The paper's figures: which picture of ours stands for each, and the command that draws it."""

from collections.abc import Sequence
from dataclasses import dataclass

from hgpbench.paper.published import counterpart, departures
from hgpbench.report.collect import Experiment
from hgpbench.report.tables import Cell, Table

HIERARCHY = "dvshgp-hierarchy.svg"  # drawn by hand, beside the pictures


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, and the pictures that show the same: experiment and kind of plot."""

    number: int
    shows: str
    pictures: tuple[tuple[str, str], ...]


FIGURES = (
    Figure(1, "hierarchy of DVSHGP", ()),
    Figure(
        2,
        "toy: (a) data, experts, inducing points by expert, y; (b) f and (c) g, with their intervals",
        (("toy", "experts"),),
    ),
    Figure(3, "variational parameters on toy", (("toy-lambda", "variational"),)),
    Figure(4, "convergence of SVSHGP on toy", (("toy-convergence", "traces"),)),
    Figure(5, "solar irradiance", (("solar", "one_input"),)),
    Figure(6, "sinc2d: scores against time", (("sinc2d", "tradeoff"),)),
    Figure(7, "sinc2d: noise variance and predicted variances", (("sinc2d", "maps"),)),
    Figure(8, "protein: scores against time", (("protein", "tradeoff"),)),
    Figure(9, "protein: log noise variances", (("protein", "noise"),)),
    Figure(10, "protein: algorithmic parameters", (("protein-sweeps", "sweeps"),)),
    Figure(11, "sarcos: scores against time", (("sarcos", "tradeoff"),)),
    Figure(12, "sarcos: log noise variances", (("sarcos", "noise"),)),
    Figure(13, "3droad: scores against time", (("3droad", "tradeoff"),)),
    Figure(14, "3droad: log noise variances", (("3droad", "noise"),)),
    Figure(
        15,
        "electric: (a) time against cores, (b) batch sizes",
        (("electric-cores", "sweeps"), ("electric-batch", "sweeps")),
    ),
)


def fullest(name: str, experiments: Sequence[Experiment]) -> Experiment | None:
    """Of the experiments that repeat this one of the paper, the one with runs that departs least from it."""
    found = [each for each in experiments if counterpart(each) == name and each.finished]
    return min(found, key=lambda each: len(departures(each)), default=None)


def wanted(experiments: Sequence[Experiment]) -> dict[str, tuple[str, ...]]:
    """The kinds of plot that the paper's figures ask of each experiment here."""
    kinds: dict[str, tuple[str, ...]] = {}
    for name, kind in (picture for figure in FIGURES for picture in figure.pictures):
        experiment = fullest(name, experiments)
        if experiment is not None:
            kinds[experiment.name] = (*kinds.get(experiment.name, ()), kind)
    return kinds


def heading(experiment: Experiment) -> str:
    """What a picture says of itself: its experiment and size, and how this departs from the paper's."""
    other = [each.words for each in departures(experiment)]
    rows = sorted({record.n_train for record in experiment.finished if record.n_train is not None})
    told = any("training rows" in words for words in other)
    size = [] if told else [f"{' and '.join(f'{count:,}' for count in rows)} training rows"]
    return f"{experiment.name}: {'; '.join([*size, *other])}" if rows else experiment.name


def table(experiments: Sequence[Experiment], drawn: Sequence[str], folder: str) -> Table:
    """Each figure of the paper, ours with a link, and its command; ``drawn`` names the pictures there are."""
    rows = [
        (str(figure.number), figure.shows, *_ours(figure, experiments, drawn, folder)) for figure in FIGURES
    ]
    cells = tuple(tuple(Cell(text, is_number=False) for text in row) for row in rows)
    headings = ("figure", "what the paper shows", "ours", "runs and picture by")
    return Table("The paper's figures", headings, cells, is_prose=True)


def _ours(
    figure: Figure, experiments: Sequence[Experiment], drawn: Sequence[str], folder: str
) -> tuple[str, str]:
    if not figure.pictures:
        return f"[ours]({folder}/{HIERARCHY})", "drawn by hand"
    links, commands = [], []
    for name, kind in figure.pictures:
        experiment = fullest(name, experiments)
        if experiment is None or f"{experiment.name}-{kind}" not in drawn:
            links.append(f"{name}: not run")
            continue
        links.append(f"[{heading(experiment)}]({folder}/{experiment.name}-{kind}.png)")
        commands.append(f"`hgpbench reproduce {name}`")
    return "; ".join(links), ", ".join(commands) or "–"
