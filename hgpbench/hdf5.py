"""HDF5 files of a user: opened only to read what they hold themselves, and no more than they can hold.

A file of two kilobytes may claim terabytes, take its values from any other file of this machine (external
storage, external links, virtual datasets), or point in circles. Claims are checked before anything is read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 8 << 30  # of one array that is read whole
_PACKED = 1100  # no filter that comes with HDF5 packs values further than that
_SLACK = 1 << 20  # of packed values
_NUMBERS = "fiub"
_TEXT = "S"

# What HDF5 and what lies in a damaged file may raise while it is read.
DAMAGE = (
    OSError, KeyError, IndexError, ValueError, TypeError, AttributeError, RuntimeError, RecursionError,
    MemoryError, ArithmeticError,
)  # fmt: skip


@contextmanager
def opened(path: Path) -> Iterator[h5py.File]:
    """A file to read; a link that stands for it is followed, links inside it are not (see ``values``)."""
    with h5py.File(path, "r") as file:
        yield file


def group(parent: Any, name: str) -> h5py.Group:
    """A group that lies in the file itself."""
    found = _own(parent, name)
    if not isinstance(found, h5py.Group):
        raise ValueError(f"{name} is no group")
    return found


def values(parent: Any, name: str) -> NDArray[Any]:
    """An array of numbers or bytes that lies in the file itself, read whole; ValueError where it does not."""
    found = dataset(parent, name)
    if found.size * found.dtype.itemsize > MAX_BYTES:
        raise ValueError(f"{name} has {found.size:,} values, more than are read at once")
    return np.asarray(found[...])


def dataset(parent: Any, name: str) -> h5py.Dataset:
    """The array without reading it, once its claims are known to be possible."""
    found = _own(parent, name)
    if not isinstance(found, h5py.Dataset):
        raise ValueError(f"{name} is no array")
    if found.external or found.is_virtual:
        raise ValueError(f"{name} takes its values from another file; copy them into this one")
    if found.dtype.kind not in _NUMBERS + _TEXT or found.shape is None:
        raise ValueError(f"{name} holds no numbers")
    _check_size(found, name)
    return found


def _own(parent: Any, name: str) -> Any:
    """What a name stands for, where it stands in the file itself: links could lead to any file."""
    link = parent.get(name, getlink=True)
    if link is None:
        raise KeyError(f"there is no {name}")
    if not isinstance(link, h5py.HardLink):
        raise ValueError(f"{name} is a link; copy what it leads to into this file")
    return parent[name]


def _check_size(found: h5py.Dataset, name: str) -> None:
    """Whether as many bytes can be there as the shape claims."""
    there = min(found.id.get_storage_size(), Path(found.file.filename).stat().st_size)
    packed = found.id.get_create_plist().get_nfilters() > 0
    most = there * _PACKED + _SLACK if packed else there
    if found.size * found.dtype.itemsize > most:
        claimed = " x ".join(f"{length:,}" for length in found.shape)
        raise ValueError(f"{name} claims {claimed} values, but the file stores {there:,} bytes of them")
