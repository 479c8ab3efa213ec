"""How labels look: fixed for a model, told apart by everyone, also on a dark ground."""

from itertools import combinations

import numpy as np
import pytest

from hgpbench.models import MODELS
from hgpbench.peers import PEERS
from hgpbench.report.plots import style
from hgpbench.report.styles import FAMILIES, LINES, MARKERS, PLACES, Style, assign

GROUND = {"light": "#ffffff", "dark": "#16181b"}

# Machado, Oliveira and Fernandes (2009): what dichromats see, in linear RGB.
SEEN_BY = {
    "most": np.eye(3),
    "protanopes": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopes": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopes": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour: str) -> np.ndarray:
    """Linear RGB of a colour in hexadecimal digits."""
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    """Ottosson's colour space, in which distances are about as large as they seem; black to white is 100."""
    cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    axes = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return 100 * np.cbrt(np.clip(rgb, 0, 1) @ np.transpose(cones)) @ np.transpose(axes)


def shades(ground: str) -> list[tuple[str, str]]:
    return [(name, colour) for name, kin in FAMILIES.items() for colour in getattr(kin, ground)]


def apart(one: str, other: str, eyes: str) -> float:
    seen = [oklab(np.clip(linear(colour) @ np.transpose(SEEN_BY[eyes]), 0, 1)) for colour in (one, other)]
    return float(np.linalg.norm(seen[0] - seen[1]))


@pytest.mark.parametrize("eyes", SEEN_BY)
@pytest.mark.parametrize(("ground", "least"), [("light", 5.5), ("dark", 3.8)])
def test_families_are_told_apart_by_everyone(eyes: str, ground: str, least: float) -> None:
    for (family, one), (other_family, other) in combinations(shades(ground), 2):
        if family != other_family:
            assert apart(one, other, eyes) >= least, (one, other)
    first = [getattr(kin, ground)[0] for kin in FAMILIES.values()]
    assert min(apart(one, other, eyes) for one, other in combinations(first, 2)) >= 7.0


@pytest.mark.parametrize("ground", GROUND)
def test_every_shade_stands_out_from_the_ground(ground: str) -> None:
    behind = linear(GROUND[ground]) @ [0.2126, 0.7152, 0.0722] + 0.05
    for _, colour in shades(ground):
        ratio = (linear(colour) @ [0.2126, 0.7152, 0.0722] + 0.05) / behind
        assert max(ratio, 1 / ratio) >= 3.0, colour  # what WCAG asks of graphics


def test_a_pair_of_equal_colours_would_be_noticed() -> None:
    assert apart("#d02a05", "#d02a05", "most") == 0
    assert apart("#d02a05", "#8a7a00", "deuteranopes") < 2 < 10 < apart("#d02a05", "#8a7a00", "most")


def test_a_model_looks_the_same_whatever_stands_beside_it() -> None:
    alone = {name: assign([name])[name] for name in PLACES}
    assert assign([*reversed(PLACES), "mine", "vsgp-small", "vsgp:n_inducing=4"]).items() >= alone.items()
    assert len(set(alone.values())) == len(PLACES)
    assert assign(["a", "b", "a"]) == assign(["b", "a"])
    assert assign(["alpha", "beta", "delta"])["beta"] == style_of("beta")


def style_of(label: str) -> Style:
    return assign([label])[label]


def test_counterparts_differ_in_colour_alone() -> None:
    for constant, varying in (("gp", "vhgp"), ("vsgp", "vshgp"), ("svgp", "svshgp"), ("rbcm", "dvshgp")):
        one, other = style_of(constant), style_of(varying)
        assert (one.family, other.family) == ("constant", "varying")
        assert (one.marker, one.line) == (other.marker, other.line)
    paper, ours = style_of("dvshgp-paper"), style_of("dvshgp")
    assert paper.family == "paper"
    assert (paper.marker, paper.line) == (ours.marker, ours.line)


@pytest.mark.parametrize(
    ("label", "model", "family"),
    [
        ("vsgp", "vsgp", "constant"),
        ("small", "vsgp", "constant"),
        ("dvshgp-175", "dvshgp", "varying"),
        ("dvshgp-175", None, "varying"),
        ("dvshgp:n_experts=4", "dvshgp", "varying"),
        ("dvshgp-paper-u5", "dvshgp", "paper"),
        ("ehsod-guess", "ehsod", "paper"),
        ("gp", "mymodel:MyGP", "own"),
        ("gp-paper", "mymodel:MyGP", "own"),
        ("mine", "mymodel:MyGP", "own"),
        ("sklearn", "sklearn.gaussian_process:GaussianProcessRegressor", "peers"),
        ("boosting", "lightgbm", "peers"),
        ("nnhgp", None, "varying"),
        ("vsgpx", None, "own"),
    ],
)
def test_a_label_is_of_its_models_family(label: str, model: str | None, family: str) -> None:
    assert assign([label], {label: model} if model else None)[label].family == family


def test_a_name_borrowed_from_another_model_does_not_borrow_its_look() -> None:
    assert assign(["vsgp"], {"vsgp": "mymodel:MyGP"})["vsgp"] != style_of("vsgp")
    both = assign(["gp", "vsgp"], {"gp": "vsgp", "vsgp": "vsgp"})
    assert both["gp"].family == "constant"
    assert both["gp"] != style_of("gp")


def test_many_labels_of_one_family_all_differ() -> None:
    models = {f"m{i}": "mymodel:MyGP" for i in range(12)}
    assert len({each.marker for each in assign(models, models).values()}) == 12
    variants = {f"vsgp:n_inducing={i}": "vsgp" for i in range(25)}
    styles = assign(variants, variants)
    assert len(set(styles.values())) == 26
    assert {each.family for each in styles.values()} == {"constant"}
    assert styles["vsgp"] == style_of("vsgp")


def test_every_model_has_a_place_of_its_own() -> None:
    missing = (MODELS | PEERS).keys() - PLACES.keys()
    assert not missing, f"give {', '.join(sorted(missing))} a place in PLACES (hgpbench/report/styles.py)"
    assert len(set(PLACES.values())) == len(PLACES)
    assert {PLACES[name][0] for name in PEERS} == {"peers"}


def test_a_look_in_plain_values() -> None:
    assert style_of("gp").table() == {
        "family": "constant",
        "colour": "#2f3fe0",
        "dark": "#7fb4ff",
        "marker": "circle",
        "dashes": [],
    }
    assert style_of("vsgp").table()["dashes"] == [5, 2]
    assert len(set(MARKERS.values())) == len(MARKERS)
    assert len(set(LINES)) == len(LINES)
    with style.context():
        assert style.figure(1).subplots().plot([0], marker=style_of("dvshgp").marker)
