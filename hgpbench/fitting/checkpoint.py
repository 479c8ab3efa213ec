"""The state of a long fit in a file, written whole now and then, so that a killed fit can continue.

Arrays by name in HDF5, and the problem that they belong to, behind a seal: the version that wrote the file
and a hash of all that follows. A file of another problem or version, or one in which a bit has changed,
counts as none: the fit starts anew and replaces it.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hgpbench import sealed
from hgpbench.files import replacing

_log = logging.getLogger(__name__)

FORMAT = 3
_TITLE = f"hgpbench checkpoint {FORMAT}"
COSTS_ONLY = ("cluster", "max_memory", "n_jobs", "snapshot_every")  # parameters that change no result
EVERY = 120.0  # seconds between two states: what a kill may cost

Arrays = dict[str, NDArray[Any]]


def problem_of(params: Mapping[str, Any], *data: NDArray[Any]) -> str:
    """A hash of what a fit starts from: parameters and data, to the last bit."""
    digest = hashlib.sha256(repr(sorted(params.items())).encode())
    for array in data:
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def open_checkpoint(path: Path | None, params: Mapping[str, Any], *data: NDArray[Any]) -> "Checkpoint":
    """The file of a fit with these parameters; none without a seed: such a fit cannot be continued."""
    if path is None or params["random_state"] is None:
        return Checkpoint(None, "")
    settings = {name: value for name, value in params.items() if name not in COSTS_ONLY}
    return Checkpoint(path, problem_of(settings, *data))


class Checkpoint:
    """The file of one fit; without a path it neither has nor keeps anything."""

    def __init__(self, path: Path | None, problem: str) -> None:
        self._path, self._problem = path, problem
        self.stored: Arrays | None = None
        self.seconds = 0.0  # that earlier attempts spent up to the state stored
        if path is not None and path.exists():
            self._read(path)
        self._started = self._written = time.monotonic()

    def offer(self, state: Callable[[], Arrays]) -> None:
        """Write the state, if the last one is old enough."""
        if self._path is None or time.monotonic() - self._written < EVERY:
            return
        seconds = self.seconds + time.monotonic() - self._started
        with replacing(self._path) as part:
            with h5py.File(part, "w", userblock_size=sealed.SEAL_BYTES) as file:
                file.attrs.update({"problem": self._problem, "seconds": seconds})
                for name, array in state().items():
                    file[name] = array
            sealed.seal(part, _TITLE)
        self._written = time.monotonic()

    def _read(self, path: Path) -> None:
        found = sealed.state(path, _TITLE)
        if found != "whole":
            reason = "a damaged checkpoint" if found == "damaged" else "a checkpoint of another version"
            _log.warning("%s: %s is not continued; the fit starts anew", path, reason)
            return
        with h5py.File(path, "r") as stored:
            if stored.attrs["problem"] == self._problem:
                self.stored = {name: np.asarray(stored[name]) for name in stored}
                self.seconds = float(stored.attrs["seconds"])
