"""``hgpbench fit``: which model, with which parameters, on which rows."""

import inspect
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hgpbench.bench import estimators, manifest
from hgpbench.bench import record as records
from hgpbench.bench.signature import arguments
from hgpbench.config import Entry
from hgpbench.config.yamlfile import parse
from hgpbench.data import store
from hgpbench.data.frames.choices import MARKERS, Choices
from hgpbench.data.frames.encoding import Number
from hgpbench.data.frames.preprocessing import Preprocessing
from hgpbench.data.frames.reading import is_table, opened
from hgpbench.data.frames.survey import learn
from hgpbench.data.names import data_folder, expanded, is_openml
from hgpbench.data.source import StoredSource, open_source, parse_name
from hgpbench.errors import Caution, ConfigError, DataError, FitError, HgpbenchError
from hgpbench.models import MODELS, Estimator
from hgpbench.prediction import Array
from hgpbench.use.predictor import Predictor, is_large, numbers
from hgpbench.words import listed, nearest

SEED = 0


@dataclass(frozen=True, eq=False)
class Rows:
    """What a model learns from."""

    X: Array
    y: Array
    plan: Preprocessing
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, and what to tell of it."""

    predictor: Predictor
    rows: int
    seconds: float
    notes: tuple[str, ...]


def from_table(table: str, target: str | None, choices: Choices, blockwise: bool = False) -> Rows:
    """The rows of a file, of a folder of them, of a table of OpenML, or of a dataset by name.

    Many rows stay in a file where the model reads them ``blockwise``.
    """
    if not is_openml(table) and not is_table(expanded(table)):
        return _of_dataset(table, target, choices, blockwise)
    with opened(table, choices, () if target is None else (target,)) as found:
        chosen = target or found.target
        if chosen is None:
            raise ConfigError(
                f"{found.label}: name the column to predict with --target; it has {listed(found.columns)}"
            )
        learnt = learn(found, chosen, choices)
        return Rows(*numbers(found, learnt, blockwise), learnt.plan, learnt.notes)


def model_by_name(name: str, given: Sequence[str], seed: int = SEED) -> Estimator:
    """A model of ours with parameters as ``name=value``, checked as those of an experiment file are."""
    if name not in MODELS:
        raise ConfigError(
            f"--model {name}: no model that can be saved{nearest(name, MODELS)}; models: {', '.join(MODELS)}"
        )
    model = estimators.find(name)
    document = parse("\n".join(["models:", f"  {name}:", *map(_line, given)]) + "\n", Path("--set"))
    values = document.data["models"][name] or {}
    entry = Entry(name, name, name, values, values, ())
    return _built(model.kind, arguments(entry, model, document), seed)


def from_experiment(folder: Path, label: str | None, seed: int | None) -> tuple[Estimator, Rows]:
    """The model of a label with its parameters, and all rows of the experiment's dataset."""
    found = manifest.read(folder)
    labels = list(dict.fromkeys(entry.label for entry in found.entries))
    if label is None or label not in labels:
        asked = "say --label" if label is None else f"--label {label}: no such label{nearest(label, labels)}"
        raise ConfigError(f"{folder}: {asked}; labels: {', '.join(labels)}")
    entry = min((each for each in found.entries if each.label == label), key=lambda each: each.seed)
    if entry.model not in MODELS:
        raise ConfigError(
            f"{folder}: {label} is {entry.model}, which hgpbench cannot save; docs/use.md says what can"
        )
    record = records.read_at(folder.parent / entry.folder, entry.model, entry.seed)
    kind = MODELS[entry.model]
    rows = _of_dataset(_full_name(found.dataset), None, Choices(), kind.blockwise)
    if open_stored(_full_name(found.dataset)).sha256 != found.dataset.get("sha256"):
        raise DataError(f"{folder}: the dataset {_full_name(found.dataset)} has changed since; run it again")
    return _built(kind, record.params, record.seed if seed is None else seed), rows


def fitted(model: Estimator, rows: Rows) -> Fit:
    """Fit, and turn what a model refuses or warns of into lines."""
    start, notes = time.perf_counter(), list(rows.notes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(rows.X, rows.y)
        except HgpbenchError:
            raise
        except (ValueError, np.linalg.LinAlgError, MemoryError) as error:
            raise FitError(f"{type(model).__name__}: {error or 'out of memory'}") from None
    notes += [str(each.message) for each in caught if issubclass(each.category, Caution)]
    return Fit(Predictor(model, rows.plan), len(rows.y), time.perf_counter() - start, tuple(notes))


def open_stored(name: str) -> StoredSource:
    """A dataset in a file; one that is drawn by each seed has no rows to fit to."""
    source = open_source(*parse_name(name))
    if not isinstance(source, StoredSource):
        raise DataError(f"{name}: is drawn afresh by each seed; there are no rows to fit a model to for use")
    return source


def _of_dataset(name: str, target: str | None, choices: Choices, blockwise: bool) -> Rows:
    if "." in name or "/" in name:
        raise DataError(f"{name}: no such file")
    source = open_stored(name)
    if (target is not None and target != source.target) or choices != Choices():
        raise ConfigError(
            f"{name}: is a dataset in {data_folder()} with its target, {source.target}, and its inputs; "
            "give the table itself to choose others"
        )
    described = source.description
    large = blockwise and is_large(described.rows, len(described.columns))
    table = (store.left_in_file if large else store.read_as)(source.path, source.sha256)
    return Rows(table.X, table.y, _plan_of(source, table))


def _plan_of(source: StoredSource, table: store.Table) -> Preprocessing:
    """How new rows become inputs: as the import of a table had it, or columns of numbers."""
    stored = source.description.about.preprocessing
    if stored:
        try:
            plan = Preprocessing.from_json(stored)
        except ValueError as error:
            raise DataError(
                f"{source.path}: its preprocessing is damaged ({error}); import it again"
            ) from None
        if plan.inputs == table.columns:
            return plan
    columns = tuple(
        Number(name, float(np.mean(table.X[:, place]))) for place, name in enumerate(table.columns)
    )
    return Preprocessing(columns, table.target, "error", tuple(sorted(MARKERS)))


def _built(kind: type[Any], params: dict[str, Any], seed: int) -> Estimator:
    seeded = (
        {estimators.SEED_PARAMETER: seed}
        if estimators.SEED_PARAMETER in inspect.signature(kind).parameters
        else {}
    )
    try:
        made: Estimator = kind(**params, **seeded)
    except TypeError as error:
        raise ConfigError(
            f"{kind.__name__}: {error}; its parameters have changed: fit with --model and --set"
        ) from None
    return made


def _line(given: str) -> str:
    name, equals, value = given.partition("=")
    if not equals or not name.strip().isidentifier() or "\n" in given:
        raise ConfigError(f"--set {given!r:.60}: should be NAME=VALUE, such as n_inducing=200")
    return f"    {name.strip()}: {value.strip() or 'null'}"


def _full_name(dataset: dict[str, Any]) -> str:
    variant = dataset.get("variant")
    return f"{dataset['name']}:{variant}" if variant else str(dataset["name"])
