"""One's own data: a table of any kind becomes a dataset like any other."""

import hashlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from hgpbench import shipped
from hgpbench.data import store
from hgpbench.data.cards import FALLBACK_SPLIT
from hgpbench.data.fetch import FetchResult, result_of
from hgpbench.data.frames.choices import Choices
from hgpbench.data.frames.preprocessing import FORMAT, Preprocessing
from hgpbench.data.frames.reading import Given, opened
from hgpbench.data.frames.survey import Learnt, learn
from hgpbench.data.frames.table import Table
from hgpbench.data.names import data_folder, find_stored, is_name, is_openml, parse_name, stored_path
from hgpbench.data.workspace import workspace
from hgpbench.errors import DataError
from hgpbench.words import listed

_SHOWN = 20  # inputs whose names are told


def import_table(
    given: Given,
    name: str,
    target: str | None = None,
    *,
    choices: Choices | None = None,
    title: str | None = None,
    force: bool = False,
    folder: Path | None = None,
    variant: str | None = None,
) -> FetchResult:
    """Store a table: CSV, Parquet, Feather or HDF5, packed or not, a pandas frame, or ``openml:ID``.

    ``target`` names the column to predict; a table of OpenML and an HDF5 file with X and y know theirs.
    """
    start = time.perf_counter()
    choices = choices or Choices()
    stored = stored_path(folder or data_folder(), _checked_name(name), variant)
    if stored.exists() and not force:
        raise DataError(f"{stored}: a dataset of that name exists; choose another --name, or use --force")
    expected = () if target is None else (target, *(choices.inputs or ()))
    with workspace(stored), opened(given, choices, expected) as table:
        chosen = _target(table, target)
        learnt = learn(table, chosen, choices)
        about = store.About(
            name=name,
            variant=variant,
            title=title or f"Own data from {table.label}",
            licence="not stated",
            citation="not stated",
            notes="\n".join(_notes(learnt)),
            source="a frame" if isinstance(given, pd.DataFrame) else str(given),
            raw_sha256=f"{table.raw_sha256}  {table.label}",
            split=FALLBACK_SPLIT,
            preprocessing=learnt.plan.to_json(),
            asked=_hash(table, chosen, choices),
        )
        described = _write(stored, table, learnt, about)
    dropped = learnt.rows - described.rows
    lost = [f"{dropped:,} rows with missing values dropped"] if dropped else []
    return result_of("written", stored, described, start, (*_notes(learnt), *lost))


def bring(
    given: str | Path,
    target: str | None = None,
    *,
    choices: Choices | None = None,
    name: str | None = None,
    folder: Path | None = None,
) -> FetchResult:
    """A table as a dataset: stored once for the same content, target and way of reading it.

    It is called after its file; where that name has other content already, its hash is added to it.
    """
    start = time.perf_counter()
    choices = choices or Choices()
    with opened(given, choices, () if target is None else (target, *(choices.inputs or ()))) as table:
        asked = _hash(table, _target(table, target), choices)
    called = name or name_for(given)
    if shipped.find("datasets", called) is not None:
        called = f"my-{called}"
    for each in (called, f"{called}-{asked[:6]}"):
        stored = find_stored(folder or data_folder(), each, None)
        if not stored.is_file():
            return import_table(given, each, target, choices=choices, folder=folder)
        described = store.describe(stored)
        if described.about.asked == asked:
            return result_of("present", stored, described, start, tuple(described.about.notes.splitlines()))
        if name is not None:
            break
    raise DataError(f"{stored}: has other content than {given}; choose another --name")


def _target(table: Table, asked: str | None) -> str:
    chosen = asked or table.target
    if chosen is None:
        raise DataError(
            f"{table.label}: name the column to predict with --target; it has {listed(table.columns)}"
        )
    return chosen


def _hash(table: Table, target: str, choices: Choices) -> str:
    """Of a file's content and of how it is to be read; "" for a frame, which has no name to find it by."""
    content = table.raw_sha256 or (table.label if is_openml(table.label) else "")
    if not content:
        return ""
    body = json.dumps([FORMAT, content, target, asdict(choices)], sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()


def import_openml(
    asked: str,
    target: str | None = None,
    *,
    choices: Choices | None = None,
    force: bool = False,
    folder: Path | None = None,
) -> FetchResult:
    """Store a table of OpenML, ``openml:531``, under that name; one that is there already stays."""
    start = time.perf_counter()
    name, variant = parse_name(asked)
    stored = find_stored(folder or data_folder(), name, variant)
    if stored.is_file() and not force:
        return result_of("present", stored, store.describe(stored), start)
    title = f"OpenML {variant}"
    return import_table(
        asked, name, target, choices=choices, title=title, force=force, folder=folder, variant=variant
    )


def name_for(given: str | Path) -> str:
    """A name for the dataset of a file, from its own: ``2021 sales.csv.gz`` is ``2021-sales``."""
    stem = Path(str(given)).name.split(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-_") or "table"


def numbers(table: Table, plan: Preprocessing) -> Iterator[tuple[store.Array, store.Array]]:
    """Inputs and targets of a table, by blocks."""
    row = 0
    for block in table.blocks(plan.as_numbers):
        rows = plan.training(block, row, table.label)
        yield rows.X, rows.y
        row += len(block)


def _write(stored: Path, table: Table, learnt: Learnt, about: store.About) -> store.Description:
    plan = learnt.plan
    try:
        return store.write_blocks(stored, numbers(table, plan), plan.inputs, plan.target, learnt.rows, about)
    except DataError as error:
        if str(error) != store.NO_ROW:
            raise
        raise DataError(
            f"{table.label}: no row is left without missing values; --missing mean or flag keeps them, "
            "and --drop COLUMN leaves a column out"
        ) from None


def _notes(learnt: Learnt) -> tuple[str, ...]:
    filled = []
    if learnt.plan.missing in ("mean", "flag") and learnt.wanting:
        filled = [f"missing cells of {listed(learnt.wanting, _SHOWN)} are filled with the mean"]
    return (*learnt.notes, *filled)


def _checked_name(name: str) -> str:
    if not is_name(name):
        raise DataError(f"--name {name!r}: only letters, digits, '-' and '_' are allowed")
    if shipped.find("datasets", name) is not None:
        raise DataError(f"--name {name}: is the name of a dataset that comes with hgpbench; choose another")
    return name
