"""Plain data from a file of ours as the dataclass it should be, each field checked."""

from functools import cache
from typing import Any, TypeVar, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")
_LARGEST = 2**63


def checked(kind: type[T], body: Any) -> T:
    """A dataclass from plain data; ValueError names a field that is missing or of another type.

    Fields that the dataclass does not have were written by a later version, and are passed over.
    """
    if not isinstance(body, dict):
        raise ValueError(f"{body!r:.40} where fields with values should be")
    fields: Any = kind
    values = {name: _value(name, hint, body[name]) for name, hint in _hints(fields).items() if name in body}
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(str(error).partition("() ")[2]) from None


def _value(name: str, hint: Any, value: Any) -> Any:
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ValueError(f"{name}: a number beyond reason")
    value = _as_tuple(value) if get_origin(hint) is tuple and isinstance(value, list) else value
    try:
        return _reader(hint).validate_python(value, strict=True)
    except ValidationError as error:
        reason = error.errors(include_url=False, include_input=False)[0]["msg"]
        raise ValueError(f"{name}: {reason}") from None


def _as_tuple(value: list[Any]) -> tuple[Any, ...]:
    """JSON has lists where a frozen dataclass has tuples."""
    return tuple(_as_tuple(each) if isinstance(each, list) else each for each in value)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _reader(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint)
