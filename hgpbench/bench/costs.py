"""What runs cost, told by earlier ones or by arithmetic: every record is read once, however many are due."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

from hgpbench.bench import effort, provenance
from hgpbench.bench import record as records
from hgpbench.bench.job import COSTS_ONLY, RUNS, Job
from hgpbench.bench.record import Record

Guess = Callable[[Job], float | None]  # by arithmetic; None where nothing is known


@dataclass(frozen=True)
class Estimate:
    """What runs should take, one after the other."""

    seconds: float = 0.0
    memory: float = 0.0  # bytes of the largest, of those that are known
    guessed: int = 0  # runs of which only their arithmetic is known
    unknown: int = 0  # runs of which nothing is known: they are not in the seconds

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            self.seconds + other.seconds,
            max(self.memory, other.memory),
            self.guessed + other.guessed,
            self.unknown + other.unknown,
        )


def estimate(jobs: Iterable[Job], results: Path, seconds: Guess, memory: Guess) -> Estimate:
    """What the jobs should take, by earlier runs, or else by guesses."""
    known: dict[Path, _Earlier] = {}
    seconds, memory = _by_setting(seconds), _by_setting(memory)
    total = Estimate()
    for job in jobs:
        folder = results / job.folder.parent  # of all runs of the model on the dataset
        if folder not in known:
            known[folder] = _earlier(folder)
        setting = _setting(job.params, job.split)
        took, most = known[folder].seconds_of(setting), known[folder].peaks.get(setting) or memory(job) or 0.0
        if took is not None:
            total += Estimate(took, most)
            continue
        guessed = seconds(job)
        total += Estimate(0.0, most, unknown=1) if guessed is None else Estimate(guessed, most, guessed=1)
    return total


def _by_setting(guess: Guess) -> Guess:
    """The guess, made once for all seeds."""
    made: dict[str, float | None] = {}

    def looked_up(job: Job) -> float | None:
        if job.setting not in made:
            made[job.setting] = guess(job)
        return made[job.setting]

    return looked_up


def by_arithmetic(job: Job, rows: int, inputs: int, results: Path) -> float | None:
    """Seconds of a fit to so many rows: from fits of other sizes, or else from this machine's speed."""
    times = measured(job.model, job.params, results)
    if times:
        nearest = min(times, key=lambda each: abs(each.rows - rows))
        then, now = (job.params, nearest.rows), (job.params, rows)
        return nearest.seconds * effort.ratio(job.model, then, now, inputs)
    return effort.seconds(job.model, job.params, rows, inputs)


@dataclass(frozen=True)
class Measured:
    """What fits of one size took: the median of their wall-clock seconds."""

    dataset: str
    rows: int
    threads: int
    seconds: float
    runs: int


def measured(model: str, params: dict[str, Any], results: Path) -> list[Measured]:
    """Fits of the model with these parameters, done earlier on a processor like this one, by their rows."""
    cpu = provenance.machine()["cpu"]
    found: dict[tuple[int, str, int], list[float]] = {}
    for folder in sorted(results.glob(f"{RUNS}/*/{model}/*/")):
        record = records.find(folder)
        if record is None or record.n_train is None or not _is_fit(record, model, params, cpu):
            continue
        name, threads = str(record.dataset.get("name")), record.provenance.get("threads")
        size = record.n_train, name, threads if isinstance(threads, int) else 1
        found.setdefault(size, []).append(record.timings["fit_wall"])
    return [
        Measured(name, rows, threads, median(times), len(times))
        for (rows, name, threads), times in sorted(found.items())
    ]


def _is_fit(record: Record, model: str, params: dict[str, Any], cpu: str) -> bool:
    """Whether a record is of a finished fit with these parameters on this processor."""
    machine = record.provenance.get("machine")
    return (
        (record.status, record.model) == ("done", model)
        and "fit_wall" in record.timings
        and isinstance(machine, dict)
        and machine.get("cpu") == cpu
        and _computing(record.params) == _computing(params)
    )


def _computing(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters but those of workers and memory, which a config may leave to the machine."""
    return {name: value for name, value in params.items() if name not in COSTS_ONLY}


@dataclass
class _Earlier:
    """Total times and memory of the finished runs of a model on a dataset, by setting."""

    by_setting: dict[str, list[float]] = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)

    def seconds_of(self, setting: str) -> float | None:
        """The mean of the same setting, or else of all."""
        key = setting if setting in self.by_setting else ""
        if key not in self.means and self.by_setting:
            times = self.by_setting.get(key) or [t for each in self.by_setting.values() for t in each]
            self.means[key] = mean(times)
        return self.means.get(key)


def _earlier(folder: Path) -> _Earlier:
    found = _Earlier()
    for path in folder.glob("*/"):
        record = records.find(path)
        if record is not None and record.status == "done" and "total_wall" in record.timings:
            setting = _setting(record.params, record.split)
            found.by_setting.setdefault(setting, []).append(record.timings["total_wall"])
            if record.peak_memory is not None:
                found.peaks[setting] = max(found.peaks.get(setting, 0.0), record.peak_memory)
    return found


def _setting(params: dict[str, Any], split: dict[str, Any]) -> str:
    return json.dumps([params, split], sort_keys=True, default=str)
