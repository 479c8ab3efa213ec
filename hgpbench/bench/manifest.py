"""Which runs belong to an experiment: ``results/<experiment>/experiment.json``.

A run's folder is computed from what was run, not from the experiment that asked for it, so experiments share
runs; the manifest lists, for each label and seed, the folder to look into, whether or not it is finished yet.
"""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hgpbench import files
from hgpbench.bench import locks
from hgpbench.bench.stored import checked
from hgpbench.errors import RecordError

MANIFEST = "experiment.json"
LOCK = ".experiment.lock"
FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


@dataclass(frozen=True)
class Entry:
    """One planned run: a label, a seed and the folder that holds or will hold it."""

    label: str
    model: str
    seed: int
    folder: str  # relative to the results folder
    setting: str  # hash of all but the seed: rows of one label that may be pooled


@dataclass(frozen=True)
class Manifest:
    """The plan of one experiment, as far as it has been asked for."""

    name: str
    title: str
    dataset: dict[str, Any]
    split: dict[str, Any]
    entries: tuple[Entry, ...]

    def merged_with(self, older: "Manifest | None", settings: dict[str, str]) -> "Manifest":
        """Keep what was planned before under the same settings; ``settings`` lists all labels in order.

        A label whose parameters changed starts anew, and one that the config no longer has is dropped; their
        runs stay on disk.
        """
        planned = {(entry.label, entry.seed): entry for entry in older.entries} if older else {}
        planned |= {(entry.label, entry.seed): entry for entry in self.entries}
        order = {label: place for place, label in enumerate(settings)}
        current = [entry for entry in planned.values() if settings.get(entry.label) == entry.setting]
        current.sort(key=lambda entry: (order[entry.label], entry.seed))
        return replace(self, entries=tuple(current))


def write(folder: Path, manifest: Manifest) -> None:
    """Store the manifest of an experiment, with a checksum of what it says."""
    body = {"format": FORMAT, **asdict(manifest)}
    text = json.dumps({**body, "checksum": files.checksum(body)}, indent=1)
    files.write_text(folder / MANIFEST, text + "\n")


def update(folder: Path, change: Callable[[Manifest | None], Manifest]) -> None:
    """Replace the manifest by what becomes of it; commands that do so at the same time take turns."""
    with locks.holding(folder / LOCK):
        write(folder, change(find(folder)))


def read(folder: Path) -> Manifest:
    """The stored manifest, or RecordError saying what is wrong with it."""
    path = folder / MANIFEST
    try:
        body = files.read_json(path)
    except FileNotFoundError:
        raise RecordError(f"{path}: no manifest; run the experiment first") from None
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: unreadable ({error})") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise RecordError(f"{path}: not a manifest of format {FORMAT}; another version of hgpbench wrote it")
    # Manifests of older versions have no checksum.
    if "checksum" in body and body.pop("checksum") != files.checksum(body):
        raise RecordError(
            f"{path}: checksum does not match; the file was damaged or edited: remove it and type the run's "
            f"command again, which finds what is done"
        )
    try:
        return _manifest(body)
    except ValueError as error:
        raise RecordError(f"{path}: unreadable ({error})") from error


def find(folder: Path) -> Manifest | None:
    """The stored manifest, or None where there is none; a damaged one is an error."""
    return read(folder) if (folder / MANIFEST).exists() else None


def _manifest(body: dict[str, Any]) -> Manifest:
    """The manifest in plain data; a later version's further fields are passed over."""
    entries = body.get("entries")
    if not isinstance(entries, list):
        raise ValueError("entries is no list")
    known = checked(Manifest, {**body, "entries": ()})
    if _NAME.fullmatch(known.name) is None:  # it becomes part of file names
        raise ValueError(f"{known.name!r:.60} is no name of an experiment")
    variant = known.dataset.get("variant")
    if not isinstance(known.dataset.get("name"), str) or not isinstance(variant, str | None):
        raise ValueError("dataset has no name, or an odd variant")
    if not all(isinstance(value, str | int | float | None) for value in known.split.values()):
        raise ValueError("split holds something that is neither number nor word")
    return replace(known, entries=tuple(checked(Entry, entry) for entry in entries))
