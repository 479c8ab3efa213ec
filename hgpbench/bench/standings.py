"""How the models of a round did, from its records: scores to choose by, and what runs took."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from hgpbench.bench.halving import Params, Result
from hgpbench.bench.record import Record
from hgpbench.metrics import METRICS


def standings(
    results: Path, name: str, given: Mapping[str, Params], labels: Sequence[str], rows: int, seed: int
) -> list[Result]:
    """How the models of an experiment did with a seed; an earlier comparison may have planned others."""
    found = list[Result]()
    for entry in _entries(results, name, labels, seed):
        folder = results / entry.folder
        record = records.find(folder)
        if record is not None and record.status == "done":
            took = processor_seconds(record)
            found.append(Result(entry.label, _msll(folder, record), took, rows, given[entry.label]))
    return found


@dataclass(frozen=True)
class Trouble:
    """Why a model has no score."""

    reason: str
    is_late: bool = False  # it was stopped for the time that it took


def troubles(results: Path, name: str, labels: Sequence[str], seed: int) -> dict[str, Trouble]:
    """Why models of an experiment have no score with a seed."""
    found = dict.fromkeys(labels, Trouble("not run"))
    for entry in _entries(results, name, labels, seed):
        record = records.find(results / entry.folder)
        if record is not None and record.status != "done":
            reason = " ".join((record.reason or record.status).split())[:200]
            found[entry.label] = Trouble(reason, record.status == "timeout")
    return found


def _entries(results: Path, name: str, labels: Sequence[str], seed: int) -> list[manifests.Entry]:
    entries = manifests.read(results / name).entries
    return [entry for entry in entries if entry.seed == seed and entry.label in labels]


def processor_seconds(record: Record) -> float:
    """What a run took of the processors, as far as that is known."""
    return float(record.timings.get("total_cpu", record.timings.get("total_wall", 0.0)))


def _msll(folder: Path, record: Record) -> float:
    arrays = records.read_arrays(folder)
    asked = arrays.y, arrays.prediction, float(record.train_mean or 0.0), float(record.train_var or 1.0)
    found = METRICS["msll"].function(*asked)
    return found if math.isfinite(found) else math.inf
