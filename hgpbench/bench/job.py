"""One run before it happens: what identifies it, and the folder that follows from that."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS = "runs"
COSTS_ONLY = {"n_jobs", "max_memory"}  # parameters that change what a run costs, but nothing that it computes


@dataclass(frozen=True)
class Job:
    """A dataset, a split, a model with all its parameters, and a seed."""

    experiment: str
    label: str
    model: str
    params: dict[str, Any]  # every constructor parameter but the seed, defaults included
    seed: int
    dataset: dict[str, Any]  # name, variant, sha256, target, synthetic
    split: dict[str, Any]  # train, test
    threads: int
    swept: tuple[str, ...] = ()  # parameters that the experiment varies

    @property
    def setting(self) -> str:
        """Hash of all that identifies the run but the seed."""
        return _digest(self._setting())

    @property
    def identity(self) -> str:
        """Hash of (dataset hash, split, model, parameters, seed), whatever the order of the keys."""
        return _digest({**self._setting(), "seed": self.seed})

    @property
    def folder(self) -> Path:
        """Where the run lives, relative to the results folder."""
        dataset, variant = self.dataset["name"], self.dataset["variant"]
        name = f"{dataset}.{variant}" if variant else dataset
        return Path(RUNS) / name / self.model.replace(":", ".") / f"{self.identity[:16]}-seed{self.seed}"

    def _setting(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset["sha256"],
            "split": self.split,
            "model": self.model,
            # An experiment that varies the number of workers asks for the time with each of them.
            "params": {k: v for k, v in self.params.items() if k not in COSTS_ONLY or k in self.swept},
        }

    def described(self) -> dict[str, Any]:
        """The fields of a record that are known before the run."""
        names = ("experiment", "label", "model", "params", "seed", "dataset", "split", "identity")
        return {name: getattr(self, name) for name in names}


def _digest(value: Any) -> str:
    text = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """1 and 1.0 are the same setting; a tuple is a list."""
    if isinstance(value, dict):
        return {str(key): _canonical(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(part) for part in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
