"""What ``compare`` was asked and how it went about it: ``results/NAME/compare.json``, for the report."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from hgpbench import files
from hgpbench.errors import RecordError

FILE = "compare.json"


@dataclass(frozen=True)
class Asked:
    """A comparison on a table of the user's."""

    table: str
    target: str
    rows: int
    options: str = ""  # of how the table is read, as they were typed
    cut: tuple[str, ...] = ()  # sentences: who or what was left out, and why
    copies: int = 0  # rows that are those of another row, target and all
    folder: str = ""  # of the experiment, as it was typed
    group: str = ""  # the column that a split by groups goes by
    whole: int = 0  # training rows that there would have been time permitting
    peers: tuple[str, ...] = ()  # labels of models of others, which cannot be saved
    missed: tuple[
        str, ...
    ] = ()  # who may be the best with all training rows, by what is known, and took no part
    enough: float = 0.0  # seconds of a budget that should do for all that may be
    chosen: tuple[str, ...] = ()  # sentences: how the rounds ended that chose who is in this one


def write(folder: Path, asked: Asked) -> None:
    """Keep it beside the experiment's manifest."""
    files.write_text(folder / FILE, json.dumps(asdict(asked), indent=1) + "\n")


def find(folder: Path) -> Asked | None:
    """What was asked; None where the experiment is none of ``compare``, or the file cannot be read."""
    try:
        body = files.read_json(folder / FILE)
        given: dict[str, Any] = {each.name: body[each.name] for each in fields(Asked) if each.name in body}
        given |= {
            name: tuple(map(str, given[name]))
            for name in ("cut", "peers", "missed", "chosen")
            if name in given
        }
        return Asked(**given)
    except (FileNotFoundError, NotADirectoryError):  # the second beside one file of lines
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{folder / FILE}: damaged ({error}); compare again") from None
