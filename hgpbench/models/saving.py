"""A fitted model as one file, and back: HDF5 with the arrays, JSON with all else, a seal over both.

No pickle: a file names parts (``parts``), and these are filled field by field. Arrays keep their type, shape
and order in memory, so that predictions are equal to the bit. The file holds predictions at a few rows, which
the loaded model has to make again: what was forged or does not fit this version is found there.
"""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeGuard

import h5py
import numpy as np
from numpy.typing import NDArray

from hgpbench import __version__, hdf5, sealed
from hgpbench.errors import RecordError
from hgpbench.files import MOST_JSON, replacing
from hgpbench.models import parts
from hgpbench.prediction import Prediction
from hgpbench.scaling import Scaling
from hgpbench.words import printable

FORMAT = 1
TITLE = f"hgpbench model {FORMAT}"
AGREEMENT = 1e-6  # of predictions, relative: machines round differently
_FAMILY = "hgpbench model "  # how the title of any version begins
_KINDS = "fiub"
_PLACES = frozenset({"cluster", "_checkpoint"})  # of a fit: a parameter, and the file of its states
_HEAD = ("model", "hgpbench", "date", "extras")

Array = NDArray[Any]
# What a file with a good seal but odd contents may make of its reader, and of the model.
_ODD = (*hdf5.DAMAGE, AssertionError, StopIteration)


class Fitted(Protocol):
    """A fitted estimator, as far as this module uses it."""

    _scaling: Scaling

    def predict_seen(self, inputs: Array) -> Prediction:
        """Predictions at valid inputs."""


@dataclass(frozen=True)
class Saved:
    """A model, and what was saved beside it."""

    model: Any  # an estimator
    hgpbench: str  # the version that wrote it
    date: str
    extras: dict[str, str]  # texts of whoever saved it, such as how a table becomes inputs


def save(model: Fitted, path: Path, extras: Mapping[str, str] | None = None) -> None:
    """Write a fitted model; the file appears whole or not at all."""
    arrays: list[Array] = []
    writer = _Writer(arrays)
    body = {
        "model": type(model).__name__,
        "hgpbench": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "extras": dict(extras or {}),
        "state": {name: writer.plain(value, name) for name, value in _kept(model).items()},
        "probe": writer.plain(_probe(model), "probe"),
    }
    text = json.dumps(body, allow_nan=False).encode()
    with replacing(path) as part:
        try:
            with h5py.File(part, "w", userblock_size=sealed.SEAL_BYTES) as file:
                file["json"] = np.frombuffer(text, dtype=np.uint8)
                for place, array in enumerate(arrays):
                    file[f"arrays/{place}"] = array
        except RuntimeError as error:  # what HDF5 makes of a failed write
            raise OSError(str(error)) from error
        sealed.seal(part, TITLE)


def _kept(model: Fitted) -> dict[str, Any]:
    """What a file has of a model: not where it was fitted, which may be gone."""
    return {name: None if name in _PLACES else value for name, value in vars(model).items()}


def load(path: Path, kinds: Mapping[str, type[Any]]) -> Saved:
    """The model in a file, one of these classes; RecordError says in a line why there is none."""
    if not path.is_file():
        raise RecordError(f"{path}: no such file")
    state = sealed.state(path, TITLE)
    if state == "other":
        raise RecordError(f"{path}: {_what_else(path)}")
    if state == "damaged":
        raise RecordError(
            f"{path}: a damaged model: its content is not what was written; copy or fit it again"
        )
    try:
        with hdf5.opened(path) as file:
            saved, probe = _read(file, kinds)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _compare(_probe(saved.model), probe)
    except (*_ODD, Warning) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise RecordError(
            printable(f"{path}: not a model that can be used ({reason:.200}); fit it again")
        ) from None
    return saved


def _what_else(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(_FAMILY.encode()):
        return f"a model of another format than {FORMAT}; fit it again with this version"
    return "not a model of hgpbench; `hgpbench fit` and model.save write such files"


def _read(file: Any, kinds: Mapping[str, type[Any]]) -> tuple[Saved, Any]:
    text = hdf5.values(file, "json")
    if text.dtype != np.uint8 or text.ndim != 1 or text.size > MOST_JSON:
        raise ValueError("its JSON is none")
    body = json.loads(text.tobytes())
    if not isinstance(body, dict) or set(body) != {*_HEAD, "state", "probe"}:
        raise ValueError("its keys are others")
    name, extras = body["model"], body["extras"]
    if not isinstance(name, str) or name not in kinds:
        raise ValueError(f"{name!r:.40} is no model of this version")
    if not _is_texts(extras) or not _is_texts({key: body[key] for key in _HEAD[:3]}):
        raise ValueError("its words are none")
    reader = _Reader(file)
    model = object.__new__(kinds[name])
    if not isinstance(body["state"], dict):
        raise ValueError("its state is none")
    for key, value in body["state"].items():
        setattr(model, _attribute(key, kinds[name]), reader.value(value))
    missing = {*model.get_params(deep=False), "_scaling", "n_features_in_"} - set(vars(model))
    if missing:
        raise ValueError(f"it lacks {', '.join(sorted(missing))}")
    return Saved(model, body["hgpbench"], body["date"], extras), reader.value(body["probe"])


def _attribute(name: str, kind: type[Any]) -> str:
    """The name of a parameter or of what a fit learnt: never that of a method."""
    if not name.isidentifier() or name.startswith("__") or callable(getattr(kind, name, None)):
        raise ValueError(f"{name!r:.40} is no attribute of a model")
    return name


def _is_texts(body: Any) -> TypeGuard[dict[str, str]]:
    return isinstance(body, dict) and all(isinstance(value, str) for value in body.values())


def _probe(model: Fitted) -> dict[str, Array]:
    """Predictions in the middle of the training rows and beside it."""
    scaling = model._scaling
    steps = np.array([-1.0, 0.0, 1.0])[:, None]
    return model.predict_seen(scaling.x_shift + steps * scaling.x_scale).arrays()


def _compare(found: dict[str, Array], stored: Any) -> None:
    fine = isinstance(stored, dict) and set(found) == set(stored)
    if not fine or not all(
        np.allclose(found[name], stored[name], rtol=AGREEMENT, atol=0.0, equal_nan=True) for name in found
    ):
        raise ValueError("it does not predict what it predicted when it was saved")


class _Writer:
    """Objects as plain data and a list of arrays; one that is used twice is stored once."""

    def __init__(self, arrays: list[Array]) -> None:
        self._arrays, self._places, self._held = arrays, dict[int, int](), list[Any]()

    def plain(self, value: Any, where: str) -> Any:
        """The value as JSON has it; TypeError names what no file can hold."""
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
            return ["scalar", self._kept(np.asarray(value))]
        if isinstance(value, float):
            return value if np.isfinite(value) else ["float", repr(value)]
        if isinstance(value, type):
            return ["class", self._known(value, where)]
        if type(value) in (list, tuple):
            return [type(value).__name__, [self.plain(each, f"{where}[...]") for each in value]]
        if type(value) is dict:
            return [
                "dict",
                [
                    [self.plain(key, where), self.plain(each, f"{where}[{key!r}]")]
                    for key, each in value.items()
                ],
            ]
        return ["part", *self._part(value, where)]

    def _part(self, value: Any, where: str) -> tuple[str, dict[str, Any]]:
        name = self._known(type(value), where)
        if name in parts.FORGETFUL:
            return name, {}
        names = parts.field_names(type(value))
        return name, {each: self.plain(getattr(value, each), f"{where}.{each}") for each in names}

    def _known(self, kind: type[Any], where: str) -> str:
        name = parts.name_of(kind)
        if name is None:
            raise TypeError(
                f"{where} is a {kind.__module__}.{kind.__qualname__}, which is not among models/parts.py"
            )
        return name

    def _array(self, value: Array, where: str) -> list[Any]:
        if value.dtype.kind == "O":
            names = value.tolist()
            if value.ndim != 1 or not all(isinstance(name, str) for name in names):
                raise TypeError(f"{where} holds objects that no file can hold")
            return ["names", names]
        if value.dtype.kind not in _KINDS:
            raise TypeError(f"{where} holds {value.dtype}, which no file of a model can")
        turned = value.flags.f_contiguous and not value.flags.c_contiguous
        return ["turned" if turned else "array", self._kept(value)]

    def _kept(self, value: Array) -> int:
        if id(value) not in self._places:
            turned = value.flags.f_contiguous and not value.flags.c_contiguous
            self._places[id(value)] = len(self._arrays)
            self._arrays.append(value.T if turned else value)
            self._held.append(value)  # so that no other takes its place in memory
        return self._places[id(value)]


class _Reader:
    """The way back; ValueError or what HDF5 raises where the file does not hold it."""

    def __init__(self, file: Any) -> None:
        self._arrays = hdf5.group(file, "arrays")
        self._read: dict[int, Array] = {}

    def value(self, plain: Any) -> Any:
        """What ``_Writer.plain`` was given."""
        if not isinstance(plain, list):
            if isinstance(plain, dict):
                raise ValueError("a mapping where a value should be")
            return plain
        what, *rest = plain
        if what == "part":
            return self._part(*rest)
        [content] = rest
        if what == "dict":
            return {self.value(key): self.value(each) for key, each in content}
        if what in ("list", "tuple"):
            values = [self.value(each) for each in content]
            return values if what == "list" else tuple(values)
        if what == "names":
            return np.array([str(name) for name in content], dtype=object)
        if what == "float":
            return float(content)
        if what == "class":
            return parts.find(content)
        array = self._array(content)
        if what == "scalar":
            return array[()]
        if what not in ("array", "turned"):
            raise ValueError(f"{what!r:.40} is no kind of value")
        return array.T if what == "turned" else array

    def _part(self, name: Any, content: Any) -> Any:
        if not isinstance(name, str) or not isinstance(content, dict):
            raise ValueError("a part without a name")
        kind = parts.find(name)
        if name in parts.FORGETFUL:
            return kind()
        return parts.build(kind, {key: self.value(each) for key, each in content.items()})

    def _array(self, place: Any) -> Array:
        if not isinstance(place, int):
            raise ValueError("an array without a number")
        if place not in self._read:
            self._read[place] = hdf5.values(self._arrays, str(place))
        return self._read[place]
