"""The record of one run: ``record.json`` and ``predictions.h5``, each complete or absent.

``predictions.h5`` is renamed into place first and ``record.json`` last, carrying the hash of the former and a
checksum of itself. A run is finished exactly when ``read`` succeeds. No pickle anywhere.
"""

import json
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
from numpy.typing import NDArray

from hgpbench import files, hdf5
from hgpbench.bench.stored import checked
from hgpbench.errors import RecordError
from hgpbench.prediction import Prediction

FORMAT = 1
RECORD = "record.json"
PREDICTIONS = "predictions.h5"
LOG = "log.txt"
GRID = "grid"  # of one input, and what begins the names of the moments predicted on it
CHECKPOINT = "checkpoint.h5"  # of a fit under way; gone once the run has ended

_PLACE = re.compile(r"([0-9a-f]{16})-seed(\d+)(?:-([0-9a-f]{12}))?(?:~\d+)?")
"""A run's folder, or one set aside: what was asked, the seed, and the code, where that counted."""
_DRAWN = ("y", "X_test", "X_train", "y_train", "truth_mean", "truth_noise_var", GRID)

Stamp = tuple[int, int]  # number and time of a file
Status = Literal["done", "failed", "timeout", "memory", "killed", "skipped"]


@dataclass(frozen=True)
class Record:
    """Everything known about one run, apart from its arrays."""

    status: Status
    reason: str | None
    experiment: str
    label: str
    model: str
    params: dict[str, Any]
    seed: int
    identity: str
    dataset: dict[str, Any]  # name, variant, sha256, target, synthetic
    split: dict[str, Any]  # as asked for: train, test
    n_train: int | None = None
    n_test: int | None = None
    n_inputs: int | None = None
    train_mean: float | None = None  # of the training targets, in the user's units
    train_var: float | None = None
    seen_share: float | None = None  # of the test rows, those whose inputs are exactly a training row's
    timings: dict[str, float] = field(default_factory=dict)  # fit_wall, fit_cpu, predict_wall, predict_cpu
    peak_memory: int | None = None  # bytes
    fit: dict[str, Any] = field(default_factory=dict)  # outcome, elbo, iterations, ...
    provenance: dict[str, Any] = field(default_factory=dict)
    log_tail: list[str] = field(default_factory=list)
    predictions_sha256: str | None = None
    code: str | None = None  # hash of what computed it; None where an earlier version of hgpbench did


@dataclass(frozen=True, eq=False)
class Arrays:
    """The arrays of one finished run, in the user's units."""

    index: NDArray[np.int64]  # test rows in the dataset file
    y: NDArray[np.float64]
    prediction: Prediction
    trace: NDArray[np.float64] | None = None  # (k, 3): iteration, seconds, bound
    extras: dict[str, NDArray[Any]] = field(default_factory=dict)
    # extras, each where it makes sense: X_test, X_train, y_train (small problems, one or two inputs) and
    # input_names (bytes) with them, truth_mean, truth_noise_var (synthetic data), inducing_f, inducing_g
    # (models that have them); in the order of X_train: expert, the number of a row's expert, and variational,
    # its parameter in Lambda; of one input, grid and the moments grid_mean, grid_var, ... predicted on it


def write(folder: Path, record: Record, arrays: Arrays | None = None) -> None:
    """Store a run; the arrays land before the record that vouches for them."""
    if arrays is not None:
        with files.replacing(folder / PREDICTIONS) as part:
            _write_arrays(part, arrays)
            digest = files.sha256_of(part)
        record = replace(record, predictions_sha256=digest)
    body = {"format": FORMAT, **asdict(record)}
    try:
        text = json.dumps({**body, "checksum": files.checksum(body)}, indent=1, allow_nan=False)
    except ValueError as error:
        raise RecordError(f"{folder / RECORD}: a value is not a finite number ({error})") from error
    files.write_text(folder / RECORD, text + "\n")


def read(folder: Path) -> Record:
    """The stored record, or RecordError saying what is wrong with it."""
    path = folder / RECORD
    try:
        body = files.read_json(path)
    except FileNotFoundError:
        raise RecordError(f"{path}: no record") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RecordError(f"{path}: unreadable ({error})") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise RecordError(f"{path}: not a record of format {FORMAT}; another version of hgpbench wrote it")
    if body.pop("checksum", None) != files.checksum(body):
        raise RecordError(f"{path}: checksum does not match; the file was damaged or edited")
    try:
        record = checked(Record, body)
    except ValueError as error:
        raise RecordError(f"{path}: unreadable ({error})") from None
    _check_predictions(folder / PREDICTIONS, record.predictions_sha256)
    return record


def read_at(folder: Path, model: str, seed: int) -> Record:
    """The record of this model and seed; RecordError where it is that of another run, put in its place.

    A folder is named by the identity of its run. Labels are not compared: experiments share runs, each under
    a label of its own.
    """
    record = read(folder)
    if not _fits(record, folder.name) or (record.model, record.seed) != (model, seed):
        raise RecordError(
            f"{folder / RECORD}: is the record of another run ({record.model}, seed {record.seed}); "
            f"it was moved or copied here"
        )
    return record


def _fits(record: Record, name: str) -> bool:
    """Whether a folder of this name is the record's own; one with a name of another kind may be."""
    place = _PLACE.fullmatch(name)
    if place is None:
        return True
    asked, seed, code = place.groups()
    return (record.identity[:16], str(record.seed)) == (asked, seed) and (
        code is None or (record.code or "").startswith(code)
    )


def find(folder: Path) -> Record | None:
    """The stored record, or None where there is no usable one."""
    try:
        return read(folder)
    except RecordError:
        return None


def find_at(folder: Path, model: str, seed: int) -> Record | None:
    """The stored record of this model and seed, or None where there is no usable one."""
    try:
        return read_at(folder, model, seed)
    except RecordError:
        return None


def read_arrays(folder: Path) -> Arrays:
    """The arrays of a finished run."""
    path = folder / PREDICTIONS
    try:
        with hdf5.opened(path) as file:
            moments, extras = (_members(file, name) for name in ("prediction", "extras"))
            trace = hdf5.values(file, "trace") if "trace" in file else None
            index, y = hdf5.values(file, "index"), hdf5.values(file, "y")
        arrays = Arrays(index, y, Prediction(**moments), trace, extras)
        _check_shapes(arrays)
        return arrays
    except hdf5.DAMAGE as error:
        raise RecordError(f"{path}: unreadable ({error})") from error


def stamp(folder: Path, name: str = RECORD) -> Stamp | None:
    """Which record (or other file) lies in a folder, without reading it: each one is a new file."""
    try:
        found = (folder / name).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _members(file: Any, name: str) -> dict[str, NDArray[Any]]:
    group = hdf5.group(file, name)
    return {each: hdf5.values(group, each) for each in group}


def _check_shapes(arrays: Arrays) -> None:
    """Whether the arrays belong together; ValueError names the one that does not."""
    rows, extras = len(arrays.y), arrays.extras
    inputs = next((extras[name].shape[-1] for name in ("X_test", "X_train") if name in extras), None)
    trained = next((len(extras[name]) for name in ("X_train", "y_train") if name in extras), None)
    expected = {
        **dict.fromkeys(("truth_mean", "truth_noise_var"), (rows,)),
        **dict.fromkeys(("y_train", "expert", "variational"), (trained,)),
        "X_test": (rows, inputs),
        "X_train": (trained, inputs),
        "input_names": (inputs,),
    }
    parts: dict[str, tuple[NDArray[Any], tuple[int | None, ...]]]
    parts = {name: (extras[name], shape) for name, shape in expected.items() if name in extras}
    on_grid = (extras[GRID].size,) if GRID in extras else (None,)
    parts |= {name: (values, on_grid) for name, values in extras.items() if name.startswith(GRID)}
    parts |= {name: (values, (rows,)) for name, values in arrays.prediction.arrays().items()}
    parts |= {"y": (arrays.y, (rows,)), "index": (arrays.index, (rows,))}
    if arrays.trace is not None:
        parts["trace"] = (arrays.trace, (len(arrays.trace), 3))
    for name, (values, shape) in parts.items():
        is_text = name == "input_names"
        if (None not in shape and values.shape != shape) or (values.dtype.kind == "S") != is_text:
            raise ValueError(f"{name} has shape {values.shape} and type {values.dtype}")
        if name in _DRAWN and not np.all(np.isfinite(values)):
            raise ValueError(f"{name} is not finite")


def _check_predictions(path: Path, expected: str | None) -> None:
    if expected is None:
        return
    try:
        found = files.sha256_of(path) if path.is_file() else None
    except OSError as error:
        raise RecordError(f"{path}: unreadable ({error})") from error
    if found != expected:
        raise RecordError(f"{path}: missing or not the file that {RECORD} vouches for")


def log_tail(folder: Path, lines: int = 20) -> list[str]:
    """The last lines of a run's log, from its last few kilobytes."""
    path = folder / LOG
    if not path.is_file():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 16_384))
        text = file.read().decode("utf-8", errors="replace")
    return text.splitlines()[-lines:]


def _write_arrays(path: Path, arrays: Arrays) -> None:
    with h5py.File(path, "w") as file:
        file["index"] = arrays.index
        file["y"] = arrays.y
        for name, values in arrays.prediction.arrays().items():
            file[f"prediction/{name}"] = values
        extras = file.create_group("extras")
        for name, values in arrays.extras.items():
            extras[name] = values
        if arrays.trace is not None:
            file["trace"] = arrays.trace
