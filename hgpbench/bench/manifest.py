"""Which runs belong to an experiment: ``results/<experiment>/experiment.json``.

A run's folder is computed from what was run, not from the experiment that asked for it, so experiments share
runs; the manifest lists, for each label and seed, the folder to look into, whether or not it is finished yet.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hgpbench import files
from hgpbench.errors import RecordError

MANIFEST = "experiment.json"
FORMAT = 1


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

    def merged_with(self, older: "Manifest | None") -> "Manifest":
        """Keep the older plan's further seeds of the same settings; a changed setting replaces its label."""
        if older is None:
            return self
        known = {(entry.label, entry.setting) for entry in self.entries}
        have = {(entry.label, entry.seed) for entry in self.entries}
        kept = [e for e in older.entries if (e.label, e.setting) in known and (e.label, e.seed) not in have]
        order = {entry.label: place for place, entry in reversed(list(enumerate(self.entries)))}
        entries = sorted([*self.entries, *kept], key=lambda e: (order[e.label], e.seed))
        return Manifest(self.name, self.title, self.dataset, self.split, tuple(entries))


def write(folder: Path, manifest: Manifest) -> None:
    """Store the manifest of an experiment."""
    files.write_text(folder / MANIFEST, json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1) + "\n")


def read(folder: Path) -> Manifest:
    """The stored manifest, or RecordError saying what is wrong with it."""
    path = folder / MANIFEST
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body.pop("format") != FORMAT:
            raise RecordError(f"{path}: not a manifest of format {FORMAT}; another version of hgpbench wrote it")
        entries = tuple(Entry(**entry) for entry in body.pop("entries"))
        return Manifest(entries=entries, **body)
    except FileNotFoundError:
        raise RecordError(f"{path}: no manifest; run the experiment first") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise RecordError(f"{path}: unreadable ({error})") from error
