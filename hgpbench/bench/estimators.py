"""Models by name: ours, or any scikit-learn regressor as ``module:Class``."""

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hgpbench.errors import ConfigError, DataError
from hgpbench.models import MODELS
from hgpbench.prediction import Array, Prediction
from hgpbench.scaling import Scaling
from hgpbench.words import nearest

SEED_PARAMETER = "random_state"


def find(name: str) -> type[Any]:
    """The class of a model; ConfigError where there is none or it cannot predict a distribution."""
    if name in MODELS:
        return MODELS[name]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ConfigError(
            f"no model {name!r}{nearest(name, MODELS)}; models: {', '.join(MODELS)}, "
            "or module:Class of your own"
        )
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"model {name!r} cannot be imported: {error}") from None
    if not isinstance(kind, type) or not hasattr(kind, "fit") or not _predicts(kind):
        raise ConfigError(
            f"model {name!r} is not a regressor with fit and predict_dist, or fit and predict(X, return_std)"
        )
    return kind


def build(name: str, params: dict[str, Any], seed: int) -> Any:
    """An estimator with these parameters and, where it draws random numbers, this seed."""
    kind = find(name)
    seeded = {SEED_PARAMETER: seed} if SEED_PARAMETER in inspect.signature(kind).parameters else {}
    return kind(**params, **seeded)


def scaling(model: Any, X: Array, y: Array) -> Scaling | None:
    """How to standardise the training rows for a model; None for one that does so itself, as ours do."""
    if getattr(model, "standardize", False) is True:
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
    return float(getattr(model, "resumed_seconds_", 0.0))


def predict(model: Any, X: Array) -> Prediction:
    """The predictive distribution; of a foreign regressor the normal one with its standard deviation."""
    if hasattr(model, "predict_dist"):
        prediction: Prediction = model.predict_dist(X)
        return prediction
    mean, std = (np.asarray(values, dtype=float) for values in model.predict(X, return_std=True))
    return Prediction(mean, std**2, std**2)


def _predicts(kind: type[Any]) -> bool:
    if hasattr(kind, "predict_dist"):
        return True
    return hasattr(kind, "predict") and "return_std" in inspect.signature(kind.predict).parameters
