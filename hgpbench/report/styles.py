"""How labels look, in every picture and on every page: colours tell families, markers and dashes tell models.

A model of hgpbench has a fixed place in its family, and so looks the same in every report. One place in two
families has the same marker and dashes: a model, its counterpart with varying noise, and the same with the
paper's settings differ in colour alone.
"""

import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hgpbench.report.labels import base_of

Family = Literal["baseline", "constant", "varying", "paper", "peers", "own"]
LineStyle = Literal["-"] | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class Kin:
    """What a family is called, and the shades of its places on a light and on a dark ground."""

    words: str
    light: tuple[str, ...]
    dark: tuple[str, ...]


# Chosen so that shades of two families stay apart for the colour-blind too; a test computes what they see.
FAMILIES: dict[Family, Kin] = {
    "baseline": Kin("no Gaussian process", ("#666666", "#8f8f8f"), ("#b5b5b5", "#8a8a8a")),
    "constant": Kin(
        "constant noise",
        ("#2f3fe0", "#00197a", "#5c80f7", "#2f3fe0", "#19374d", "#5c80f7"),
        ("#7fb4ff", "#6f78ff", "#bfe0f5", "#7fb4ff", "#1f96ad", "#bfe0f5"),
    ),
    "varying": Kin(
        "varying noise",
        ("#d02a05", "#670000", "#eb7300", "#d02a05", "#d41183", "#eb7300"),
        ("#f67b08", "#e0451c", "#fcbd23", "#f67b08", "#ff4da3", "#fcbd23"),
    ),
    "paper": Kin("paper's settings", ("#9b4fae", "#5a2f7d", "#c577d4"), ("#c571ce", "#9f55b5", "#e6c0ff")),
    "peers": Kin("other libraries", ("#0f781f", "#104a50", "#19ab4e"), ("#31b560", "#557562", "#3ae885")),
    "own": Kin("your own", ("#000000",), ("#ffffff",)),
}
MARKERS = {
    "o": "circle", "s": "square", "^": "triangle up", "D": "diamond", "*": "star", "v": "triangle down",
    "P": "plus", "X": "cross", "<": "triangle left", ">": "triangle right", "p": "pentagon",
    "d": "thin diamond",
}  # fmt: skip
"""matplotlib's codes, and in words."""
LINES: tuple[LineStyle, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.2)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (10, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)

# Family and place. Counterparts share a place: vsgp and vshgp, svgp and svshgp, rbcm and dvshgp.
PLACES: dict[str, tuple[Family, int]] = {
    "mean": ("baseline", 0),
    "linear": ("baseline", 1),
    "hetlinear": ("baseline", 2),
    "gp": ("constant", 0),
    "vsgp": ("constant", 1),
    "svgp": ("constant", 2),
    "rbcm": ("constant", 3),
    "nngp": ("constant", 4),
    "fitc": ("constant", 5),
    "dpic": ("constant", 6),
    "vhgp": ("varying", 0),
    "vshgp": ("varying", 1),
    "svshgp": ("varying", 2),
    "dvshgp": ("varying", 3),
    "nnhgp": ("varying", 4),
    "ehsod": ("varying", 5),
    "gpvc": ("varying", 6),
    "lightgbm": ("peers", 0),
    "ngboost": ("peers", 1),
    "catboost": ("peers", 2),
    "forest": ("peers", 3),
    "sklearn-gpr": ("peers", 4),
    "gpboost": ("peers", 5),
    "gpytorch": ("peers", 6),
    "gpytorch-het": ("peers", 7),
}
_LIBRARIES = (
    "sklearn",
    "lightgbm",
    "xgboost",
    "ngboost",
    "catboost",
    "quantile_forest",
    "gpboost",
    "gpytorch",
)
_PAPER = ("paper", "guess")  # what a label says of settings that are the paper's, or may be


@dataclass(frozen=True)
class Style:
    """How one label is drawn; ``dark`` is its colour on a dark ground."""

    colour: str
    marker: str
    line: LineStyle
    family: Family = "own"
    dark: str = "#ffffff"

    @classmethod
    def at(cls, family: Family, place: int) -> "Style":
        """The look of a place; those below 36 differ in colour, marker or dashes, the first 12 in marker."""
        kin, turn = FAMILIES[family], place + place // len(LINES)
        shade = place % len(kin.light)
        line = LINES[turn % len(LINES)]
        return cls(kin.light[shade], list(MARKERS)[place % len(MARKERS)], line, family, kin.dark[shade])

    def table(self) -> dict[str, Any]:
        """The same in plain values; dashes are strokes and gaps in line widths, none of a full line."""
        return {
            "family": self.family,
            "colour": self.colour,
            "dark": self.dark,
            "marker": MARKERS[self.marker],
            "dashes": [] if self.line == "-" else list(self.line[1]),
        }


Styles = dict[str, Style]


def assign(labels: Iterable[str], models: Mapping[str, str] | None = None) -> Styles:
    """A style per label, and one for each label that a sweep expanded; ``models`` has the model of a label.

    A label that is no model's name stands where a number made from it says, or at the next free place: it
    keeps its look in reports with other labels, as long as no two ask for one place.
    """
    known, named = models or {}, list(labels)
    every = sorted({*map(base_of, named), *named})
    placed = {label: found for label in every if (found := _fixed(label, known.get(label))) is not None}
    taken = {*PLACES.values(), *placed.values()}
    for label in every:
        if label not in placed:
            family = _family(label, known.get(label) or known.get(_first(label, named, known), ""))
            placed[label] = next(each for each in _asked_for(label, family) if each not in taken)
            taken.add(placed[label])
    return {label: Style.at(*placed[label]) for label in dict.fromkeys([*map(base_of, named), *named])}


def _asked_for(label: str, family: Family) -> Iterator[tuple[Family, int]]:
    """The places of a family from where a label's own number says, those with markers of their own first."""
    start, count = zlib.crc32(label.encode()), len(MARKERS)
    return ((family, turn - turn % count + (start + turn) % count) for turn in itertools.count())


def _first(base: str, labels: list[str], models: Mapping[str, str]) -> str:
    """The first variant of a label that a sweep expanded: its model is the label's."""
    return next((each for each in labels if each in models and base_of(each) == base), "")


def _fixed(label: str, model: str | None) -> tuple[Family, int] | None:
    """The place of a label that is a model's name, or that name with the paper's settings."""
    if label in PLACES and model in (None, label):
        return PLACES[label]
    name, _, setting = label.rpartition("-")
    if name in PLACES and setting in _PAPER and _kin_of(name, model) == name:
        return "paper", PLACES[name][1]
    return None


def _family(label: str, model: str) -> Family:
    """The family of any other label: by its settings, by its model, or by the library that it comes from."""
    known = _kin_of(label, model)
    if known is not None:
        return "paper" if any(part in _PAPER for part in label.split("-")[1:]) else PLACES[known][0]
    return "peers" if model.startswith(_LIBRARIES) or label.startswith(_LIBRARIES) else "own"


def _kin_of(label: str, model: str | None) -> str | None:
    """The model that a label stands for: as told, else by what the label begins with."""
    if model in PLACES:
        return model
    if model and ":" in model:
        return None
    begun = [name for name in PLACES if base_of(label) == name or label.startswith((f"{name}-", f"{name}:"))]
    return max(begun, key=len, default=None)
