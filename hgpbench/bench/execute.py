"""One run, top to bottom: the protocol of the paper's experiments."""

import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from hgpbench.bench import answers, curve, estimators, overlap, provenance
from hgpbench.bench.job import Job
from hgpbench.bench.memory import Meter
from hgpbench.bench.record import Arrays, Record
from hgpbench.data.source import Fold, open_source
from hgpbench.data.split import Split
from hgpbench.errors import DataError
from hgpbench.prediction import Array, Prediction
from hgpbench.scaling import Scaling

Progress = Callable[[str, int, int | None, float | None], None]  # phase, step, total, bound

PICTURE_ROWS = 5_000  # training rows kept beside the predictions, so that small problems can be drawn


@dataclass(frozen=True)
class Clock:
    """Wall and processor time since it was made, on monotonic clocks."""

    wall: float
    cpu: float

    @classmethod
    def start(cls) -> "Clock":
        return cls(time.perf_counter(), _cpu_time())

    def read(self, name: str) -> dict[str, float]:
        return {f"{name}_wall": time.perf_counter() - self.wall, f"{name}_cpu": _cpu_time() - self.cpu}


def execute(job: Job, origin: dict[str, Any], progress: Progress, checkpoint: Path) -> tuple[Record, Arrays]:
    """Load, split by seed, standardise on training rows where the model does not, fit, predict."""
    total = Clock.start()
    source = open_source(job.dataset["name"], job.dataset["variant"])
    if source.sha256 != job.dataset["sha256"]:
        raise DataError(f"dataset {source.name} changed since the run was planned; start the command again")
    fold = source.fold(Split(**job.split), job.seed)
    model = estimators.build(job)
    scaling = estimators.scaling(model, fold.X_train, fold.y_train)
    X_train, y_train, X_test = scaled(fold, scaling)

    with threadpool_limits(job.threads), Meter() as meter:
        progress("fit", 0, None, None)
        clock = Clock.start()
        before = estimators.fit(model, X_train, y_train, partial(progress, "fit"), checkpoint)
        timings = clock.read("fit")
        timings["fit_wall"] += before  # of attempts that were killed and continued here

        progress("predict", 0, None, None)
        clock = Clock.start()
        prediction = answers.predict(model, X_test)
        timings |= clock.read("predict")
        pools = provenance.blas()

    if scaling is not None:
        prediction = scaling.undo(prediction)
    answers.check(prediction, len(fold.y_test))
    record = Record(
        status="done",
        reason=None,
        **job.described(),
        n_train=len(fold.y_train),
        n_test=len(fold.y_test),
        n_inputs=fold.X_train.shape[1],
        train_mean=float(np.mean(fold.y_train)),
        train_var=float(np.var(fold.y_train)),
        timings=timings | total.read("total"),
        peak_memory=max(meter.peak, peak_memory()),
        seen_share=overlap.share_seen(fold.X_train, fold.X_test),  # after time and memory were taken
        fit=outcome(model) | {"resumed_after": before},
        provenance={**origin, "blas": pools, "threads": job.threads},
    )
    return record, arrays(fold, fold.columns or source.columns, prediction, model, scaling)


def scaled(fold: Fold, scaling: Scaling | None) -> tuple[Array, Array, Array]:
    """Training inputs, training targets and test inputs, in the units that the model is given."""
    if scaling is None:
        return fold.X_train, fold.y_train, fold.X_test
    return scaling.inputs(fold.X_train), scaling.target(fold.y_train), scaling.inputs(fold.X_test)


def outcome(model: Any) -> dict[str, Any]:
    """How the fit ended, as far as the model says; its bound is that of the standardised target."""
    elbo = answers.number(answers.remark(model, "elbo_"))
    return {
        "outcome": answers.remark(model, "outcome_"),
        "elbo": None if elbo is None else elbo - units(model),
        "iterations": answers.remark(model, "n_iter_"),
        "evaluations": answers.remark(model, "n_evaluations_"),
        "jitter": answers.remark(model, "jitter_"),
        "starts": answers.starts(model),
        "kernels": answers.kernels(model),
        "explained": answers.number(answers.remark(model, "explained_")),
    }


def units(model: Any) -> float:
    """What the units of the target add to a model's bounds: zero for one that was given scaled rows."""
    return answers.number(answers.remark(model, "log_jacobian_")) or 0.0


def arrays(
    fold: Fold, columns: Sequence[str], prediction: Prediction, model: Any, scaling: Scaling | None
) -> Arrays:
    """What is stored beside the record; inputs, and what belongs to them, only where they can be drawn."""
    extras: dict[str, Any] = {}
    if fold.truth_mean is not None and fold.truth_noise_var is not None:
        extras |= {"truth_mean": fold.truth_mean, "truth_noise_var": fold.truth_noise_var}
    if fold.X_train.shape[1] <= 2:
        extras["X_test"] = fold.X_test
        if columns:
            extras["input_names"] = np.char.encode(np.array(columns), "utf-8")
        if len(fold.y_train) <= PICTURE_ROWS:
            extras |= {"X_train": fold.X_train, "y_train": fold.y_train}
            for name, attribute in (("expert", "labels_"), ("variational", "lam_")):
                values = answers.numbers(model, attribute, 1)
                if values is not None and values.shape == fold.y_train.shape:
                    extras[name] = values
        for name in ("inducing_f", "inducing_g"):
            points = answers.numbers(model, f"{name}_", 2)
            if points is not None and points.shape[1] == fold.X_train.shape[1]:
                extras[name] = points if scaling is None else scaling.undo_inputs(points)
        extras |= curve.curve(model, fold, scaling)
    trace = answers.numbers(model, "trace_", 2)
    if trace is not None:
        trace = trace - np.array([0.0, 0.0, units(model)]) if trace.shape[1] == 3 else None
    return Arrays(fold.test_index, fold.y_test, prediction, trace, extras)


def peak_memory() -> int:
    """Largest resident size of this process alone, as the system counted it, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _cpu_time() -> float:
    """Processor time of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
