"""An experiment file, checked: its quick variant, its labels, its sweeps spread out into entries."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from hgpbench import shipped
from hgpbench.config import mistakes, yamlfile
from hgpbench.config.schema import (
    CLASS,
    DatasetConfig,
    ExperimentConfig,
    Limits,
    QuickConfig,
    SplitConfig,
    Sweep,
    Value,
)
from hgpbench.config.yamlfile import Document, Key
from hgpbench.errors import ConfigError
from hgpbench.words import SEVERAL, nearest

MAX_RUNS = 100_000  # of one command, and labels of one file
QUICK = "-quick"  # ends the name of an experiment's quick variant
_UNUSUAL = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Entry:
    """One model under one label, with the parameters that the file gives it."""

    label: str
    base: str  # the label before a sweep expanded it
    model: str
    params: Mapping[str, Value]  # with the values of the sweep
    given: Mapping[str, Value]  # without them
    swept: tuple[str, ...]  # names of the parameters that the sweep varies


@dataclass(frozen=True)
class TablePath:
    """A table of the user's that is to be a dataset: its path as it was written, and how it is read."""

    path: str
    target: str | None
    reading: Mapping[str, Any]  # fields of ``data.frames.choices.Choices``


@dataclass(frozen=True)
class Experiment:
    """A validated experiment file, or what is asked of one of its datasets."""

    path: Path
    name: str
    title: str
    dataset: str  # "" as long as it is a table that was not imported
    variant: str | None
    split: SplitConfig | Literal["published"] | None
    repeats: int
    limits: Limits
    entries: tuple[Entry, ...]
    document: Document = field(repr=False, compare=False)
    place: tuple[Key, ...] = ("dataset",)  # of its dataset in the file
    table: TablePath | None = None


def load(name_or_path: str, quick: bool = False) -> Experiment:
    """The experiment in a file, or the shipped one of that name; on request its quick variant."""
    return _only(load_all(name_or_path, quick))


def load_all(name_or_path: str, quick: bool = False) -> tuple[Experiment, ...]:
    """The experiments of a file: one for each of its datasets."""
    path = Path(name_or_path)
    if path.suffix in {".yaml", ".yml"} or path.is_file():
        if not path.is_file():
            raise ConfigError(f"{path}: no such file; shipped configs: {', '.join(shipped.names('configs'))}")
        return check_all(yamlfile.read(path), quick)
    shipped_file = shipped.find("configs", name_or_path)
    if shipped_file is None:
        allowed = shipped.names("configs")
        raise ConfigError(
            f"no config {name_or_path!r}{nearest(name_or_path, allowed)}; "
            f"give a .yaml file or one of: {', '.join(allowed)}"
        )
    return check_all(yamlfile.read(shipped_file), quick)


def check(document: Document, quick: bool = False) -> Experiment:
    """Validate a parsed file; ConfigError names file, line, key and the nearest allowed key."""
    return _only(check_all(document, quick))


def check_all(document: Document, quick: bool = False) -> tuple[Experiment, ...]:
    """Validate a parsed file that may have several datasets: an experiment for each, ``NAME+DATASET``."""
    if not isinstance(document.data, dict):
        raise ConfigError(
            f"{document.path}:1: an experiment is a mapping with keys {', '.join(mistakes.keys())}"
        )
    try:
        raw = ExperimentConfig.model_validate(document.data)
    except ValidationError as error:
        raise ConfigError(mistakes.explain(document, error)) from None
    _check_labels(document, raw)
    if quick:
        raw = _quick(document, raw)
    whole = Experiment(
        path=document.path,
        name=raw.name,
        title=raw.title,
        dataset="",
        variant=None,
        split=raw.split,
        repeats=raw.repeats,
        limits=raw.limits,
        entries=tuple(_entries(document, raw)),
        document=document,
    )
    own = raw.quick if quick and raw.quick is not None else QuickConfig()
    inside = ("quick",) if own.dataset is not None or own.datasets is not None else ()
    if raw.dataset is not None:
        return (_on(whole, raw.dataset, (*inside, "dataset")),)
    return tuple(_on_each(whole, raw.datasets or [], (*inside, "datasets")))


def _on(whole: Experiment, asked: str | DatasetConfig, place: tuple[Key, ...]) -> Experiment:
    """The experiment on one dataset."""
    config = asked if isinstance(asked, DatasetConfig) else _dataset(whole.document, asked, place)
    if config.path is not None:
        return replace(whole, place=place, table=TablePath(config.path, config.target, config.reading()))
    return replace(whole, place=place, dataset=config.name or "", variant=config.variant)


def _on_each(
    whole: Experiment, asked: Sequence[str | DatasetConfig], place: tuple[Key, ...]
) -> Iterable[Experiment]:
    """An experiment for each dataset, called after it."""
    seen: set[str] = set()
    for number, each in enumerate(asked):
        one = _on(whole, each, (*place, number))
        called = one.dataset if one.variant is None else f"{one.dataset}.{one.variant}"
        if one.table is not None:
            called = _UNUSUAL.sub("-", Path(one.table.path).name.split(".")[0]).strip("-") or "table"
        if called in seen:
            raise ConfigError(
                f"{whole.document.where((*place, number))}: {'.'.join(map(str, place))}: {called} occurs "
                "twice; of files of one name, rename one"
            )
        seen.add(called)
        title = f"{whole.title}, {called}" if whole.title else ""
        yield replace(one, name=f"{whole.name}{SEVERAL}{called}", title=title)


def _dataset(document: Document, text: str, place: tuple[Key, ...]) -> DatasetConfig:
    if "." in text or "/" in text:  # no name has them
        return DatasetConfig(path=text)
    name, _, variant = text.partition(":")
    try:
        return DatasetConfig(name=name, variant=variant or None)
    except ValidationError:
        at, key = document.where(place), ".".join(map(str, place))
        raise ConfigError(
            f"{at}: {key}: {text!r:.60} is not allowed; allowed: NAME, NAME:VARIANT or a path"
        ) from None


def _only(experiments: tuple[Experiment, ...]) -> Experiment:
    if len(experiments) > 1:
        raise ConfigError(
            f"{experiments[0].path}: has {len(experiments)} datasets; only `hgpbench run` takes several"
        )
    return experiments[0]


def _check_labels(document: Document, raw: ExperimentConfig) -> None:
    """Whatever names a label must name one of ``models``."""
    quick = raw.quick or QuickConfig()
    named: dict[tuple[str, ...], Iterable[str]] = {
        ("sweep",): raw.sweep,
        ("quick", "models"): quick.models,
        ("quick", "sweep"): quick.sweep,
        ("quick", "leave_out"): quick.leave_out,
    }
    for place, labels in named.items():
        for label in labels:
            if label not in raw.models:
                at = f"{document.where((*place, label))}: {'.'.join(place)}.{label}"
                raise ConfigError(
                    f"{at}: no such label under models{nearest(label, raw.models)}; "
                    f"labels: {', '.join(raw.models)}"
                )


def _quick(document: Document, raw: ExperimentConfig) -> ExperimentConfig:
    """The experiment with what its ``quick`` section changes, under a name of its own."""
    quick = raw.quick
    if quick is None:
        raise ConfigError(
            f"{document.path}: this experiment has no quick section; run it without --quick, or add one"
        )
    kept = {label: given for label, given in raw.models.items() if label not in quick.leave_out}
    if not kept:
        raise ConfigError(
            f"{document.where(('quick', 'leave_out'))}: quick.leave_out: leaves no model to run"
        )
    return raw.model_copy(
        update={
            "name": raw.name + QUICK,
            "title": f"{raw.title or raw.name} (quick variant)",
            **_data(raw, quick),
            "split": quick.split or raw.split,
            "repeats": quick.repeats or raw.repeats,
            "models": {k: {**(given or {}), **(quick.models.get(k) or {})} for k, given in kept.items()},
            "sweep": {k: v for k, v in {**raw.sweep, **quick.sweep}.items() if k in kept},
        }
    )


def _data(raw: ExperimentConfig, quick: QuickConfig) -> dict[str, Any]:
    """Whichever has said it last: one dataset, or several."""
    said: ExperimentConfig | QuickConfig = quick if quick.dataset or quick.datasets else raw
    return {"dataset": said.dataset, "datasets": said.datasets}


def _entries(document: Document, raw: ExperimentConfig) -> Iterable[Entry]:
    seen: set[str] = set()
    for base, given in raw.models.items():
        params = dict(given or {})
        model = params.pop("model", base)
        if not isinstance(model, str):
            raise ConfigError(
                f"{document.where(('models', base, 'model'))}: models.{base}.model: should be a name"
            )
        if model.startswith("."):
            at = f"{document.where(('models', base, 'model'))}: models.{base}.model"
            raise ConfigError(f"{at}: {model!r:.60} should be a model's name, or module:Class of your own")
        for change in _combinations(raw.sweep.get(base)):
            if "model" in change:
                at = document.where(("sweep", base))
                raise ConfigError(f"{at}: sweep.{base}: only parameters can be swept, not the model")
            label = (
                ":".join([base, ",".join(f"{k}={_word(v)}" for k, v in change.items())]) if change else base
            )
            if label in seen:
                raise ConfigError(f"{document.where(('sweep', base))}: sweep.{base}: {label!r} occurs twice")
            seen.add(label)
            if len(seen) > MAX_RUNS:
                raise ConfigError(
                    f"{document.where(('sweep', base))}: sweep.{base}: more than {MAX_RUNS:,} combinations"
                )
            yield Entry(label, base, model, {**params, **change}, params, tuple(change))


def _combinations(sweep: Sweep | None) -> Iterable[dict[str, Value]]:
    if sweep is None:
        return [{}]
    if isinstance(sweep, list):
        return sweep
    return (dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values()))


def _word(value: Value) -> str:
    if isinstance(value, list):
        return "+".join(_word(part) for part in value)
    if isinstance(value, dict):
        rest = [f"{name} {_word(part)}" for name, part in value.items() if name != CLASS]
        return " ".join([str(value[CLASS]).rpartition(":")[2], *rest])
    return f"{value:g}" if isinstance(value, float) else str(value)
