"""Experiment files: YAML in, a frozen Experiment out, or one line that says what is wrong and where."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from hgpbench import shipped, units, yamlfile
from hgpbench.errors import ConfigError
from hgpbench.words import nearest

MAX_RUNS = 100_000
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
_RESERVED = {"runs", "report"}  # folders of their own beside the experiments

_NUMBER_OR_TEXT = WithJsonSchema({"type": ["number", "string"]})
Seconds = Annotated[float, BeforeValidator(units.seconds), _NUMBER_OR_TEXT]
Bytes = Annotated[int, BeforeValidator(units.byte_count), _NUMBER_OR_TEXT]
Scalar = bool | int | float | str | None
Value = Scalar | list[Scalar]
Name = Annotated[str, Field(pattern=_NAME, max_length=80)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class SplitConfig(_Strict):
    """How many rows to train and to test on, drawn afresh for each seed."""

    train: Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, lt=1)] | Literal["all"] = Field(
        description="a count of rows, a fraction, or 'all'"
    )
    test: Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, lt=1)] | Literal["rest", "train"] = (
        Field(
            default="rest",
            description="a count, a fraction, 'rest', or 'train' to score on the training rows themselves",
        )
    )

    @model_validator(mode="after")
    def _rows_remain(self) -> "SplitConfig":
        if self.train == "all" and self.test != "train":
            raise ValueError(
                "train: all leaves no row to test on; say test: train to score on the training rows"
            )
        return self


class DatasetConfig(_Strict):
    """A dataset by name and, where its card offers several, by variant."""

    name: Name
    variant: Name | None = None


class Limits(_Strict):
    """What one run may use; a run that goes beyond is stopped and recorded as such."""

    wall: Seconds | None = Field(default=None, description="wall-clock time of a run, e.g. 2h")
    memory: Bytes | None = Field(
        default=None, description="resident memory of a run and its children, e.g. 16GB"
    )
    threads: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="BLAS threads of a run, 1 to 1024"
    )


Sweep = (
    dict[Name, Annotated[list[Value], Field(min_length=1)]]
    | Annotated[list[dict[Name, Value]], Field(min_length=1)]
)


class ExperimentConfig(_Strict):
    """One experiment: a dataset, a split, and the models to compare on it."""

    name: Name = Field(
        description="letters, digits and . _ + -; names the folder of the experiment's results"
    )
    title: str = Field(
        default="", max_length=200, description="up to 200 characters for the report's heading"
    )
    dataset: Name | Annotated[str, Field(pattern=r"^[^:\s]+:[^:\s]+$")] | DatasetConfig = Field(
        description="NAME, NAME:VARIANT, or a mapping with name and variant"
    )
    split: SplitConfig | Literal["published"] | None = Field(
        default=None,
        description="a mapping with train and test, 'published', or nothing for the paper's split",
    )
    repeats: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1, description="a number from 1 to 1000; seeds are 0 to repeats-1"
    )
    limits: Limits = Field(default=Limits(), description="a mapping with wall, memory and threads")
    models: Annotated[dict[Name, dict[Name, Value] | None], Field(min_length=1)] = Field(
        description="label: parameters; 'model' names the model and defaults to the label"
    )
    sweep: dict[Name, Sweep] = Field(
        default={},
        description="label: lists of values, one run for each combination; or a list of parameter sets",
    )

    @field_validator("name")
    @classmethod
    def _not_reserved(cls, value: str) -> str:
        if value.lower() in _RESERVED:
            raise ValueError(f"{value!r} is the name of a folder that results/ already has; choose another")
        return value


@dataclass(frozen=True)
class Entry:
    """One model under one label, with the parameters that the file gives it."""

    label: str
    base: str  # the label before a sweep expanded it
    model: str
    params: Mapping[str, Value]  # with the values of the sweep
    given: Mapping[str, Value]  # without them
    where: str  # file and line, for errors found later


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
    document: yamlfile.Document = field(repr=False, compare=False)


def load(name_or_path: str) -> Experiment:
    """The experiment in a file, or the shipped one of that name."""
    path = Path(name_or_path)
    if path.suffix in {".yaml", ".yml"} or path.is_file():
        if not path.is_file():
            raise ConfigError(f"{path}: no such file; shipped configs: {', '.join(shipped.names('configs'))}")
        return check(yamlfile.read(path))
    found = shipped.find("configs", name_or_path)
    if found is None:
        allowed = shipped.names("configs")
        raise ConfigError(
            f"no config {name_or_path!r}{nearest(name_or_path, allowed)}; "
            f"give a .yaml file or one of: {', '.join(allowed)}"
        )
    return check(yamlfile.read(found))


def check(document: yamlfile.Document) -> Experiment:
    """Validate a parsed file; ConfigError names file, line, key and the nearest allowed key."""
    if not isinstance(document.data, dict):
        raise ConfigError(f"{document.path}:1: an experiment is a mapping with keys {_listed(_fields(()))}")
    try:
        raw = ExperimentConfig.model_validate(document.data)
    except ValidationError as error:
        raise ConfigError(_explain(document, error)) from None
    dataset = raw.dataset if isinstance(raw.dataset, DatasetConfig) else _dataset(raw.dataset)
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


def schema() -> dict[str, Any]:
    """JSON Schema of an experiment file."""
    body = ExperimentConfig.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, "title": "hgpbench experiment"}


def _dataset(text: str) -> DatasetConfig:
    name, _, variant = text.partition(":")
    return DatasetConfig(name=name, variant=variant or None)


def _entries(document: yamlfile.Document, raw: ExperimentConfig) -> Iterable[Entry]:
    for label in raw.sweep:
        if label not in raw.models:
            raise ConfigError(
                f"{document.where(('sweep', label))}: sweep.{label}: no such label under models"
                f"{nearest(label, raw.models)}; labels: {', '.join(raw.models)}"
            )
    seen: set[str] = set()
    for base, given in raw.models.items():
        params = dict(given or {})
        model = params.pop("model", base)
        where = document.where(("models", base))
        if not isinstance(model, str):
            raise ConfigError(
                f"{document.where(('models', base, 'model'))}: models.{base}.model: should be a name"
            )
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
            yield Entry(label, base, model, {**params, **change}, params, where)


def _combinations(sweep: Sweep | None) -> Iterable[dict[str, Value]]:
    if sweep is None:
        return [{}]
    if isinstance(sweep, list):
        return sweep
    return (dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values()))


def _word(value: Value) -> str:
    if isinstance(value, list):
        return "+".join(_word(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _explain(document: yamlfile.Document, error: ValidationError) -> str:
    """The first problem in one line, and how many more there are."""
    problems = error.errors(include_url=False)
    # Of a union's complaints the one that got furthest into the file is the one that was meant.
    first = max(problems, key=lambda p: (p["type"] == "extra_forbidden", len(_in_file(document, p["loc"]))))
    location = _in_file(document, first["loc"])
    where, key = document.where(location), ".".join(map(str, location)) or "the file"
    if first["type"] == "extra_forbidden":
        allowed = _fields(location[:-1])
        return (
            f"{where}: {key}: unknown key{nearest(str(location[-1]), allowed)}; allowed: {_listed(allowed)}"
        )
    if first["type"] == "missing":
        key = ".".join(map(str, (*location, first["loc"][-1])))
        return f"{where}: {key}: required key is missing"
    if first["type"] == "value_error":
        return f"{where}: {key}: {first['msg'].removeprefix('Value error, ')}"
    given = first.get("input")
    said = f"{given!r:.60} is not allowed" if isinstance(given, Scalar) else "not allowed"
    allowed_here = _describe(location) or first["msg"].removeprefix("Input should be ")
    return f"{where}: {key}: {said}; allowed: {allowed_here}"


def _in_file(document: yamlfile.Document, location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Drop the names of union branches, which pydantic puts into a location but no file contains."""
    kept: tuple[int | str, ...] = ()
    for part in location:
        if (*kept, part) in document.lines:
            kept = (*kept, part)
    return kept


_MODELS: dict[str, type[BaseModel]] = {
    "": ExperimentConfig,
    "split": SplitConfig,
    "limits": Limits,
    "dataset": DatasetConfig,
}


def _fields(location: tuple[int | str, ...]) -> list[str]:
    model = _MODELS.get(".".join(map(str, location)), ExperimentConfig)
    return list(model.model_fields)


def _describe(location: tuple[int | str, ...]) -> str:
    """What a key may hold, in words."""
    if location[:1] == ("models",) and len(location) > 1:
        return (
            "a mapping of parameters, or nothing"
            if len(location) == 2
            else "a number, text, true, false, null, or a list"
        )
    if location[:1] == ("sweep",) and len(location) > 1:
        return "parameter: [values, ...], or a list of parameter mappings, none of them empty"
    model = _MODELS.get(".".join(map(str, location[:-1])))
    info = model.model_fields.get(str(location[-1])) if model and location else None
    return (info.description or "") if info else ""


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
