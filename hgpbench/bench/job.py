"""One run before it happens: what identifies it, and the folder that follows from that."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hgpbench.bench.code import Code
from hgpbench.bench.foreign import Address

RUNS = "runs"
_FOLDER = re.compile(r"([0-9a-f]{16}-seed\d+)(-[0-9a-f]{12})?")  # without a code: an earlier version's
COSTS_ONLY = {
    "n_jobs",
    "max_memory",
    "cluster",
    "snapshot_every",
}  # parameters that change what a run costs, but nothing that it computes


@dataclass(frozen=True)
class Job:
    """A dataset, a split, a model with all its parameters, a seed, and the code that computes it."""

    experiment: str
    label: str
    model: str
    params: dict[str, Any]  # every constructor parameter but the seed, defaults included
    seed: int
    dataset: dict[str, Any]  # name, variant, sha256, target, synthetic
    split: dict[str, Any]  # train, test
    threads: int
    code: Code
    address: Address | None = None  # where to find a model that is not ours
    swept: tuple[str, ...] = ()  # parameters that the experiment varies

    @property
    def setting(self) -> str:
        """Hash of all that the run is asked to do but the seed."""
        return _digest(self._setting())

    @property
    def identity(self) -> str:
        """What is asked (dataset hash, split, model, parameters, seed), and by which code it is answered.

        A hash of each, one after the other: runs of one question by different code begin alike.
        """
        return self._question[:32] + self.code.digest[:32]

    @property
    def folder(self) -> Path:
        """Where the run lives, relative to the results folder."""
        dataset, variant = self.dataset["name"], self.dataset["variant"]
        name = f"{dataset}.{variant}" if variant else dataset
        return Path(RUNS) / name / self.model.replace(":", ".") / f"{self.asked}-{self.code.digest[:12]}"

    @property
    def asked(self) -> str:
        """How the folders of this run begin, whatever the code; the whole name before code counted."""
        return f"{self._question[:16]}-seed{self.seed}"

    @property
    def _question(self) -> str:
        return _digest({**self._setting(), "seed": self.seed})

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
        return {name: getattr(self, name) for name in names} | {"code": self.code.digest}


def asked_by(folder: str) -> str:
    """What the run of a folder was asked, as ``Job.asked``, from the folder's name; "" for any other name."""
    found = _FOLDER.fullmatch(folder)
    return found[1] if found else ""


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
