"""Parameters that are objects: ``{class: module:Class, parameter: value}`` in a config, at any depth.

A record keeps the mapping, not the object: a run is known by what was asked. The object is made twice, by the
plan, which so finds what is wrong with it, and by the process of the run.
"""

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hgpbench.bench import foreign
from hgpbench.bench.foreign import Address
from hgpbench.config import CLASS
from hgpbench.errors import ConfigError, Stopped
from hgpbench.words import nearest


def holds_object(value: Any) -> bool:
    """Whether a value of a config is an object, or a list with one somewhere."""
    return isinstance(value, dict) or (isinstance(value, list) and any(map(holds_object, value)))


def addresses(value: Any, folders: Sequence[Path]) -> Iterator[Address]:
    """Where the classes of all objects in a value are found."""
    if isinstance(value, dict):
        yield _address(value[CLASS], folders)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from addresses(part, folders)


def made(value: Any, folders: Sequence[Path]) -> Any:
    """The value with its objects in place of their mappings; the folders are importable already."""
    if isinstance(value, list):
        return [made(part, folders) for part in value]
    if not isinstance(value, dict):
        return value
    kind = foreign.load(_address(value[CLASS], folders))
    given = {name: made(part, folders) for name, part in value.items() if name != CLASS}
    _check_names(value[CLASS], kind, given)
    return construct(value[CLASS], kind, given)


def construct(called: str, kind: Any, given: dict[str, Any]) -> Any:
    """An object of the class, or one line that says what its constructor said."""
    try:
        return kind(**given)
    except (KeyboardInterrupt, Stopped):
        raise
    except BaseException as error:
        lines = str(error).splitlines() or [""]
        raise ConfigError(f"{called} cannot be made: {type(error).__name__}: {lines[0]:.200}") from error


def _address(text: str, folders: Sequence[Path]) -> Address:
    if text.partition(":")[0].endswith(".py"):
        raise ConfigError(f"{CLASS}: {text!r}: name the module, not its file; allowed: module:Class")
    return foreign.address(text, folders)


def _check_names(called: str, kind: Any, given: dict[str, Any]) -> None:
    """A parameter that the constructor does not know, by its nearest name."""
    try:
        known = inspect.signature(kind).parameters
    except (TypeError, ValueError):  # a class that does not tell
        return
    if any(each.kind is each.VAR_KEYWORD for each in known.values()):
        return
    for name in given:
        if name not in known:
            raise ConfigError(
                f"{called} has no parameter {name!r}{nearest(name, known)}; "
                f"parameters: {', '.join(known) or 'none'}"
            )
