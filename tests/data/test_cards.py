"""Cards: the shipped ones are sound; a wrong one names its file and key."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hgpbench import shipped
from hgpbench.data import cards
from hgpbench.data.split import Split
from hgpbench.errors import DataError

PAPER = {  # rows, inputs, split of the default variant
    "3droad": (434_874, 2, Split(390_000, 44_874)),
    "electric": (2_049_280, 11, Split(2_000_000, 49_280)),
    "protein": (45_730, 9, Split(35_000, 10_730)),
    "sarcos": (48_933, 21, Split(40_000, 8_933)),
    "sinc2d": (None, 2, Split(10_000, 4_900)),
    "solar": (391, 1, Split("all", "train")),
    "toy": (None, 1, Split(500, 500)),
}


def shipped_card(name: str) -> cards.Card:
    path = shipped.find("datasets", name)
    assert path is not None
    return cards.load(path)


def test_the_paper_s_datasets_are_shipped() -> None:
    assert shipped.names("datasets") == sorted(PAPER)


@pytest.mark.parametrize("name", PAPER)
def test_shipped_cards_agree_with_the_paper(name: str) -> None:
    recipe = shipped_card(name).recipe(None)
    rows, inputs, split = PAPER[name]
    assert (recipe.rows, len(recipe.input_names or ()), recipe.default_split) == (rows, inputs, split)
    if rows is not None:
        assert recipe.default_split.resolve(rows)[0] > 0


@pytest.mark.parametrize("name", PAPER)
def test_every_variant_can_be_obtained_from_somewhere(name: str) -> None:
    for variant, recipe in shipped_card(name).variants.items():
        for file in recipe.files:
            mirror_only = "mirror only" in recipe.about.lower()
            assert bool(file.urls) != mirror_only, (variant, file.file)
            assert all(url.startswith(("https://", "http://")) for url in file.urls)
            assert not mirror_only or file.sha256 is not None


def test_sarcos_has_its_three_variants_and_its_warning() -> None:
    card = shipped_card("sarcos")
    assert list(card.variants) == ["merged", "original", "subset"]
    assert card.key("merged") is None
    assert card.key("subset") == "subset"
    assert card.recipe("original").default_split == Split("published", "published")
    assert "leak" in card.notes


def test_an_own_card_comes_before_a_shipped_one(folder: Path, make_card: Callable[..., Path]) -> None:
    path = make_card("protein", title="Mine")
    found = cards.find("protein")
    assert found is not None
    assert (found.title, found.path) == ("Mine", path)
    other = cards.find("solar")
    assert other is not None
    assert cards.find("nothing") is None
    assert cards.known_names() == sorted(PAPER)


def test_what_stands_beside_variants_holds_for_all(make_card: Callable[..., Path]) -> None:
    path = make_card(
        rows=4,
        variants={"full": {}, "half": {"rows": 2, "target": "b"}},
        default="half",
        format={"kind": "csv"},
    )
    card = cards.load(path)
    assert (card.recipe("full").rows, card.recipe("full").target) == (4, "y")
    assert (card.recipe(None).rows, card.recipe("half").target) == (2, "b")


def test_the_first_variant_is_the_default(make_card: Callable[..., Path]) -> None:
    assert cards.load(make_card(variants={"zeta": {}, "alpha": {}})).default == "zeta"


def test_an_unknown_variant_lists_the_known(make_card: Callable[..., Path]) -> None:
    card = cards.load(make_card(variants={"one": {}, "two": {}}))
    with pytest.raises(DataError, match=r"small:three: no such variant; known: small:one, small:two"):
        card.recipe("three")


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"title": None}, "title: Field required"),
    ({"licence": 3}, "licence: Input should be a valid string"),
    ({"tilte": "x"}, "tilte: unknown key; did you mean 'title'?"),
    ({"targt": "y"}, "targt: unknown key; did you mean 'target'?"),
    ({"files": []}, "files: at least one raw file"),
    ({"files": [{"file": "../up.csv"}]}, "files.0.file: "),
    ({"files": [{"file": "a.csv", "sha256": "abc"}]}, "files.0.sha256: "),
    ({"files": [{"file": "a.csv", "url": "http://x"}]}, "files.0.url: unknown key"),
    ({"format": {"kind": "xls"}}, "format: "),
    ({"format": {"kind": "csv", "delimiter": ", "}}, "format.delimiter: "),
    ({"format": {"kind": "csv", "header": False}}, "columns: must be listed"),
    ({"format": {"kind": "mat"}}, "columns: must be listed"),
    ({"columns": ["a", "b"]}, "'y' is not among the columns"),
    ({"columns": ["a", "y"], "inputs": ["c"]}, "'c' is not among the columns"),
    ({"inputs": ["a", "y"]}, "is the target and cannot be an input"),
    ({"inputs": ["a", "a"]}, "each once"),
    ({"inputs": []}, "at least one column"),
    ({"rows": 0}, "rows: "),
    ({"rows": "4"}, "rows: "),
    ({"split": {"train": 2.5, "test": 1}}, "split: split: train is 2.5"),
    ({"split": {"train": 2}}, "split: "),
    ({"split": {"train": 2, "test": 1, "gap": 3}}, "split: split {train: 2, test: 1, gap: 3}: gap: "),
    ({"missing": {"rule": "guess"}}, "missing.rule: "),
    ({"derived": {"day": {"column": "d", "separator": "/", "field": -1}}}, "derived.day.field: "),
    ({"default": "full"}, "default: names a variant, but the card has no variants"),
    ({"variants": {"a": {}}, "default": "b"}, "default: 'b' is not among the variants"),
    ({"variants": {"a.b": {}}}, "variants: 'a.b' may only have letters"),
    ({"variants": ["a"]}, "variants: must map each name"),
    ({"variants": {"a": {"rows": -1}}}, "variants.a.rows: "),
    ({"variants": {"a": {}}, "rows": -1}, ": rows: "),
    ({"path": "other"}, "path: unknown key"),
]


@pytest.mark.parametrize(("changes", "complaint"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_a_mistake_names_file_and_key(
    make_card: Callable[..., Path], changes: dict[str, Any], complaint: str
) -> None:
    path = make_card(**changes)
    with pytest.raises(DataError, match=re.escape(complaint)) as caught:
        cards.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("a: [1, 2", "not YAML"), ("- 1\n- 2\n", "a mapping"), ("", "a mapping"), ("1: 2", "a mapping")],
)
def test_a_file_that_is_no_card_is_told(folder: Path, text: str, complaint: str) -> None:
    path = folder / "odd.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=complaint) as caught:
        cards.load(path)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_and_names_that_are_no_names_are_told(folder: Path) -> None:
    (folder / "odd.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="unreadable"):
        cards.load(folder / "odd.yaml")
    (folder / "o.d.yaml").write_text("title: x")
    with pytest.raises(DataError, match=r"named NAME\.yaml"):
        cards.load(folder / "o.d.yaml")
    with pytest.raises(DataError, match="no such card"):
        cards.load(folder / "none.yaml")
