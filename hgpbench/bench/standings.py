"""How the models of a round did, from its records: scores to choose by, and what runs took."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from hgpbench.bench.halving import Params, Result
from hgpbench.bench.record import Record
from hgpbench.metrics import METRICS


def standings(
    results: Path, name: str, given: Mapping[str, Params], labels: Sequence[str], rows: int
) -> list[Result]:
    """The models of an experiment of which every planned run is done."""
    scores: dict[str, list[tuple[float, float]]] = {label: [] for label in labels}
    for entry in manifests.read(results / name).entries:
        if entry.label not in scores:
            continue
        folder = results / entry.folder
        record = records.find(folder)
        if record is None or record.status != "done":
            del scores[entry.label]
        else:
            scores[entry.label].append((_msll(folder, record), processor_seconds(record)))
    return [
        Result(label, mean(msll for msll, _ in each), max(took for _, took in each), rows, given[label])
        for label, each in scores.items()
        if each
    ]


@dataclass(frozen=True)
class Trouble:
    """Why a model has no score."""

    reason: str
    is_late: bool = False  # it was stopped for the time that it took


def troubles(results: Path, name: str, labels: Sequence[str]) -> dict[str, Trouble]:
    """Why models of an experiment have no score: what the first of their runs that was not done says."""
    found = dict.fromkeys(labels, Trouble("not run"))
    for entry in reversed(manifests.read(results / name).entries):
        record = records.find(results / entry.folder) if entry.label in found else None
        if record is not None and record.status != "done":
            reason = " ".join((record.reason or record.status).split())[:200]
            found[entry.label] = Trouble(reason, record.status == "timeout")
    return found


def processor_seconds(record: Record) -> float:
    """What a run took of the processors, as far as that is known."""
    return float(record.timings.get("total_cpu", record.timings.get("total_wall", 0.0)))


def _msll(folder: Path, record: Record) -> float:
    arrays = records.read_arrays(folder)
    asked = arrays.y, arrays.prediction, float(record.train_mean or 0.0), float(record.train_var or 1.0)
    found = METRICS["msll"].function(*asked)
    return found if math.isfinite(found) else math.inf
