"""Parameters of a model: what a config gives, checked against the signature, and defaults for the rest."""

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from hgpbench.bench import foreign, objects
from hgpbench.bench.estimators import NOISE, SEED_PARAMETER, Model
from hgpbench.config import Entry
from hgpbench.config.yamlfile import Document
from hgpbench.errors import ConfigError
from hgpbench.peers.wrapped import NOISES
from hgpbench.words import nearest

# What evaluating an annotation may raise: a name that only a type checker imports, and worse.
_UNREADABLE = (
    *(ArithmeticError, AttributeError, ImportError, LookupError, NameError),
    *(RuntimeError, SyntaxError, TypeError, ValueError),
)


def arguments(entry: Entry, model: Model, document: Document) -> dict[str, Any]:
    """All parameters of the model, defaults included; each given one checked against the signature."""
    at = f"{document.where(('models', entry.base))}: models.{entry.base}"
    allowed = _allowed(entry.model, model.kind, at)
    given: dict[str, Any] = {}
    for part, values in (("models", entry.given), ("sweep", entry.params)):
        for name, value in values.items():
            where = f"{document.where((part, entry.base, name))}: {part}.{entry.base}.{name}"
            if name == NOISE and model.address is not None and name not in allowed:
                given[name] = _noise(value, where)
                continue
            _check_name(name, list(allowed), entry.model, model, where)
            given[name] = _given(value, allowed[name], model, where)
    wrapped = {NOISE: given[NOISE]} if NOISE in given and NOISE not in allowed else {}
    return {
        name: given[name] if name in given else _default(parameter, entry.model, at)
        for name, parameter in allowed.items()
    } | wrapped


def _allowed(model: str, kind: type[Any], at: str) -> dict[str, inspect.Parameter]:
    """What a config may give: the constructor's parameters but the seed."""
    try:
        signature = inspect.signature(kind)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"{at}: the constructor of {model} does not tell its parameters ({error})"
        ) from None
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(
                f"{at}: the constructor of {model} takes {parameter}, which has no names; "
                "name its parameters one by one, as a run is known by them all"
            )
    return {name: each for name, each in signature.parameters.items() if name != SEED_PARAMETER}


def _check_name(name: str, allowed: list[str], called: str, model: Model, where: str) -> None:
    if name == SEED_PARAMETER:
        raise ConfigError(f"{where}: set by the run's seed; use repeats or --seeds")
    former = getattr(model.kind, "former", {}) if model.address is None else {}
    if name in former:
        raise ConfigError(f"{where}: {called} has no such parameter any more: it is {former[name]}")
    if name not in allowed:
        raise ConfigError(
            f"{where}: {called} has no such parameter{nearest(name, allowed)}; "
            f"parameters: {', '.join(allowed) or 'none'}"
        )


def _noise(value: Any, where: str) -> str:
    """How to put a normal about a mean."""
    if value not in NOISES:
        raise ConfigError(f"{where}: {value!r:.60} is not allowed; allowed: {', '.join(NOISES)}")
    return str(value)


def _object(value: Any, parameter: inspect.Parameter, model: Model, where: str) -> Any:
    """A mapping that stands for an object, kept as it is once the object could be made and is of the type."""
    if model.address is None:
        raise ConfigError(f"{where}: a model of hgpbench takes no objects; allowed: numbers, text, lists")
    folders = tuple(map(Path, model.address.folders))
    try:
        with foreign.visiting(model.address.folders):
            made = objects.made(value, folders)
            _checked(made, _hint(parameter.annotation, model.kind), where)
    except ConfigError as error:
        raise ConfigError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None
    return value


def _given(value: Any, parameter: inspect.Parameter, model: Model, where: str) -> Any:
    """A value of the config as the signature's type, in its one spelling."""
    if objects.holds_object(value):
        return _object(value, parameter, model, where)
    checked = _checked(value, _hint(parameter.annotation, model.kind), where)
    shorthands = getattr(model.kind, "shorthands", {}) if model.address is None else {}
    if parameter.name in shorthands and isinstance(checked, str):
        checked = _written(shorthands[parameter.name], checked, where)
    for odd in _odd(checked):
        raise ConfigError(
            f"{where}: {odd} is not allowed; allowed: finite numbers, text, true, false, null, lists"
        )
    return checked


def _default(parameter: inspect.Parameter, called: str, at: str) -> Any:
    """The default of what the config does not give; it has to be something that a record can hold."""
    if parameter.default is parameter.empty:
        raise ConfigError(
            f"{at}: {called} needs the parameter {parameter.name!r}; give it here, or a default in the class"
        )
    for odd in _odd(parameter.default):
        raise ConfigError(
            f"{at}: the default of {called}'s parameter {parameter.name!r} is or has {odd}, which no record "
            "can hold; give it a number, text, list or {class: module:Class} here, or make the default None "
            "in the class"
        )
    return parameter.default


def _odd(value: Any) -> Iterator[str]:
    """What in a value is neither a finite number nor text, true, false, null or a list of such."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _odd(part)
    elif isinstance(value, float) and not math.isfinite(value):
        yield str(float(value))
    elif not isinstance(value, str | int | float | None):
        yield f"an object of type {type(value).__name__}"


def _hint(annotation: Any, kind: type[Any]) -> Any:
    """The type that an annotation names; Any for one that has no meaning outside a type checker."""
    if annotation is inspect.Parameter.empty:
        return Any
    holder = type("Holder", (), {"__annotations__": {"value": annotation}})
    try:
        return get_type_hints(holder, globalns=getattr(kind.__init__, "__globals__", {}))["value"]
    except _UNREADABLE:
        return Any


def _written(shorthand: Callable[[str], str], value: str, where: str) -> str:
    """The one text for what a shorthand stands for: runs of the same settings are the same runs."""
    try:
        return shorthand(value)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


def _checked(value: Any, hint: Any, where: str) -> Any:
    """The value as the signature's type, or an error that says what the type allows."""
    if is_dataclass(hint):  # pydantic would make one of a mapping, which is nothing that a record can hold
        name = getattr(hint, "__name__", "dataclass")
        raise ConfigError(f"{where}: {value!r:.60} is not allowed; it has to be an object ({name})")
    try:
        return _adapter(hint).validate_python(value, strict=True)
    except PydanticUserError:  # such a class inside another type
        return value
    except ValidationError as error:
        allowed = " or ".join(
            dict.fromkeys(p["msg"].removeprefix("Input should be ") for p in error.errors())
        )
        raise ConfigError(f"{where}: {value!r:.60} is not allowed; allowed: {allowed}") from None


def _adapter(hint: Any) -> TypeAdapter[Any]:
    """Who checks values of a type; anything passes where the type cannot be checked."""
    # Arbitrary classes need a setting; a dataclass, which brings settings of its own, bears none.
    for config in (ConfigDict(arbitrary_types_allowed=True), None):
        with suppress(PydanticUserError, *_UNREADABLE):
            return TypeAdapter(hint, config=config)
    return TypeAdapter(Any)
