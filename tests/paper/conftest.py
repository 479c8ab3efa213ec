"""Experiments made in memory, their runs with the very numbers that a claim looks at."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hgpbench.bench.manifest import Entry, Manifest
from hgpbench.bench.record import Arrays, Record
from hgpbench.metrics import METRICS
from hgpbench.paper.published import load
from hgpbench.prediction import Prediction
from hgpbench.report.collect import Experiment, Run
from hgpbench.report.digest import NOISE_QUANTILES, Digest, compute
from tests.report.conftest import Fake, Results

NO_FACTS = (
    "total_seconds",
    "processor_seconds",
    "fit_processor_seconds",
    "peak_memory_gb",
    "noise_tail",
    "trace",
    "elbo",
)
Numbers = Mapping[str, Any]  # quantity -> value, or one value per seed; besides trace and elbo


def build(
    name: str,
    models: Mapping[str, Numbers],
    seeds: int = 3,
    planned: tuple[str, ...] = (),
    dataset: Mapping[str, Any] | None = None,
    n_train: int | None = None,
    fresh: bool = False,
) -> Experiment:
    """An experiment whose runs are all done, apart from those of the labels in ``planned``."""
    base = name.removesuffix("-quick")
    setup = next(s for known, s in load().experiments.items() if base == known or base in s.parts)
    about = {"name": setup.dataset, "variant": None, "synthetic": fresh, **(dataset or {})}
    rows = n_train or setup.train or 500, setup.test or 100
    runs = []
    for label in (*models, *planned):
        for seed in range(seeds):
            entry = Entry(label, label, seed, f"runs/{label}/{seed}", label)
            if label in planned:
                runs.append(Run(entry, Path("nowhere"), "not run"))
                continue
            values = {
                key: each[seed] if isinstance(each, tuple) else each for key, each in models[label].items()
            }
            runs.append(
                Run(entry, Path("nowhere"), "done", None, record(entry, about, values, rows), digest(values))
            )
    entries = tuple(run.entry for run in runs)
    return Experiment(Manifest(name, name, about, {"train": rows[0], "test": rows[1]}, entries), tuple(runs))


def record(entry: Entry, about: dict[str, Any], values: Numbers, rows: tuple[int, int]) -> Record:
    return Record(
        status="done",
        reason=None,
        experiment="",
        label=entry.label,
        model=entry.model,
        params={},
        seed=entry.seed,
        identity="",
        dataset=about,
        split={"train": rows[0], "test": rows[1]},
        n_train=rows[0],
        n_test=rows[1],
        n_inputs=1,
        train_mean=0.0,
        train_var=1.0,
        timings={
            "fit_wall": values.get("total_seconds", 1.0),
            "predict_wall": 0.0,
            "fit_cpu": values.get("processor_seconds", values.get("fit_processor_seconds", 1.0)),
            "predict_cpu": 0.0,
        },
        peak_memory=int(values["peak_memory_gb"] * 1e9) if "peak_memory_gb" in values else None,
        fit={"elbo": values.get("elbo")},
    )


def digest(values: Numbers) -> Digest:
    scores = dict.fromkeys(METRICS, 0.5) | {k: v for k, v in values.items() if k in METRICS}
    scores["msll"] = values.get("msll", scores["msll_gaussian"])
    tail = values.get("noise_tail", 0.0)
    last = NOISE_QUANTILES - 1
    slope = tail / (last // 2 - last // 100)
    facts = {key: value for key, value in values.items() if key not in (*METRICS, *NO_FACTS)}
    log_noise = tuple((slope * np.arange(NOISE_QUANTILES)).tolist())
    trace = tuple(values.get("trace", ()))
    return replace(empty(), scores=scores, log_noise=log_noise, trace=trace, facts=facts)


@cache
def empty() -> Digest:
    """A digest of nothing much, to be filled with what matters."""
    entry = Entry("", "", 0, "", "")
    prediction = Prediction.gaussian(np.zeros(2), np.ones(2), 1.0)
    arrays = Arrays(np.arange(2), np.array([-1.0, 1.0]), prediction)
    return compute(record(entry, {}, {}, (2, 2)), arrays)


@pytest.fixture(scope="session")
def fake() -> Callable[..., Fake]:
    return Fake


@pytest.fixture(scope="session")
def results_at() -> Callable[[Path], Results]:
    return Results


@pytest.fixture(scope="session")
def make() -> Callable[..., Experiment]:
    return build
