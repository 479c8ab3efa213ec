"""Predictions of problems with one input on an even grid, stored so that pictures can draw curves.

Test rows are where the data are: few in places, and not in between. Nothing of this is scored or timed.
"""

from contextlib import suppress
from typing import Any

import numpy as np

from hgpbench.bench import answers
from hgpbench.bench.record import GRID
from hgpbench.data.source import Fold
from hgpbench.prediction import Array
from hgpbench.scaling import Scaling

POINTS = 601


def curve(model: Any, fold: Fold, scaling: Scaling | None) -> dict[str, Array]:
    """The grid and what is predicted on it, by name; empty where there is not exactly one input.

    A model that cannot answer once more loses its curve, not its run.
    """
    if fold.X_train.shape[1] != 1:
        return {}
    inputs = np.concatenate([fold.X_train, fold.X_test])
    grid = np.linspace(inputs.min(), inputs.max(), POINTS)
    with suppress(Exception):  # a foreign model may raise anything
        X = grid[:, None] if scaling is None else scaling.inputs(grid[:, None])
        prediction = answers.predict(model, X)
        prediction = prediction if scaling is None else scaling.undo(prediction)
        answers.check(prediction, POINTS)
        return {GRID: grid} | {f"{GRID}_{name}": values for name, values in prediction.arrays().items()}
    return {}
