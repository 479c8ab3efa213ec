"""Models by name: ours, or any scikit-learn regressor as ``module:Class`` or ``file.py:Class``."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hgpbench.bench import answers, code, foreign
from hgpbench.bench.code import Code
from hgpbench.bench.foreign import Address
from hgpbench.bench.job import Job
from hgpbench.errors import ConfigError, DataError
from hgpbench.models import MODELS, Estimator
from hgpbench.peers import PEERS, Peer
from hgpbench.prediction import Array
from hgpbench.scaling import Scaling
from hgpbench.words import nearest

SEED_PARAMETER = "random_state"
SHIPPED: dict[str, type[Estimator]] = {**MODELS, **PEERS}
"""Every model that comes with hgpbench: ours, then peers."""


@dataclass(frozen=True)
class Model:
    """A class that can be run, and what computes its runs."""

    name: str
    kind: type[Any]
    code: Code
    address: Address | None = None  # None for ours


@cache
def find(name: str, folders: tuple[Path, ...] = ()) -> Model:
    """The model of that name, a user's own first looked for in these folders; or a ConfigError."""
    if name in SHIPPED:
        kind = SHIPPED[name]
        needs = kind.needs if issubclass(kind, Peer) else ()
        return Model(name, kind, code.of_shipped(kind.__module__, needs))
    if ":" not in name:
        raise ConfigError(
            f"no model {name!r}{nearest(name, SHIPPED)}; models: {', '.join(SHIPPED)}, "
            "or module:Class of your own"
        )
    address = foreign.address(name, folders)
    with foreign.visiting(address.folders):
        kind = foreign.load(address)
        if not isinstance(kind, type) or not hasattr(kind, "fit") or not _predicts(kind):
            raise ConfigError(
                f"model {name!r} is not a regressor with fit and predict_dist, "
                "or fit and predict(X, return_std)"
            )
        return Model(address.name, kind, code.of_foreign(address, kind), address)


def build(job: Job) -> Any:
    """The estimator of a run, in its own process: with its parameters and, where it draws, the seed."""
    if job.address is None:
        kind: Any = SHIPPED[job.model]
    else:
        foreign.enter(job.address.folders)
        kind = foreign.load(job.address)
    if not job.code.stands():
        raise ConfigError(
            f"the code of {job.model} changed since the run was planned; start the command again"
        )
    seeded = {SEED_PARAMETER: job.seed} if SEED_PARAMETER in inspect.signature(kind).parameters else {}
    return kind(**job.params, **seeded)


def scaling(model: Any, X: Array, y: Array) -> Scaling | None:
    """How to standardise the training rows for a model; None for ours, which do so themselves.

    One of ours that is told not to gets the rows as they are: the paper's toy example is not normalised.
    """
    if isinstance(model, Estimator):
        return None
    try:
        return Scaling.of(X, y)
    except ValueError as error:
        raise DataError(str(error)) from None


def fit(
    model: Any, X: Array, y: Array, callback: Callable[[int, int | None, float], None], checkpoint: Path
) -> float:
    """Fit, telling progress and keeping checkpoints where the model can.

    Returns the seconds that earlier, interrupted attempts had spent on what this one continued.
    """
    offered = {"callback": callback, "checkpoint": checkpoint}
    wanted = inspect.signature(model.fit).parameters
    model.fit(X, y, **{name: value for name, value in offered.items() if name in wanted})
    return answers.seconds(answers.remark(model, "resumed_seconds_"))


def _predicts(kind: type[Any]) -> bool:
    if hasattr(kind, "predict_dist"):
        return True
    try:
        return "return_std" in inspect.signature(kind.predict).parameters
    except (AttributeError, TypeError, ValueError):  # nothing to call, or nothing that says how
        return False
