"""A run that has ended as one line of JSON: its record, its scores, and the few numbers behind its pictures.

Lines are small enough to be committed, so that tables, most pictures and claims can be made again where the
predictions are not. Numbers are rounded to more digits than any table shows. A line vouches for itself.
"""

import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hgpbench import files
from hgpbench.bench.manifest import Entry
from hgpbench.bench.record import GRID, Arrays, Record
from hgpbench.bench.stored import checked
from hgpbench.errors import RecordError
from hgpbench.prediction import Prediction
from hgpbench.report.collect import Run
from hgpbench.report.digest import NOISE_QUANTILES, Digest
from hgpbench.words import printable_all

FORMAT = 1
DRAWN_POINTS = 240  # along one input
TRACE_POINTS = 100
DRAWN_SIDE = 36  # of a grid of two inputs
FEW_ROWS = 500  # of which every run keeps its variational parameters
_STEP = 1e-4  # of the range of what is drawn: nobody sees less
_MOST_DIGITS = 15
_EVERY = 4  # of the quantiles one in so many: every per cent
_ORIGIN = ("begun", "versions", "source", "machine", "threads")  # and no paths of the machine
_NAMES = "input_names"
_MAPPED = ("mean", "var", "noise_var")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """One run of an experiment that has ended, well or not."""

    experiment: str
    label: str
    setting: str  # hash of all that was asked but the seed
    record: Record
    digest: Digest | None = None  # of a run that is done
    arrays: Arrays | None = None  # what its pictures need, thinned

    @property
    def seed(self) -> int:
        return self.record.seed

    @property
    def is_done(self) -> bool:
        return self.record.status == "done"

    @property
    def begun(self) -> str:
        """When its command was given, as text that sorts; empty where the record does not tell."""
        return str(self.record.provenance.get("begun") or "")

    @classmethod
    def of(cls, experiment: str, run: Run, drawn: bool) -> Self:
        """The line of a run that has ended; ``drawn`` keeps what pictures of single runs show."""
        if run.record is None:
            raise RecordError(f"{run.folder}: has not ended, so there is nothing to keep of it")
        kept = {key: value for key, value in run.record.provenance.items() if key in _ORIGIN}
        record = replace(run.record, provenance=kept, log_tail=[], predictions_sha256=None)
        small = run.record.n_inputs in (1, 2)  # only of these are predictions stored with their inputs
        arrays = _thinned(run.arrays(), drawn) if run.digest is not None and small else None
        return cls(experiment, run.entry.label, run.entry.setting, record, run.digest, arrays)

    @classmethod
    def read(cls, text: str) -> Self:
        """The line that a text is; ValueError where it is none, or was edited."""
        body = json.loads(text)
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise ValueError(f"is no line of format {FORMAT}")
        if body.pop("checksum", None) != files.checksum(body):
            raise ValueError("has another checksum than it says; it was damaged or edited")
        digest, arrays = body.get("digest"), body.get("arrays")
        return cls(
            experiment=str(body["experiment"]),
            label=str(body["label"]),
            setting=str(body["setting"]),
            record=checked(Record, body["record"]),
            digest=None if digest is None else _unpacked_digest(digest),
            arrays=None if arrays is None else _unpacked_arrays(arrays),
        )

    def text(self) -> str:
        """The line, the same for the same run whatever was read or written before."""
        body: dict[str, Any] = {
            "format": FORMAT,
            "experiment": self.experiment,
            "label": self.label,
            "setting": self.setting,
            "record": asdict(self.record),
            "digest": None if self.digest is None else _packed_digest(self.digest),
            "arrays": None if self.arrays is None else _packed_arrays(self.arrays),
        }
        body = json.loads(json.dumps(body))  # tuples are lists from here on, so that the checksum is the same
        return json.dumps(
            {**body, "checksum": files.checksum(body)}, separators=(",", ":"), ensure_ascii=False
        )

    def run(self) -> Run:
        """The run as a report knows it."""
        entry = Entry(self.label, self.record.model, self.seed, "", self.setting)
        record = Record(**printable_all(vars(self.record)))
        return Run(
            entry=entry,
            folder=Path(self.experiment),
            state=self.record.status,
            reason=record.reason,
            record=record,
            digest=self.digest,
            is_line=True,
            kept=self.arrays,
        )


def _packed_digest(digest: Digest) -> dict[str, Any]:
    """A digest with fewer quantiles and points, rounded."""
    body = asdict(digest)
    for name in ("log_noise", "log_noise_truth", "log_latent"):
        body[name] = [round(value, 4) for value in body[name][::_EVERY]]
    rows = _spaced(len(digest.trace), TRACE_POINTS)
    body["trace"] = [[int(i), _short(s, 3), _short(b, 7)] for i, s, b in (digest.trace[at] for at in rows)]
    for name in ("scores", "facts"):
        body[name] = {key: _short(value, 9) for key, value in body[name].items()}
    return body


def _unpacked_digest(body: dict[str, Any]) -> Digest:
    """The digest with as many quantiles as all others have, those between by interpolation."""
    places = np.arange(NOISE_QUANTILES)
    full = dict(body)
    for name in ("log_noise", "log_noise_truth", "log_latent"):
        values = body.get(name) or []
        full[name] = np.interp(places, places[::_EVERY], values).tolist() if values else []
    full["trace"] = [[float(value) for value in row] for row in body["trace"]]
    full["scores"], full["facts"] = (
        {key: float(value) for key, value in body[name].items()} for name in ("scores", "facts")
    )
    return checked(Digest, full)


def _thinned(arrays: Arrays | None, drawn: bool) -> Arrays | None:
    """What pictures and claims need of the arrays of a small problem; None where that is nothing."""
    if arrays is None:
        return None
    few: dict[str, NDArray[Any]] = {
        name: arrays.extras[name] for name in ("variational", "expert") if name in arrays.extras
    }
    if few and len(next(iter(few.values()))) > FEW_ROWS:
        few = {}
    if not drawn or "X_test" not in arrays.extras:
        nothing = np.empty(0)
        empty = Prediction(nothing, nothing, nothing)
        return Arrays(np.empty(0, dtype=np.int64), nothing, empty, extras=few) if few else None
    rows = _shown_rows(arrays.extras["X_test"])
    every = arrays.prediction.arrays()
    # The others are drawn along one input alone, and there from the grid where there is one.
    wanted = every if arrays.extras["X_test"].shape[1] == 1 and GRID not in arrays.extras else _MAPPED
    moments = {name: every[name][rows] for name in wanted}
    return Arrays(
        arrays.index[rows], arrays.y[rows], Prediction(**moments), None, _shown(arrays.extras, rows)
    )


def _shown(extras: dict[str, NDArray[Any]], rows: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
    """Extras for a picture: test rows thinned, the grid thinned, training rows of one input as they are."""
    found = dict[str, NDArray[Any]]()
    grid = _spaced(extras[GRID].size, DRAWN_POINTS) if GRID in extras else np.empty(0, dtype=np.intp)
    one = extras["X_test"].shape[1] == 1
    for name, values in extras.items():
        if name in ("X_test", "truth_mean", "truth_noise_var"):
            found[name] = values[rows]
        elif name.startswith(GRID):
            found[name] = values[grid]
        elif one or name == _NAMES:
            found[name] = values
    return found


def _shown_rows(X: Floats) -> NDArray[np.intp]:
    """Test rows that a picture shows: along one input, a coarser grid of two, or evenly in their order."""
    if X.shape[1] == 1:
        return np.argsort(X[:, 0], kind="stable")[_spaced(len(X), DRAWN_POINTS)]
    axes = [np.unique(column) for column in X.T]
    if np.prod([len(axis) for axis in axes]) != len(X):
        return _spaced(len(X), DRAWN_SIDE**2)
    kept = [axis[_spaced(len(axis), DRAWN_SIDE)] for axis in axes]
    return np.flatnonzero(np.isin(X[:, 0], kept[0]) & np.isin(X[:, 1], kept[1]))


def _spaced(count: int, most: int) -> NDArray[np.intp]:
    """At most so many places of a list, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, most)).round().astype(np.intp))


def _packed_arrays(arrays: Arrays) -> dict[str, Any]:
    extras = {
        name: [each.decode("utf-8", errors="replace") for each in values.tolist()]
        if name == _NAMES
        else _rounded(values)
        for name, values in arrays.extras.items()
    }
    moments = {name: _rounded(values) for name, values in arrays.prediction.arrays().items()}
    return {
        "index": arrays.index.tolist(),
        "y": _rounded(arrays.y),
        "prediction": moments,
        "extras": extras,
    }


def _unpacked_arrays(body: dict[str, Any]) -> Arrays:
    extras = {
        name: np.array([each.encode() for each in values]) if name == _NAMES else np.asarray(values)
        for name, values in body["extras"].items()
    }
    moments = {name: np.asarray(values, dtype=float) for name, values in body["prediction"].items()}
    index = np.asarray(body["index"], dtype=np.int64)
    return Arrays(index, np.asarray(body["y"], dtype=float), Prediction(**moments), None, extras)


def _rounded(values: NDArray[Any]) -> list[Any]:
    """Numbers as text would show them, whole ones as they are."""
    if values.dtype.kind in "iu":
        listed: list[Any] = values.tolist()
        return listed
    finite = values[np.isfinite(values)]
    step = float(np.ptp(finite)) * _STEP if finite.size else 0.0
    return (
        [[_near(float(v), step) for v in row] for row in values]
        if values.ndim == 2
        else [_near(float(value), step) for value in values]
    )


def _near(value: float, step: float) -> float:
    """Five digits, and more where what varies is small beside the level: a year's irradiance of 1,365."""
    size = abs(value)
    more = math.floor(math.log10(size / step)) + 2 if step > 0 and math.isfinite(size) and size > step else 0
    return _short(value, max(5, min(more, _MOST_DIGITS)))


def _short(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
