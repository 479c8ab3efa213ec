"""``hgpbench fetch``: obtain, verify, convert, and rename into place, or leave nothing behind."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from hgpbench import files, shipped
from hgpbench.data import cards, places, store, tables
from hgpbench.data.cards import Card, Recipe
from hgpbench.data.names import data_folder, expanded, find_stored, full_name, parse_name, stored_path
from hgpbench.data.places import Tell
from hgpbench.data.synthetic import Generator
from hgpbench.data.workspace import workspace
from hgpbench.errors import DataError, Unreachable
from hgpbench.words import nearest


@dataclass(frozen=True)
class FetchResult:
    """What a fetch did; a generated dataset has neither file nor hash of one."""

    name: str  # with the variant, as the user writes it
    status: Literal["written", "present", "generated"]
    path: Path | None
    rows: int
    inputs: int
    target: str
    sha256: str  # of the content
    raw_sha256: dict[str, str]  # raw file -> hash
    seconds: float
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # names of the inputs, where a file has them


def fetch(
    name: str,
    variant: str | None = None,
    *,
    source: str | None = None,
    force: bool = False,
    folder: Path | None = None,
    tell: Tell = lambda line: None,
) -> FetchResult:
    """Make a dataset available: by name (``sarcos:subset``), or by the path of a card of one's own.

    What takes time is told before it begins.
    """
    start = time.perf_counter()
    folder = folder or data_folder()
    card, variant = _card(name, variant, folder)
    key, recipe = card.key(variant), card.recipe(variant)
    if recipe.generator is not None:
        return _generated(card, recipe, recipe.generator)
    target, there = stored_path(folder, card.name, key), find_stored(folder, card.name, key)
    if there.is_file() and not force:
        return result_of("present", there, store.describe(there), start)
    joining = _card_to_keep(card, folder, force)
    with workspace(target) as scratch:
        described, notes = build(card, key, target, source, scratch, tell)
        if joining is not None:
            files.write_text(folder / f"{card.name}.yaml", joining)
    return result_of("written", target, described, start, notes)


def check(name: str, variant: str | None = None, *, folder: Path | None = None) -> FetchResult:
    """Read a fetched dataset again and compare it with its hash and with its card."""
    start = time.perf_counter()
    folder = folder or data_folder()
    if variant is None:
        name, variant = parse_name(name)
    card = cards.find(name, folder)
    recipe = None if card is None else card.recipe(variant)
    if card is not None and recipe is not None:
        if recipe.generator is not None:
            return _generated(card, recipe, recipe.generator)
        variant = card.key(variant)
    target = find_stored(folder, name, variant)
    if not target.is_file():
        asked = full_name(name, variant)
        raise DataError(f"{asked}: not fetched yet ({target} is missing); run `hgpbench fetch {asked}`")
    described = store.verify(target)
    if recipe is not None:
        _check_rows(described.rows, recipe, str(target))
        _check_raw(described, recipe, target)
    return result_of("present", target, described, start, ("content matches its hash",))


def build(
    card: Card, key: str | None, target: Path, source: str | None, scratch: Path, tell: Tell
) -> tuple[store.Description, tuple[str, ...]]:
    """From raw files to the stored dataset; the caller holds the workspace."""
    recipe = card.variants[key or card.default]
    asked = full_name(card.name, key)
    try:
        obtained = places.obtain(card, recipe, source, scratch, lambda line: tell(f"{asked}: {line}"))
        tell(f"{asked}: reading {', '.join(file.file for file in recipe.files)}")
        table, dropped = make_table([raw.path for raw in obtained], recipe)
    except Unreachable as error:
        raise Unreachable(f"{asked}: {error.what}") from error
    except DataError as error:
        raise DataError(f"{asked}: {error}") from error
    about = store.About(
        name=card.name,
        variant=key,
        title=card.title,
        licence=card.licence,
        citation=card.citation,
        notes=" ".join(part for part in (card.notes, recipe.about) if part),
        source="\n".join(raw.source for raw in obtained),
        raw_sha256="\n".join(
            f"{raw.sha256}  {file.file}" for raw, file in zip(obtained, recipe.files, strict=True)
        ),
        split=recipe.default_split,
    )
    notes = [f"{dropped:,} rows with missing values dropped"] if dropped else []
    for raw, file in zip(obtained, recipe.files, strict=True):
        if file.sha256 is None:
            notes.append(f"{file.file}: the card gives no hash; found sha256 {raw.sha256}")
    return store.write(target, table, about), tuple(notes)


def make_table(paths: list[Path], recipe: Recipe) -> tuple[store.Table, int]:
    """The rows of all raw files in order, and how many were dropped as missing."""
    parts = [tables.read(path, recipe, file.file) for path, file in zip(paths, recipe.files, strict=True)]
    names = parts[0].names
    values = parts[0].values if len(parts) == 1 else np.concatenate([part.values for part in parts])
    label = ", ".join(file.file for file in recipe.files)
    _check_rows(len(values), recipe, label)
    role = np.repeat([file.part == "test" for file in recipe.files], [len(part.values) for part in parts])
    table = store.Table(
        X=np.ascontiguousarray(values[:, :-1]),
        y=np.ascontiguousarray(values[:, -1]),
        columns=names[:-1],
        target=names[-1],
        published_test=np.flatnonzero(role) if role.any() else None,
    )
    return table, sum(part.dropped for part in parts)


def _card(name: str, variant: str | None, folder: Path) -> tuple[Card, str | None]:
    """The card asked for; a name that looks like a file is one."""
    stem, _, after = name.partition(".yaml")
    if name != stem:
        return cards.load(expanded(f"{stem}.yaml")), variant or after.removeprefix(":") or None
    if variant is None:
        name, variant = parse_name(name)
    card = cards.find(name, folder)
    if card is None:
        known = cards.known_names(folder)
        raise DataError(f"{name}: no such dataset{nearest(name, known)}; known: {', '.join(known)}")
    return card, variant


def _card_to_keep(card: Card, folder: Path, force: bool) -> str | None:
    """The text of a card from elsewhere: it joins the folder, so that its variants and default stay known."""
    kept, ours = folder / f"{card.name}.yaml", shipped.find("datasets", card.name)
    if card.path.resolve() in (kept.resolve(), None if ours is None else ours.resolve()):
        return None
    text = card.path.read_text(encoding="utf-8")
    if kept.is_file() and not force and kept.read_text(encoding="utf-8") != text:
        raise DataError(f"{kept}: another card of that name is there; rename {card.path}, or use --force")
    return text


def _check_rows(rows: int, recipe: Recipe, label: str) -> None:
    if recipe.rows is not None and rows != recipe.rows:
        raise DataError(
            f"{label}: has {rows:,} rows, the card expects {recipe.rows:,}; it is not the whole set"
        )


def _check_raw(described: store.Description, recipe: Recipe, target: Path) -> None:
    known = {file.file: file.sha256 for file in recipe.files if file.sha256 is not None}
    for file, found in _raw_hashes(described).items():
        if known.get(file, found) != found:
            raise DataError(
                f"{target}: was made of another {file} than the card's; fetch it again with --force"
            )


def _raw_hashes(described: store.Description) -> dict[str, str]:
    lines = [line.partition("  ") for line in described.about.raw_sha256.splitlines()]
    return {file: digest for digest, _, file in lines}


def _generated(card: Card, recipe: Recipe, generator: Generator) -> FetchResult:
    rows = sum(generator.sizes(recipe.default_split))
    note = "drawn from each run's seed: nothing needs fetching"
    return FetchResult(
        card.name,
        "generated",
        None,
        rows,
        generator.n_inputs,
        recipe.target,
        generator.sha256,
        {},
        0.0,
        (note,),
    )


def result_of(
    status: Literal["written", "present"],
    target: Path,
    described: store.Description,
    start: float,
    notes: tuple[str, ...] = (),
) -> FetchResult:
    """What is said of a stored dataset."""
    return FetchResult(
        name=full_name(described.about.name, described.about.variant),
        status=status,
        path=target,
        rows=described.rows,
        inputs=len(described.columns),
        target=described.target,
        sha256=described.sha256,
        raw_sha256=_raw_hashes(described),
        seconds=time.perf_counter() - start,
        notes=notes,
        columns=described.columns,
    )
