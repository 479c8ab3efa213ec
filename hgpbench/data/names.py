"""Names of datasets, and the folder that holds them."""

import os
import re
from pathlib import Path

from hgpbench.errors import DataError

OPENML = "openml:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def data_folder() -> Path:
    """Where datasets live: ``HGPBENCH_DATA``, else ``./datasets``."""
    return expanded(os.environ.get("HGPBENCH_DATA") or "datasets")


def cache_folder() -> Path:
    """What every folder of this user shares: ``HGPBENCH_CACHE``, else where the system keeps such things."""
    own = os.environ.get("HGPBENCH_CACHE")
    if own:
        return expanded(own)
    from platformdirs import user_cache_path

    return user_cache_path("hgpbench")


def shared_folder() -> Path:
    """Datasets of this user that no folder ``datasets`` holds."""
    return cache_folder() / "datasets"


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


def is_openml(text: str) -> bool:
    """Whether a name is that of a table of OpenML: ``openml:531``."""
    return text.startswith(OPENML)


def full_name(name: str, variant: str | None) -> str:
    """The spelling of the command line and of configs."""
    return f"{name}:{variant}" if variant else name


def find_stored(folder: Path, name: str, variant: str | None) -> Path:
    """The HDF5 file of a dataset, in the folder or else among the shared ones; may not exist."""
    own, shared = (stored_path(each, name, variant) for each in (folder, shared_folder()))
    return shared if shared.is_file() and not own.is_file() else own


def stored_path(folder: Path, name: str, variant: str | None) -> Path:
    """The HDF5 file of a dataset; None is its default variant."""
    return folder / (f"{name}.{variant}.h5" if variant else f"{name}.h5")
