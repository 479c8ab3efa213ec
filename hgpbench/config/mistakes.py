"""What pydantic says of a wrong experiment file, as one line with file, line, key and what is allowed."""

from typing import Any

from pydantic import BaseModel, ValidationError

from hgpbench.config.schema import (
    PARAMETER,
    DatasetConfig,
    ExperimentConfig,
    Limits,
    QuickConfig,
    Scalar,
    SplitConfig,
)
from hgpbench.config.yamlfile import Document, Key
from hgpbench.words import nearest

# What describes each mapping of a file, by its dotted place.
_MAPPINGS: dict[str, type[BaseModel]] = {
    "": ExperimentConfig,
    "split": SplitConfig,
    "limits": Limits,
    "dataset": DatasetConfig,
    "quick": QuickConfig,
    "quick.split": SplitConfig,
    "quick.dataset": DatasetConfig,
}


def explain(document: Document, error: ValidationError) -> str:
    """The problem that tells most, in one line."""
    problems = error.errors(include_url=False)

    # Of a union's complaints the one that got furthest into the file is the one that was meant.
    def told(problem: Any) -> tuple[bool, int, bool]:
        kind = problem["type"]
        return kind == "extra_forbidden", len(_in_file(document, problem["loc"])), kind == "value_error"

    first = max(problems, key=told)
    location = _in_file(document, first["loc"])
    where, key = document.where(location), ".".join(map(str, location)) or "the file"
    if first["type"] == "extra_forbidden":
        allowed = keys(location[:-1])
        guess = nearest(str(location[-1]), allowed)
        return f"{where}: {key}: unknown key{guess}; allowed: {', '.join(allowed)}"
    if first["type"] == "missing":
        key = ".".join(map(str, (*location, first["loc"][-1])))
        return f"{where}: {key}: required key is missing"
    if first["type"] == "value_error":
        return f"{where}: {key}: {first['msg'].removeprefix('Value error, ')}"
    given = first.get("input")
    said = f"{given!r:.60} is not allowed" if isinstance(given, Scalar) else "not allowed"
    allowed_here = _describe(location) or first["msg"].removeprefix("Input should be ")
    return f"{where}: {key}: {said}; allowed: {allowed_here}"


def keys(location: tuple[Key, ...] = ()) -> list[str]:
    """The keys that a mapping at this place may have."""
    mapping = _MAPPINGS.get(".".join(map(str, _as_one(location))), ExperimentConfig)
    return list(mapping.model_fields)


def _as_one(location: tuple[Key, ...]) -> tuple[Key, ...]:
    """The place of one of several datasets as that of a single one."""
    for before in ((), ("quick",)):
        if location[: len(before) + 1] == (*before, "datasets") and len(location) > len(before) + 1:
            return (*before, "dataset", *location[len(before) + 2 :])
    return location


def _in_file(document: Document, location: tuple[Key, ...]) -> tuple[Key, ...]:
    """Drop the names of union branches, which pydantic puts into a location but no file contains."""
    kept: tuple[Key, ...] = ()
    for part in location:
        if (*kept, part) in document.lines:
            kept = (*kept, part)
    return kept


def _describe(location: tuple[Key, ...]) -> str:
    """What a key may hold, in words."""
    location = _as_one(location)
    location = location[1:] if location[:2] in {("quick", "models"), ("quick", "sweep")} else location
    if location[:1] == ("models",) and len(location) > 1:
        return "a mapping of parameters, or nothing" if len(location) == 2 else PARAMETER
    if location[:1] == ("sweep",) and len(location) > 1:
        return "parameter: [values, ...], or a list of parameter mappings, none of them empty"
    mapping = _MAPPINGS.get(".".join(map(str, location[:-1])))
    info = mapping.model_fields.get(str(location[-1])) if mapping and location else None
    return (info.description or "") if info else ""
