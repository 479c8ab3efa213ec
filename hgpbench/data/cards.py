"""Dataset cards: what ``datasets/NAME.yaml`` may say, read strictly.

A card has the words about a dataset (title, licence, citation, notes) and the recipe that turns raw files
into inputs and target. Variants are recipes of their own; what stands beside ``variants`` holds for each.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from hgpbench import shipped, yamltext
from hgpbench.data.names import data_folder, full_name, is_name
from hgpbench.data.split import Share, Split
from hgpbench.data.synthetic import GENERATORS, Generator
from hgpbench.errors import DataError
from hgpbench.words import nearest

ONLY = "default"  # the variant of a card that has no variants
FALLBACK_SPLIT = Split(0.8, "rest")
Character = Annotated[str, Field(min_length=1, max_length=1)]
Text = Annotated[str, Field(min_length=1)]
_CARDS = yamltext.Dialect(DataError, "a card", "not YAML", merges=True)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RawFile(_Strict):
    """One raw file: its name in a mirror, archive or directory, and the addresses to download it from."""

    file: Annotated[str, Field(pattern=r"^[^/\\]+$")]
    urls: list[Text] = []
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = (
        None  # after decompression; null: unknown
    )
    bytes: Annotated[int, Field(gt=0)] | None = None  # likewise
    part: Literal["train", "test"] | None = None  # of the published split


class Csv(_Strict):
    """Delimited text; ``comment`` starts a line, or the rest of one, that is passed over."""

    kind: Literal["csv"]
    delimiter: Character = ","
    header: bool = True
    comment: Character | None = None


class Mat(_Strict):
    """A MATLAB file (before 7.3) that holds one matrix."""

    kind: Literal["mat"]


class Hdf5(_Strict):
    """An HDF5 file with X (n, d) and y (n,)."""

    kind: Literal["hdf5"]


class Synthetic(_Strict):
    """Nothing to fetch: drawn by a generator of hgpbench."""

    kind: Literal["synthetic"]
    generator: Literal["toy", "sinc2d"]


class Cut(_Strict):
    """A number cut out of a text column: the ``field``-th piece (from 0) of ``column`` between separators."""

    column: Text
    separator: Text
    field: Annotated[int, Field(ge=0)]


class Missing(_Strict):
    """Cells that stand for a missing value, and what becomes of their rows."""

    values: list[str] = [""]
    rule: Literal["drop", "error"] = "error"


class Recipe(_Strict):
    """How one variant is made: raw files, their format, which columns become inputs and target."""

    files: list[RawFile] = []
    format: Annotated[Csv | Mat | Hdf5 | Synthetic, Field(discriminator="kind")]
    columns: list[Text] | None = None  # needed where the file has no header
    inputs: list[Text] | None = None  # default: every column but the target
    target: Text = "y"
    derived: dict[str, Cut] = {}
    missing: Missing = Missing()
    rows: Annotated[int, Field(gt=0)] | None = None  # to expect, once missing ones are dropped
    split: dict[Literal["train", "test", "by", "time", "blocks", "gap"], Share] | None = None
    about: str = ""  # one line on this variant

    @model_validator(mode="after")
    def _hangs_together(self) -> "Recipe":
        if self.format.kind != "synthetic" and not self.files:
            raise ValueError("files: at least one raw file is needed")
        if self.columns is None and (self.format.kind == "mat" or self._headless):
            raise ValueError("columns: must be listed, as the file has no header")
        if self.inputs is not None and (not self.inputs or len(set(self.inputs)) < len(self.inputs)):
            raise ValueError("inputs: list at least one column, and each once")
        if self.inputs is not None and self.target in self.inputs:
            raise ValueError(f"inputs: {self.target!r} is the target and cannot be an input too")
        if self.columns is not None:
            self._check_names(self.columns)
        return self

    @field_validator("split")
    @classmethod
    def _is_a_split(cls, value: dict[str, Share] | None) -> dict[str, Share] | None:
        if value is None:
            return None
        if missing := {"train", "test"} - value.keys():
            raise ValueError(f"{' and '.join(sorted(missing))} missing: a split says train and test")
        try:
            Split(**cast(dict[str, Any], value))
        except (TypeError, DataError) as error:
            raise ValueError(str(error)) from None
        return value

    @property
    def default_split(self) -> Split:
        """The paper's split, or four fifths against the rest."""
        if self.generator is not None and self.split is None:
            return self.generator.split
        return FALLBACK_SPLIT if self.split is None else Split(**cast(dict[str, Any], self.split))

    @property
    def generator(self) -> Generator | None:
        """What draws the rows of a synthetic dataset."""
        return GENERATORS[self.format.generator] if isinstance(self.format, Synthetic) else None

    @property
    def input_names(self) -> tuple[str, ...] | None:
        """Names of the inputs in order, or None where only the file knows."""
        if self.generator is not None:
            return tuple(f"x{place + 1}" for place in range(self.generator.n_inputs))
        if self.inputs is not None:
            return tuple(self.inputs)
        if self.columns is None:
            return None
        return tuple(name for name in self.columns if name != self.target)

    @property
    def _headless(self) -> bool:
        return isinstance(self.format, Csv) and not self.format.header

    def _check_names(self, columns: list[str]) -> None:
        """Every column that the recipe uses is listed."""
        cut = [piece.column for piece in self.derived.values()]
        plain = [name for name in self.inputs or [] if name not in self.derived]
        for name in [self.target, *plain, *cut]:
            if name not in columns:
                raise ValueError(f"{name!r} is not among the columns {columns}")


class Card(_Strict):
    """Everything that a card says."""

    name: str
    path: Path
    title: Text
    licence: Text
    citation: Text
    homepage: str = ""
    notes: str = ""
    default: str
    variants: dict[str, Recipe]

    @model_validator(mode="after")
    def _has_its_default(self) -> "Card":
        if self.default not in self.variants:
            raise ValueError(f"default: {self.default!r} is not among the variants {sorted(self.variants)}")
        for variant in self.variants:
            if not is_name(variant):
                raise ValueError(f"variants: {variant!r} may only have letters, digits, '-' and '_'")
        return self

    def key(self, variant: str | None) -> str | None:
        """The variant as files are named by it: None for the default one; DataError for an unknown one."""
        if variant is not None and variant not in self.variants:
            known = ", ".join(full_name(self.name, other) for other in self.variants)
            raise DataError(f"{full_name(self.name, variant)}: no such variant; known: {known}")
        return None if variant == self.default else variant

    def recipe(self, variant: str | None) -> Recipe:
        """How to make a variant; None is the default one."""
        return self.variants[self.key(variant) or self.default]


def load(path: Path) -> Card:
    """Read a card, or DataError naming the file and the key."""
    if not path.exists():
        raise DataError(f"{path}: no such card")
    body = yamltext.read(path, _CARDS).data
    if not isinstance(body, dict) or not all(key.isidentifier() for key in body):
        raise DataError(f"{path}: a card is a mapping of keys to values")
    if not is_name(path.stem):
        raise DataError(f"{path}: a card is named NAME.yaml, NAME having letters, digits, '-' and '_' only")
    arranged = _arrange(path, body)
    try:
        return Card(name=path.stem, path=path, **arranged)
    except ValidationError as error:
        raise DataError(f"{path}: {explain(error, body)}") from None


def find(name: str, folder: Path | None = None) -> Card | None:
    """The card of that name: the user's own first, then the shipped one, or None."""
    own = (folder or data_folder()) / f"{name}.yaml"
    path = own if own.is_file() else shipped.find("datasets", name)
    return None if path is None else load(path)


def known_names(folder: Path | None = None) -> list[str]:
    """Names of all cards, the user's own and the shipped ones."""
    own = {path.stem for path in (folder or data_folder()).glob("*.yaml")}
    return sorted(own | set(shipped.names("datasets")))


_WORDS = ("title", "licence", "citation", "homepage", "notes")


def _arrange(path: Path, body: dict[str, Any]) -> dict[str, Any]:
    """Move what holds for all variants into each of them."""
    words = {key: body[key] for key in _WORDS if key in body}
    shared = {key: value for key, value in body.items() if key not in (*_WORDS, "variants", "default")}
    variants = body.get("variants")
    if variants is None:
        if "default" in body:
            raise DataError(f"{path}: default: names a variant, but the card has no variants")
        return {**words, "default": ONLY, "variants": {ONLY: shared}}
    if not isinstance(variants, dict) or not all(isinstance(own, dict) for own in variants.values()):
        raise DataError(f"{path}: variants: must map each name to its own keys")
    return {
        **words,
        "default": body.get("default", next(iter(variants), ONLY)),
        "variants": {name: {**shared, **own} for name, own in variants.items()},
    }


def explain(error: ValidationError, body: dict[str, Any]) -> str:
    """The first complaint, with its key as the card spells it."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"]]
    own = body.get("variants") or {}
    if place[:1] == ["variants"] and len(place) > 2 and place[2] not in own.get(place[1], {}):
        place = place[2:]
    place = [part for part in place if part not in ("csv", "mat", "hdf5", "synthetic")]
    reason = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        allowed = [*_WORDS, "default", "variants", *Recipe.model_fields]
        return f"{'.'.join(place)}: unknown key{nearest(place[-1], allowed)}"
    return f"{'.'.join(place) or 'card'}: {reason}"
