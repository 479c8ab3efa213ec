"""The record of one run: ``record.json`` and ``predictions.h5``, each complete or absent.

``predictions.h5`` is renamed into place first and ``record.json`` last, carrying the hash of the former and a
checksum of itself. A run is finished exactly when ``read`` succeeds. No pickle anywhere.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
from numpy.typing import NDArray

from hgpbench import files
from hgpbench.errors import RecordError
from hgpbench.prediction import Prediction

FORMAT = 1
RECORD = "record.json"
PREDICTIONS = "predictions.h5"
LOG = "log.txt"
CHECKPOINT = "checkpoint.h5"  # of a fit under way; gone once the run has ended

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
    # its parameter in Lambda


def write(folder: Path, record: Record, arrays: Arrays | None = None) -> None:
    """Store a run; the arrays land before the record that vouches for them."""
    if arrays is not None:
        with files.replacing(folder / PREDICTIONS) as part:
            _write_arrays(part, arrays)
            digest = files.sha256_of(part)
        record = replace(record, predictions_sha256=digest)
    body = {"format": FORMAT, **asdict(record)}
    try:
        text = json.dumps({**body, "checksum": _checksum(body)}, indent=1, allow_nan=False)
    except ValueError as error:
        raise RecordError(f"{folder / RECORD}: a value is not a finite number ({error})") from error
    files.write_text(folder / RECORD, text + "\n")


def read(folder: Path) -> Record:
    """The stored record, or RecordError saying what is wrong with it."""
    path = folder / RECORD
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordError(f"{path}: no record") from None
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: unreadable ({error})") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise RecordError(f"{path}: not a record of format {FORMAT}; another version of hgpbench wrote it")
    if body.pop("checksum", None) != _checksum(body):
        raise RecordError(f"{path}: checksum does not match; the file was damaged or edited")
    del body["format"]
    record = Record(**body)
    if record.predictions_sha256 is not None:
        stored = folder / PREDICTIONS
        if not stored.is_file() or files.sha256_of(stored) != record.predictions_sha256:
            raise RecordError(f"{stored}: missing or not the file that {RECORD} vouches for")
    return record


def find(folder: Path) -> Record | None:
    """The stored record, or None where there is no usable one."""
    try:
        return read(folder)
    except RecordError:
        return None


def read_arrays(folder: Path) -> Arrays:
    """The arrays of a finished run."""
    path = folder / PREDICTIONS
    try:
        with h5py.File(path, "r") as file:
            moments = {name: file["prediction"][name][...] for name in file["prediction"]}
            extras = {name: file["extras"][name][...] for name in file["extras"]}
            trace = file["trace"][...] if "trace" in file else None
            return Arrays(file["index"][...], file["y"][...], Prediction(**moments), trace, extras)
    except (OSError, KeyError, TypeError) as error:
        raise RecordError(f"{path}: unreadable ({error})") from error


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


def _checksum(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
