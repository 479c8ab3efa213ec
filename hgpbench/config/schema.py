"""The keys of an experiment file and what each may hold."""

import math
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from hgpbench import units

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
_RESERVED = {"runs", "report"}  # folders of their own beside the experiments

_NUMBER_OR_TEXT = WithJsonSchema({"type": ["number", "string"]})
Seconds = Annotated[float, BeforeValidator(units.seconds), _NUMBER_OR_TEXT]
Bytes = Annotated[int, BeforeValidator(units.byte_count), _NUMBER_OR_TEXT]
Scalar = bool | int | float | str | None
# What is not finite has no place in JSON, and so none in the hash that identifies a run.
Finite = Annotated[float, Field(allow_inf_nan=False)]
Value = Scalar | list[Any] | dict[str, Any]
_Given = bool | int | Finite | str | None


def _object(value: Any) -> Any:
    """A mapping that names a class and its parameters, or a list; in them again such, or plain values."""
    if isinstance(value, dict):
        named = value.get(CLASS)
        if not isinstance(named, str) or named.count(":") != 1:
            raise ValueError(
                f"a mapping stands for an object and names its class: "
                f"{{{CLASS}: module:Class, parameter: value}}"
            )
    parts = value.values() if isinstance(value, dict) else value
    for part in parts:
        if isinstance(part, dict | list):
            _object(part)
        elif not isinstance(part, Scalar) or (isinstance(part, float) and not math.isfinite(part)):
            raise ValueError(f"{part!r:.60} is not allowed; allowed: {PARAMETER}")
    return value


CLASS = "class"  # the key by which a mapping names the class of an object
PARAMETER = "a finite number, text, true, false, null, a list, or an object as {class: module:Class}"
Given = (
    _Given
    | list[_Given]
    | Annotated[dict[str, Any], AfterValidator(_object)]
    | Annotated[list[Any], AfterValidator(_object)]
)
Name = Annotated[str, Field(pattern=_NAME, max_length=80)]
DatasetName = (
    Name | Annotated[str, Field(pattern=r"^[^:\s]+:[^:\s]+$")] | Annotated[str, Field(pattern=r"[./]")]
)
Repeats = Annotated[int, Field(ge=1, le=1000)]

_DATASET = "NAME, NAME:VARIANT, the path of a table, or a mapping with name and variant, or path and target"
_REPEATS = "a number from 1 to 1000; seeds are 0 to repeats-1"


_COLUMNS = "a list of names of columns"
_DATASETS = "a list of what dataset: may be, two at least, none of them twice"
Columns = list[Annotated[str, Field(min_length=1)]]


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

    by: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="an input: rows that share a value of it are on one side; '*': rows of the same inputs",
    )
    time: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="an input: test rows come after the training rows"
    )
    blocks: Annotated[int, Field(ge=2)] | None = Field(
        default=None,
        description="a count of pieces that the file's rows are cut into; whole ones are tested on",
    )
    gap: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="rows left out of training on either side of a block that is tested on"
    )

    @model_validator(mode="after")
    def _rows_remain(self) -> "SplitConfig":
        if self.train == "all" and self.test != "train":
            raise ValueError(
                "train: all leaves no row to test on; say test: train to score on the training rows"
            )
        if self.gap is not None and self.blocks is None:
            raise ValueError("gap: stands beside blocks, which says what it is a gap between")
        return self


class DatasetConfig(_Strict):
    """A dataset by name and, where its card offers several, by variant; or a table by its path.

    What says how a table is read has the names and the words of ``data.frames.choices.Choices``.
    """

    name: Name | None = None
    variant: Name | None = None
    path: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="a file with a table, from the folder of this file or the working folder"
    )
    target: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="the column to predict"
    )
    inputs: Columns | None = Field(default=None, description=_COLUMNS)
    drop: Columns = Field(default=[], description=_COLUMNS)
    keep_index: bool = Field(default=False, description="true keeps columns that only count rows")
    missing: Literal["error", "drop", "mean", "flag"] = Field(
        default="error", description="error, drop, mean or flag"
    )
    na: list[str] = Field(default=[], description="a list of cells that count as missing")
    categories: Columns = Field(default=[], description=_COLUMNS)
    max_categories: Annotated[int, Field(ge=2)] = Field(default=20, description="a number from 2 on")
    rare: Literal["refuse", "pool"] = Field(default="refuse", description="refuse or pool")
    date_parts: list[str] = Field(default=[], description="a list, such as [month, weekday]")
    date_order: Literal["day", "month"] | None = Field(default=None, description="day or month")
    header: bool | None = Field(default=None, description="true or false")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        default=None, description="one character"
    )
    decimal: Literal[".", ","] | None = Field(default=None, description="'.' or ','")
    encoding: str = Field(default="utf-8", description="the name of an encoding of text")

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> "DatasetConfig":
        if (self.name is None) == (self.path is None):
            raise ValueError("should have name, or path and target: one of them")
        own = self.model_fields_set & ({"variant"} if self.path else set(self.reading()) | {"target"})
        if own:
            raise ValueError(
                f"{min(own)}: is for a dataset with a {'name' if self.path else 'path'}; leave it out"
            )
        return self

    def reading(self) -> dict[str, Any]:
        """How a table is read: the fields of ``Choices``."""
        return self.model_dump(exclude={"name", "variant", "path", "target"})


Datasets = Annotated[list[DatasetName | DatasetConfig], Field(min_length=2)]


class Limits(_Strict):
    """What one run may use; a run that goes beyond is stopped and recorded as such."""

    wall: Seconds | None = Field(default=None, description="wall-clock time of a run, e.g. 2h")
    cpu: Seconds | None = Field(
        default=None,
        description="processor time of a run and its children, e.g. 1h; a busy machine takes none",
    )
    memory: Bytes | None = Field(
        default=None, description="resident memory of a run and its children, e.g. 16GB"
    )
    threads: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="Threads of a run, 1 to 1024"
    )


Sweep = (
    dict[Name, Annotated[list[Given], Field(min_length=1)]]
    | Annotated[list[dict[Name, Given]], Field(min_length=1)]
)
Parameters = dict[Name, dict[Name, Given] | None]


class QuickConfig(_Strict):
    """What ``--quick`` changes so that the experiment ends in minutes; its results have their own folder."""

    dataset: DatasetName | DatasetConfig | None = Field(default=None, description=_DATASET)
    datasets: Datasets | None = Field(default=None, description=_DATASETS)
    split: SplitConfig | None = Field(default=None, description="a mapping with train and test")
    repeats: Repeats | None = Field(default=None, description=_REPEATS)
    models: Parameters = Field(default={}, description="label: parameters to change or add")
    sweep: dict[Name, Sweep] = Field(default={}, description="label: the sweep to make instead")
    leave_out: list[Name] = Field(default=[], description="a list of labels that are not run")

    @model_validator(mode="after")
    def _has_data_once(self) -> "QuickConfig":
        if self.dataset is not None and self.datasets is not None:
            raise ValueError("should have dataset or datasets, not both")
        return self


class ExperimentConfig(_Strict):
    """One experiment: a dataset, or several in turn, a split, and the models to compare on it."""

    name: Name = Field(
        description="letters, digits and . _ + -; names the folder of the experiment's results"
    )
    title: str = Field(
        default="", max_length=200, description="up to 200 characters for the report's heading"
    )
    dataset: DatasetName | DatasetConfig | None = Field(default=None, description=_DATASET)
    datasets: Datasets | None = Field(default=None, description=_DATASETS)
    split: SplitConfig | Literal["published"] | None = Field(
        default=None,
        description="a mapping with train and test, 'published', or nothing for the paper's split",
    )
    repeats: Repeats = Field(default=3, description=_REPEATS)
    limits: Limits = Field(default=Limits(), description="a mapping with wall, cpu, memory and threads")
    models: Annotated[Parameters, Field(min_length=1)] = Field(
        description="label: parameters; 'model' names the model and defaults to the label"
    )
    sweep: dict[Name, Sweep] = Field(
        default={},
        description="label: lists of values, one run for each combination; or a list of parameter sets",
    )
    quick: QuickConfig | None = Field(
        default=None, description="a mapping with dataset, split, repeats, models, sweep and leave_out"
    )

    @field_validator("name")
    @classmethod
    def _not_reserved(cls, value: str) -> str:
        if value.lower() in _RESERVED:
            raise ValueError(f"{value!r} is the name of a folder that results/ already has; choose another")
        return value

    @model_validator(mode="after")
    def _has_data(self) -> "ExperimentConfig":
        if (self.dataset is None) == (self.datasets is None):
            raise ValueError("should have dataset, or datasets with a list of several: one of them")
        return self


def json_schema() -> dict[str, Any]:
    """JSON Schema of an experiment file."""
    body = ExperimentConfig.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, "title": "hgpbench experiment"}
