"""Results folders made through the same writers as the bench, with synthetic predictions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hgpbench.bench import manifest, record
from hgpbench.bench.manifest import Entry, Manifest
from hgpbench.bench.record import Arrays, Record
from hgpbench.prediction import Prediction

PROVENANCE = {
    "machine": {"cpu": "Test CPU", "memory": 8_000_000_000, "os": "TestOS 1"},
    "versions": {"hgpbench": "0.1.0", "python": "3.11.0", "numpy": "2.0.0", "scipy": "1.14.0"},
    "source": {"git_sha": "0123456789abcdef", "git_dirty": False},
    "threads": 1,
}

# The plots of these results: one input, no sweep.
DRAWN = {"tradeoff", "boxes", "one_input", "variational", "noise", "calibration", "pit", "traces"}


@dataclass(frozen=True)
class Fake:
    """A pretended model: how wrong its mean is and what it says of the noise."""

    label: str
    error: float = 0.0  # standard deviation of the error of the mean, in units of the signal
    mixture: bool = False
    noise: float | None = None  # constant noise variance claimed; None: the true one
    seconds: float = 1.0
    experts: int = 0  # contiguous ones, numbered from the right


@dataclass(frozen=True)
class Results:
    """A results folder under construction."""

    root: Path
    n_test: int = 400
    n_train: int = 1000
    dataset: dict[str, Any] = field(
        default_factory=lambda: {"name": "bumps", "variant": None, "target": "height"}
    )
    split: dict[str, Any] = field(default_factory=lambda: {"train": 1000, "test": "rest"})

    def experiment(self, name: str, fakes: list[Fake], seeds: int) -> Path:
        """Plan and finish every run of an experiment."""
        entries = [self.entry(fake.label, seed) for fake in fakes for seed in range(seeds)]
        self.plan(name, entries)
        for fake in fakes:
            for seed in range(seeds):
                self.finish(fake, seed)
        return self.root / name

    def entry(self, label: str, seed: int) -> Entry:
        return Entry(label, "model", seed, f"runs/{label}/{seed}", f"setting-{label}")

    def plan(self, name: str, entries: list[Entry]) -> None:
        dataset = {key: self.dataset[key] for key in ("name", "variant")}
        manifest.write(self.root / name, Manifest(name, f"About {name}", dataset, self.split, tuple(entries)))

    def folder(self, label: str, seed: int) -> Path:
        return self.root / "runs" / label / str(seed)

    def record(self, label: str, seed: int, **changes: Any) -> Record:
        known: dict[str, Any] = {
            "status": "done",
            "reason": None,
            "experiment": "demo",
            "label": label,
            "model": "model",
            "params": {},
            "seed": seed,
            "identity": f"{label}-{seed}",
            "dataset": self.dataset,
            "split": self.split,
            "provenance": PROVENANCE,
        }
        return Record(**(known | changes))

    def stop(self, label: str, seed: int, status: str, reason: str) -> None:
        """Leave the record of a run that did not end well."""
        record.write(self.folder(label, seed), self.record(label, seed, status=status, reason=reason))

    def finish(self, fake: Fake, seed: int, **changes: Any) -> None:
        """Leave the record and the predictions of a finished run."""
        arrays, targets = fake_arrays(fake, seed, self.n_test, self.n_train)
        rng = np.random.default_rng(seed)
        done = self.record(
            fake.label,
            seed,
            n_train=self.n_train,
            n_test=self.n_test,
            n_inputs=1,
            train_mean=float(np.mean(targets)),
            train_var=float(np.var(targets)),
            timings={"fit_wall": fake.seconds * rng.uniform(0.8, 1.2), "predict_wall": 0.1 * fake.seconds},
            peak_memory=200_000_000,
        )
        record.write(self.folder(fake.label, seed), Record(**(vars(done) | changes)), arrays)


def fake_arrays(fake: Fake, seed: int, n_test: int, n_train: int) -> tuple[Arrays, np.ndarray]:
    """Arrays of a one-input problem whose noise grows to the right; and the training targets."""
    rng = np.random.default_rng(seed)
    X_train, X = np.sort(rng.uniform(-3, 3, n_train)), np.linspace(-3, 3, n_test)
    y_train, y = (truth(x) + np.sqrt(truth_noise(x)) * rng.standard_normal(x.size) for x in (X_train, X))
    f_mean = truth(X) + fake.error * (np.sin(5 * X) + 0.1 * rng.standard_normal())
    f_var = np.full(n_test, 1e-3 + 0.5 * fake.error**2)
    if fake.mixture:
        prediction = Prediction.mixture(f_mean, f_var, np.log(truth_noise(X)) - 0.1, np.full(n_test, 0.2))
    else:
        prediction = Prediction.gaussian(f_mean, f_var, truth_noise(X) if fake.noise is None else fake.noise)
    steps = np.arange(1.0, 40.0)
    trace = np.column_stack([steps, steps * fake.seconds / 40, -100 * np.exp(-steps / 8) - 50])
    extras = {
        "X_test": X[:, None],
        "X_train": X_train[:, None],
        "y_train": y_train,
        "truth_mean": truth(X),
        "truth_noise_var": truth_noise(X),
        "inducing_f": np.linspace(-3, 3, 12)[:, None],
        "inducing_g": np.linspace(-3, 3, 8)[:, None],
        "input_names": np.array([b"distance"]),
        "variational": np.exp(rng.standard_normal(n_train)),
    }
    if fake.experts:
        extras["expert"] = np.minimum((3 - X_train) / 6 * fake.experts, fake.experts - 1).astype(int)
    return Arrays(np.arange(n_test), y, prediction, trace, extras), y_train


def truth(x: np.ndarray) -> np.ndarray:
    return np.sin(2 * x) + 0.3 * x


def truth_noise(x: np.ndarray) -> np.ndarray:
    return np.exp(-3 + 0.8 * x)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "results")


@pytest.fixture(scope="session")
def fake() -> Callable[..., Fake]:
    return Fake


@pytest.fixture(scope="session")
def results_at() -> Callable[[Path], Results]:
    return Results
