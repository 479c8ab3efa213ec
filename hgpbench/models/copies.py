"""Predictions of many rows on the workers of a cluster, each of which has a copy of the model.

Pieces of rows go out and predictions come back, in order. How rows are cut does not depend on the workers, so
that neither their number nor a loss changes a bit: the pieces of one that is lost are asked for again.
"""

import copy
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import numpy as np

from hgpbench.cluster import Cluster, joined
from hgpbench.columns import Array, chunks
from hgpbench.experts.crew import Crew
from hgpbench.experts.pool import Each
from hgpbench.experts.rows import Numbers, Rows, Shares
from hgpbench.prediction import Prediction

PIECE = 4_096  # rows that a worker predicts at a time
LANES = 64  # pieces that are asked for together: more workers would stand idle
WORTH_COPIES = 100_000  # rows to predict, below which a model is not sent anywhere
ELSEWHERE = ("cluster", "n_jobs")  # parameters that say how a prediction is computed here

Predict = Callable[[Array], Prediction]


class Predicting(Protocol):
    """A fitted estimator, as far as this module uses it."""

    def predict_seen(self, inputs: Array) -> Prediction:
        """Predictions at valid inputs."""


class Copy:
    """The model of a worker."""

    def __init__(self, rows: Shares, model: bytes) -> None:
        self._model: Predicting = pickle.loads(model)

    def predict(self, numbers: Numbers, pieces: Sequence[Array]) -> list[dict[str, Array]]:
        """The arrays of a prediction for each of these pieces."""
        return [self._model.predict_seen(piece).arrays() for piece in pieces]


@contextmanager
def copies(model: Predicting, cluster: Cluster) -> Iterator[Predict]:
    """Have every worker hold the model; what predicts rows of any number there."""
    nobody = Rows(np.empty((0, 1)), np.empty(0), np.zeros(LANES + 1, dtype=np.intp))
    owner = partial(Copy, model=_pickled(model))
    with Crew(cluster=cluster).opened(nobody, LANES, owner) as pool:

        def predict(X: Array) -> Prediction:
            answers: list[dict[str, Array]] = []
            pieces = [X[rows] for rows in chunks(len(X), PIECE)]
            for some in chunks(len(pieces), LANES):
                asked = Each(pieces[some])
                answers += pool.ask(Copy.predict, range(len(asked)), asked)
            return Prediction(
                **{name: np.concatenate([each[name] for each in answers]) for name in answers[0]}
            )

        yield predict


def predicted(model: Predicting, given: Any, X: Array, here: Predict) -> Prediction:
    """What a model says of valid inputs: many of them on the cluster that its parameter names, if any."""
    with joined(given if len(X) >= WORTH_COPIES else None) as cluster:
        if cluster is None:
            return here(X)
        with copies(model, cluster) as predict:
            return predict(X)


def _pickled(model: Predicting) -> bytes:
    """The model without what is of this machine."""
    plain: Any = copy.copy(model)
    for name in ELSEWHERE:
        if hasattr(plain, name):
            setattr(plain, name, None)
    return pickle.dumps(plain, protocol=5)
