"""Models by name: ours, or any scikit-learn regressor as ``module:Class`` or ``file.py:Class``."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from hgpbench.bench import answers, code, foreign, objects
from hgpbench.bench.code import Code
from hgpbench.bench.foreign import Address
from hgpbench.bench.job import Job
from hgpbench.errors import ConfigError, DataError
from hgpbench.models import MODELS, Estimator
from hgpbench.peers import PEERS, Peer
from hgpbench.peers.wrapped import NOISES, WithNoise
from hgpbench.prediction import Array
from hgpbench.scaling import Scaling
from hgpbench.words import nearest

SEED_PARAMETER = "random_state"
NOISE = "noise"  # the parameter that puts a normal about a mean
ENTRY_POINTS = "hgpbench.models"  # group by which an installed package offers models
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
    text = name if ":" in name else _offered().get(name)
    if text is None:
        known = [*SHIPPED, *_offered()]
        raise ConfigError(
            f"no model {name!r}{nearest(name, known)}; models: {', '.join(known)}, "
            "or module:Class of your own"
        )
    address = foreign.address(text, folders)
    with foreign.visiting(address.folders):
        kind = foreign.load(address)
        if not isinstance(kind, type) or not callable(getattr(kind, "fit", None)) or not _answers(kind):
            raise ConfigError(
                f"model {name!r} is not a regressor with fit and predict_dist, "
                "or fit and predict(X, return_std)"
            )
        return Model(address.name, kind, code.of_foreign(address, kind), address)


def complete(model: Model, params: dict[str, Any]) -> Model:
    """A model with the code of all that takes part in it, made once to see that it can be.

    Called for models of a user's own. What only predicts a mean is refused unless something tells its noise.
    """
    if model.address is None:
        return model
    wrapped = is_wrapped(model.kind, params)
    parted = [value for value in params.values() if objects.holds_object(value)]
    if not parted and not wrapped and _tells_noise(model.kind):
        return model
    folders = tuple(map(Path, model.address.folders))
    with foreign.visiting(model.address.folders):
        made = _made(model.kind, params, folders) if parted else model.kind
        if not wrapped and not _tells_noise(made):
            raise ConfigError(
                f"model {model.name!r} predicts a mean only: its predict takes no return_std; "
                f"add noise: one of {', '.join(NOISES)}, to have a normal about it"
            )
        others = [each.module for value in parted for each in objects.addresses(value, folders)]
        others += [WithNoise.__module__] if wrapped else []
        return replace(model, code=code.of_foreign(model.address, model.kind, tuple(dict.fromkeys(others))))


def is_wrapped(kind: type[Any], params: dict[str, Any]) -> bool:
    """Whether a config asks for a noise about a mean; a class may have a parameter of that name itself."""
    return NOISE in params and NOISE not in inspect.signature(kind).parameters


def build(job: Job) -> Any:
    """The estimator of a run, in its own process: with its parameters and, where it draws, the seed."""
    folders: tuple[Path, ...] = ()
    if job.address is None:
        kind: Any = SHIPPED[job.model]
    else:
        foreign.enter(job.address.folders)
        kind = foreign.load(job.address)
        folders = tuple(map(Path, job.address.folders))
    if not job.code.stands():
        raise ConfigError(
            f"the code of {job.model} changed since the run was planned; start the command again"
        )
    return _made(kind, job.params, folders, job.seed)


def _made(kind: Any, params: dict[str, Any], folders: tuple[Path, ...], seed: int = 0) -> Any:
    """An estimator with its objects, and a normal about its mean where that is asked for."""
    given = {name: objects.made(value, folders) for name, value in params.items()}
    seeded = {SEED_PARAMETER: seed} if SEED_PARAMETER in inspect.signature(kind).parameters else {}
    if not is_wrapped(kind, params):
        return _seed(kind(**given, **seeded), seed)
    noise = given.pop(NOISE)
    return WithNoise(_seed(kind(**given, **seeded), seed), noise, random_state=seed)


def _seed(model: Any, seed: int) -> Any:
    """The seed, too, for parts that draw and were given none: the last step of a pipeline, say."""
    if hasattr(model, "get_params") and hasattr(model, "set_params"):
        inner = f"__{SEED_PARAMETER}"
        params = model.get_params()
        unset = {name: seed for name, value in params.items() if name.endswith(inner) and value is None}
        if unset:
            model.set_params(**unset)
    return model


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


def _answers(kind: type[Any]) -> bool:
    """Whether a class predicts anything in a way that can be told."""
    return hasattr(kind, "predict_dist") or _signature(getattr(kind, "predict", None)) is not None


def _tells_noise(model: Any) -> bool:
    """Whether a class or an object predicts with a deviation; a pipeline does what its last step does."""
    if hasattr(model, "predict_dist"):
        return True
    known = _signature(getattr(model, "predict", None)) or {}
    if "return_std" in known:
        return True
    steps = getattr(model, "steps", None)
    passes = any(each.kind is each.VAR_KEYWORD for each in known.values())
    return passes and isinstance(steps, list) and bool(steps) and _tells_noise(steps[-1][-1])


def _signature(method: Any) -> Mapping[str, inspect.Parameter] | None:
    """The parameters of a method; None where there is nothing to call, or nothing that says how."""
    try:
        return inspect.signature(method).parameters
    except (TypeError, ValueError):
        return None


@cache
def _offered() -> dict[str, str]:
    """Models that installed packages offer, by name: ``module:Class``."""
    return {each.name: each.value.replace(" ", "") for each in metadata.entry_points(group=ENTRY_POINTS)}
