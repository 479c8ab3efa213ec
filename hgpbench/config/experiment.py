"""An experiment file, checked: its quick variant, its labels, its sweeps spread out into entries."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

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
from hgpbench.config.yamlfile import Document
from hgpbench.errors import ConfigError
from hgpbench.words import nearest

MAX_RUNS = 100_000  # of one command, and labels of one file
QUICK = "-quick"  # ends the name of an experiment's quick variant


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
class Experiment:
    """A validated experiment file."""

    path: Path
    name: str
    title: str
    dataset: str
    variant: str | None
    split: SplitConfig | Literal["published"] | None
    repeats: int
    limits: Limits
    entries: tuple[Entry, ...]
    document: Document = field(repr=False, compare=False)


def load(name_or_path: str, quick: bool = False) -> Experiment:
    """The experiment in a file, or the shipped one of that name; on request its quick variant."""
    path = Path(name_or_path)
    if path.suffix in {".yaml", ".yml"} or path.is_file():
        if not path.is_file():
            raise ConfigError(f"{path}: no such file; shipped configs: {', '.join(shipped.names('configs'))}")
        return check(yamlfile.read(path), quick)
    shipped_file = shipped.find("configs", name_or_path)
    if shipped_file is None:
        allowed = shipped.names("configs")
        raise ConfigError(
            f"no config {name_or_path!r}{nearest(name_or_path, allowed)}; "
            f"give a .yaml file or one of: {', '.join(allowed)}"
        )
    return check(yamlfile.read(shipped_file), quick)


def check(document: Document, quick: bool = False) -> Experiment:
    """Validate a parsed file; ConfigError names file, line, key and the nearest allowed key."""
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
    dataset = raw.dataset if isinstance(raw.dataset, DatasetConfig) else _dataset(document, raw.dataset)
    return Experiment(
        path=document.path,
        name=raw.name,
        title=raw.title,
        dataset=dataset.name,
        variant=dataset.variant,
        split=raw.split,
        repeats=raw.repeats,
        limits=raw.limits,
        entries=tuple(_entries(document, raw)),
        document=document,
    )


def _dataset(document: Document, text: str) -> DatasetConfig:
    name, _, variant = text.partition(":")
    try:
        return DatasetConfig(name=name, variant=variant or None)
    except ValidationError:
        at = document.where(("dataset",))
        raise ConfigError(
            f"{at}: dataset: {text!r:.60} is not allowed; allowed: NAME or NAME:VARIANT"
        ) from None


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
            "dataset": quick.dataset or raw.dataset,
            "split": quick.split or raw.split,
            "repeats": quick.repeats or raw.repeats,
            "models": {k: {**(given or {}), **(quick.models.get(k) or {})} for k, given in kept.items()},
            "sweep": {k: v for k, v in {**raw.sweep, **quick.sweep}.items() if k in kept},
        }
    )


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
