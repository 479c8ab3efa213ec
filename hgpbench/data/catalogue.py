"""``hgpbench datasets``: everything that has a card or was fetched."""

from dataclasses import dataclass
from pathlib import Path

from hgpbench.data import cards, store
from hgpbench.data.names import data_folder, find_stored, full_name, is_name, shared_folder
from hgpbench.errors import DataError


@dataclass(frozen=True)
class Listed:
    """One line of the catalogue: a dataset, or a variant of it that is not the default."""

    name: str
    variant: str | None  # as the user would write it; None for a dataset without variants
    title: str
    rows: int | None  # None: not known before it is fetched
    inputs: int | None
    target: str
    fetched: bool  # or nothing needs fetching
    licence: str
    problem: str = ""  # why the card or the file cannot be used

    @property
    def full_name(self) -> str:
        """Name and variant as the user writes them."""
        return full_name(self.name, self.variant)


def list_datasets(folder: Path | None = None) -> list[Listed]:
    """Cards with all their variants, then datasets that were imported without one."""
    folder = folder or data_folder()
    known = cards.known_names(folder)
    listed = [line for name in known for line in _of_card(name, folder)]
    here, shared = (_imported(each, known) for each in (folder, shared_folder()))
    return listed + [_of_file(path) for _, path in sorted({**shared, **here}.items())]


def _imported(folder: Path, known: list[str]) -> dict[str, Path]:
    """Datasets without a card, by file name; a variant is one where its name is a number, as OpenML's."""
    files = (path for path in folder.glob("*.h5") if path.stem.split(".")[0] not in known)
    return {path.name: path for path in files if all(is_name(part) for part in path.stem.split("."))}


def _of_card(name: str, folder: Path) -> list[Listed]:
    try:
        card = cards.find(name, folder)
    except DataError as error:
        return [_unusable(name, error)]
    return [] if card is None else [_of_variant(card, variant, folder) for variant in card.variants]


def _rows_drawn(card: cards.Card, variant: str) -> int | str:
    """How many rows a synthetic dataset draws, or why it cannot."""
    recipe = card.recipe(variant)
    try:
        return sum(recipe.generator.sizes(recipe.default_split)) if recipe.generator else 0
    except DataError as error:
        return str(error)


def _of_variant(card: cards.Card, variant: str, folder: Path) -> Listed:
    recipe = card.recipe(variant)
    rows, inputs = recipe.rows, recipe.input_names
    if recipe.generator is not None:
        drawn = _rows_drawn(card, variant)
        if isinstance(drawn, str):
            return _unusable(card.name, DataError(drawn))
        rows, fetched = drawn, True
    else:
        path = find_stored(folder, card.name, card.key(variant))
        fetched = path.is_file()
        if fetched:
            line = _of_file(path)
            if line.problem:
                return line
            rows = line.rows
    return Listed(
        name=card.name,
        variant=None if len(card.variants) == 1 else variant,
        title=card.title,
        rows=rows,
        inputs=None if inputs is None else len(inputs),
        target=recipe.target,
        fetched=fetched,
        licence=card.licence,
    )


def _of_file(path: Path) -> Listed:
    try:
        described = store.describe(path)
    except DataError as error:
        return _unusable(path.stem.split(".")[0], error)
    about = described.about
    return Listed(
        name=about.name,
        variant=about.variant,
        title=about.title,
        rows=described.rows,
        inputs=len(described.columns),
        target=described.target,
        fetched=True,
        licence=about.licence,
    )


def _unusable(name: str, error: DataError) -> Listed:
    return Listed(name, None, "", None, None, "", False, "", str(error))
