"""A dataset that is ready to use: its description, and the rows of one run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hgpbench.data import cards, store
from hgpbench.data.names import data_folder, find_stored, full_name, is_openml, parse_name
from hgpbench.data.split import EVERY, Array, Fold, Split, split_rows
from hgpbench.data.synthetic import Generator
from hgpbench.errors import DataError
from hgpbench.words import listed, nearest

__all__ = ["Fold", "Source", "data_folder", "open_source", "parse_name"]


class Source(Protocol):
    """What the bench needs to know of a dataset."""

    @property
    def name(self) -> str:
        """Its name, without the variant."""

    @property
    def variant(self) -> str | None:
        """Its variant; None is the default one."""

    @property
    def sha256(self) -> str:
        """Hash of its content (see ``store.content_hash``), or of its generator."""

    @property
    def rows(self) -> int:
        """How many rows it has; of a synthetic one, how many the default split draws."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the inputs."""

    @property
    def n_inputs(self) -> int:
        """How many inputs there are."""

    @property
    def target(self) -> str:
        """Name of the target."""

    @property
    def synthetic(self) -> bool:
        """Whether each seed draws rows of its own."""

    @property
    def default_split(self) -> Split:
        """The paper's split, or four fifths against the rest."""

    def sizes(self, split: Split) -> tuple[int, int]:
        """Numbers of training and test rows, without reading any; DataError where the split is impossible."""

    def fold(self, split: Split, seed: int) -> Fold:
        """Training and test rows of one run."""


@dataclass(frozen=True)
class StoredSource:
    """A dataset in an HDF5 file."""

    path: Path
    description: store.Description
    published_test_rows: int | None
    synthetic: bool = False

    @property
    def name(self) -> str:
        """Its name, without the variant."""
        return self.description.about.name

    @property
    def variant(self) -> str | None:
        """Its variant; None is the default one."""
        return self.description.about.variant

    @property
    def sha256(self) -> str:
        """Hash of its content."""
        return self.description.sha256

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.description.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.description.columns

    @property
    def n_inputs(self) -> int:
        """How many inputs there are."""
        return len(self.columns)

    @property
    def target(self) -> str:
        """Name of the target."""
        return self.description.target

    @property
    def default_split(self) -> Split:
        """The split that the card gave when the dataset was fetched."""
        return self.description.about.split

    def sizes(self, split: Split) -> tuple[int, int]:
        """Numbers of training and test rows."""
        try:
            self._places(split)
            return split.resolve(self.rows, self.published_test_rows)
        except DataError as error:
            raise DataError(f"{full_name(self.name, self.variant)}: {error}") from None

    def fold(self, split: Split, seed: int) -> Fold:
        """Rows drawn by the seed; disjoint unless the split scores in sample."""
        self.sizes(split)
        table = store.read_as(self.path, self.sha256)  # runs are known by it: the rows must be its rows
        places = self._places(split)
        values = _values(table.X, places, split)
        train, test = split_rows(len(table.y), split, seed, table.published_test, values)
        # What rows are grouped by is nothing that a new group could be known by.
        kept = [at for at in range(len(self.columns)) if split.by in (None, EVERY) or at not in places]
        X = table.X if len(kept) == len(self.columns) else table.X[:, kept]
        return Fold(
            X_train=np.ascontiguousarray(X[train], dtype=float),
            y_train=np.ascontiguousarray(table.y[train], dtype=float),
            X_test=np.ascontiguousarray(X[test], dtype=float),
            y_test=np.ascontiguousarray(table.y[test], dtype=float),
            test_index=test,
            columns=tuple(self.columns[at] for at in kept),
        )

    def _places(self, split: Split) -> list[int]:
        """The inputs that a split goes by: one, or those that a column of categories became."""
        if split.order is None:
            return []
        names = self.columns
        if split.by == EVERY:
            return list(range(len(names)))
        found = [at for at, name in enumerate(names) if name == split.order]
        found = found or [at for at, name in enumerate(names) if name.startswith(f"{split.order}=")]
        if not found or (split.time is not None and len(found) > 1):
            key = "by" if split.by is not None else "time"
            raise DataError(
                f"{key}: {split.order!r:.60} is not a column of the inputs{nearest(split.order, names)}; "
                f"inputs: {listed(names)}"
            )
        if split.by is not None and len(found) == len(names):
            raise DataError(f"by: {split.order}: no input is left beside the groups")
        return found


def _values(X: Array, places: list[int], split: Split) -> NDArray[Any] | None:
    """What a split goes by, one number a row: a time, or the number of a group."""
    if not places:
        return None
    if split.time is not None:
        return X[:, places[0]]
    groups: NDArray[Any] = np.unique(X[:, places], axis=0, return_inverse=True)[1]
    return groups.reshape(-1)


@dataclass(frozen=True)
class SyntheticSource:
    """A dataset that each seed draws afresh."""

    name: str
    generator: Generator
    default_split: Split
    columns: tuple[str, ...]
    target: str
    variant: str | None = None
    synthetic: bool = True

    @property
    def sha256(self) -> str:
        """Hash of the generator's name and version."""
        return self.generator.sha256

    @property
    def rows(self) -> int:
        """How many rows the default split draws."""
        return sum(self.sizes(self.default_split))

    @property
    def n_inputs(self) -> int:
        """How many inputs there are."""
        return self.generator.n_inputs

    def sizes(self, split: Split) -> tuple[int, int]:
        """Numbers of training and test points."""
        if split.order is not None or split.blocks is not None:
            lacking = "column" if split.order is not None else "order"
            raise DataError(f"{self.name}: rows that are drawn have no {lacking} to split by")
        return self.generator.sizes(split)

    def fold(self, split: Split, seed: int) -> Fold:
        """Points drawn by the seed, with the truth."""
        return self.generator.fold(split, seed)


def open_source(name: str, variant: str | None = None, folder: Path | None = None) -> Source:
    """A dataset by name, or DataError saying how to get it."""
    parse_name(full_name(name, variant))
    folder = folder or data_folder()
    card = cards.find(name, folder)
    if card is not None:
        recipe = card.recipe(variant)
        if recipe.generator is not None:
            columns = recipe.input_names or ()
            return SyntheticSource(name, recipe.generator, recipe.default_split, columns, recipe.target)
        variant = card.key(variant)
    path = find_stored(folder, name, variant)
    if path.is_file():
        return StoredSource(path, store.describe(path), store.published_test_rows(path))
    asked = full_name(name, variant)
    if card is None and not is_openml(asked):
        known = cards.known_names(folder)
        raise DataError(f"{asked}: no such dataset{nearest(name, known)}; known: {', '.join(known)}")
    raise DataError(f"{asked}: not fetched yet ({path} is missing); run `hgpbench fetch {asked}`")
