"""Names of datasets, and the folder that holds them."""

import os
import re
from pathlib import Path

from hgpbench.errors import DataError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def data_folder() -> Path:
    """Where datasets live: ``HGPBENCH_DATA``, else ``./datasets``."""
    return expanded(os.environ.get("HGPBENCH_DATA") or "datasets")


def expanded(text: str) -> Path:
    """A path as the user writes it, ``~`` being a home folder; DataError where that is nobody's."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise DataError(f"{text}: there is no such user's home folder; write the path in full") from None


def parse_name(text: str) -> tuple[str, str | None]:
    """``sarcos:subset`` as ("sarcos", "subset"); ``protein`` as ("protein", None)."""
    name, colon, variant = text.partition(":")
    if not is_name(name) or (colon and not is_name(variant)):
        raise DataError(
            f"{text!r} is no dataset name; write NAME or NAME:VARIANT with letters, digits, '-' and '_'"
        )
    return name, variant or None


def is_name(text: str) -> bool:
    """Whether the text may name a dataset or a variant: it becomes part of a file name."""
    return _NAME.fullmatch(text) is not None


def full_name(name: str, variant: str | None) -> str:
    """The spelling of the command line and of configs."""
    return f"{name}:{variant}" if variant else name


def stored_path(folder: Path, name: str, variant: str | None) -> Path:
    """The HDF5 file of a dataset; None is its default variant."""
    return folder / (f"{name}.{variant}.h5" if variant else f"{name}.h5")
