"""A fitted model and how a table becomes its inputs: they are saved, loaded and used together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from hgpbench.data import own, store
from hgpbench.data.frames.choices import Choices, Missing
from hgpbench.data.frames.encoding import Number
from hgpbench.data.frames.preprocessing import Preprocessing, Unseen
from hgpbench.data.frames.reading import Given, opened
from hgpbench.data.frames.survey import Learnt, learn
from hgpbench.data.frames.table import Table, of_frame, plain
from hgpbench.errors import DataError, RecordError
from hgpbench.models import MODELS, Estimator, saving
from hgpbench.prediction import Array, Prediction
from hgpbench.words import listed, printable

_PREPROCESSING = "preprocessing"
LARGE = 500_000_000  # bytes of inputs that are held in memory, at most, by models that need not


@dataclass(frozen=True, eq=False)
class Predictor:
    """A model that is asked with tables: names, categories, dates and missing cells as in training."""

    model: Estimator
    preprocessing: Preprocessing

    @classmethod
    def fit(cls, table: Given, target: str, model: Estimator, choices: Choices | None = None) -> "Predictor":
        """Fit a model to a table: a path, ``openml:ID`` or a pandas frame."""
        choices = choices or Choices()
        with opened(table, choices, (target,)) as found:
            learnt = learn(found, target, choices)
            X, y = numbers(found, learnt, model.blockwise)
        return cls(model.fit(X, y), learnt.plan)

    def predict(self, frame: pd.DataFrame) -> Array:
        """Predictive means."""
        return self.predict_dist(frame).mean

    def predict_dist(self, frame: pd.DataFrame) -> Prediction:
        """The predictive distribution of the target, for every row of the frame."""
        [block] = self._blocks(frame)
        rows = self.preprocessing.encode(block)
        if len(rows.kept) < len(block):
            lost = int(np.setdiff1d(np.arange(len(block)), rows.kept)[0])
            raise DataError(
                f"row {lost + 1:,} has a missing cell; leave it out, or use ruled(missing='mean')"
            )
        return self.model.predict_seen(rows.X)

    def ruled(self, missing: Missing | None = None, unseen: Unseen | None = None) -> "Predictor":
        """The same with other rules for missing cells and for categories that training had not."""
        return replace(self, preprocessing=self.preprocessing.ruled(missing, unseen))

    def save(self, path: str | Path) -> None:
        """Write both into one file, from which ``hgpbench.load`` makes them again."""
        saving.save(self.model, Path(path), {_PREPROCESSING: self.preprocessing.to_json()})

    def _blocks(self, frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
        columns = [printable(str(name)) for name in frame.columns]
        of_frame(frame)  # refuses columns of one name
        yield plain(frame.set_axis(columns, axis=1).reset_index(drop=True))


def load(path: str | Path) -> Predictor | Estimator:
    """What was saved in a file: a ``Predictor``, or a model alone; ``RecordError`` says why there is none."""
    saved = saving.load(Path(path), {kind.__name__: kind for kind in MODELS.values()})
    if _PREPROCESSING not in saved.extras:
        return saved.model
    try:
        plan = Preprocessing.from_json(saved.extras[_PREPROCESSING])
    except ValueError as error:
        raise RecordError(
            printable(f"{path}: its preprocessing cannot be used ({error!s:.200}); fit it again")
        ) from None
    if len(plan.inputs) != saved.model.n_features_in_:
        raise RecordError(f"{path}: its preprocessing is that of another model; fit it again")
    return Predictor(saved.model, plan)


def load_for_tables(path: Path) -> Predictor:
    """What can be asked with tables: a model that was saved alone has to know its inputs' names."""
    found = load(path)
    if isinstance(found, Predictor):
        return found
    names = getattr(found, "feature_names_in_", None)
    if names is None:
        raise RecordError(
            f"{path}: was saved without the names of its inputs; ask it in Python with hgpbench.load, "
            "or fit it with `hgpbench fit`"
        )
    means = found._scaling.x_shift
    columns = tuple(Number(str(name), float(mean)) for name, mean in zip(names, means, strict=True))
    return Predictor(found, Preprocessing(columns, "", "error", tuple(sorted(Choices().markers))))


def numbers(table: Table, learnt: Learnt, blockwise: bool = False) -> tuple[Array, Array]:
    """All rows of a table to learn from; many are put into a file, if the model reads ``blockwise``."""
    n, d = learnt.rows, len(learnt.plan.inputs)
    blocks = own.numbers(table, learnt.plan)
    try:
        if blockwise and is_large(n, d):
            X, y = store.scratch(blocks, d, n)
        else:
            X, y = _gathered(blocks, n, d)
    except DataError as error:
        if str(error) != store.NO_ROW:
            raise
        X, y = np.empty((0, d)), np.empty(0)
    if len(y) < 2:
        raise DataError(
            f"{table.label}: {len(y)} rows are left to learn from; inputs: {listed(learnt.plan.inputs, 20)}"
        )
    return X, y


def is_large(rows: int, columns: int) -> bool:
    """Whether rows are left in a file by models that can read them there."""
    return 8 * rows * columns > LARGE


def _gathered(blocks: Iterable[tuple[Array, Array]], n: int, d: int) -> tuple[Array, Array]:
    """At most ``n`` rows, in memory."""
    X, y, kept = np.empty((n, d)), np.empty(n), 0
    for inputs, target in blocks:
        X[kept : kept + len(target)], y[kept : kept + len(target)] = inputs, target
        kept += len(target)
    return X[:kept], y[:kept]
