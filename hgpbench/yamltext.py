"""YAML of a user as plain data with line numbers, within bounds: the one reader of configs and cards.

Numbers, words, true, false and null, in mappings and lists. Nothing is guessed from colons or dashes (1:30
and 2020-01-01 are text), tags may only repeat what a value looks like, and whatever is nested, repeated or
long beyond reason is refused before it costs time or memory.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hgpbench.errors import HgpbenchError

Key = str | int
LIMIT = 1_000_000  # characters; a file of ours has some thousands
_DEEPEST = 20
_MOST_VALUES = 10_000  # aliases counted as often as they are used
_MOST_NODES = 25_000  # a key and its value are two, and an anchored one may stay unused
_MOST_DIGITS = 100
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_PLAIN = ("null", "bool", "int", "float", "str")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")  # no text file and no HDF5 attribute can hold these
_INT = r"^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)$"
_FLOAT = (
    r"^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)


class _Beyond(Exception):
    """The file is nested or repeated beyond reason, at this line."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


class _Loader(yaml.SafeLoader):
    """YAML 1.1 as PyYAML reads it, but 1e-3 is a number, dates and 1:30 stay text, and nodes are counted."""

    _nodes = 0
    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """One more node; composing recurses, so depth has to be refused here."""
        self._nodes += 1
        self._depth += 1
        if self._nodes > _MOST_NODES or self._depth > _DEEPEST + 5:
            raise _Beyond(self.peek_event().start_mark.line + 1)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


_REPLACED = {f"{_TAG}timestamp", f"{_TAG}int", f"{_TAG}float"}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_TAG}int", re.compile(_INT), list("-+0123456789"))
_Loader.add_implicit_resolver(f"{_TAG}float", re.compile(_FLOAT), list("-+0123456789."))


@dataclass(frozen=True)
class Dialect:
    """What kind of file is read: the error it raises, its words, and whether ``<<`` merges mappings."""

    error: type[HgpbenchError]
    what: str = "an experiment file"
    broken: str = "not valid YAML"
    merges: bool = False


@dataclass(frozen=True)
class Document:
    """The plain data of a YAML file and the line of every key."""

    path: Path
    data: Any
    lines: dict[tuple[Key, ...], int]

    def where(self, location: tuple[Key, ...]) -> str:
        """``file:line`` of a key, or of its nearest parent that stands in the file."""
        while location and location not in self.lines:
            location = location[:-1]
        return f"{self.path}:{self.lines.get(location, 1)}"


def read(path: Path, dialect: Dialect) -> Document:
    """Parse one file; the dialect's error names the line of what is wrong."""
    try:
        with path.open("rb") as file:
            text = file.read(4 * LIMIT + 1).decode("utf-8")
    except OSError as error:
        raise dialect.error(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise dialect.error(f"{path}: unreadable, not a text file in UTF-8") from None
    return parse(text, path, dialect)


def parse(text: str, path: Path, dialect: Dialect) -> Document:
    """Parse YAML text that came from ``path``."""
    if len(text) > LIMIT:
        raise dialect.error(f"{path}: longer than {LIMIT:,} characters; this is not {dialect.what}")
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise dialect.error(f"{path}: empty; it should be a mapping of keys to values")
        reader = _Reader(loader, path, dialect)
        return Document(path, reader.plain(node, (), ()), reader.lines)
    except _Beyond as error:
        raise dialect.error(
            f"{path}:{error.line}: nested or repeated beyond reason; this is not {dialect.what}"
        ) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise dialect.error(f"{path}:{line}: {dialect.broken}: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise dialect.error(f"{path}: {dialect.broken}: {reason}") from None


@dataclass
class _Reader:
    """Turns nodes into plain data, noting lines; refuses what plain data cannot hold."""

    loader: _Loader
    path: Path
    dialect: Dialect
    lines: dict[tuple[Key, ...], int] = field(default_factory=dict)
    values: int = 0

    def plain(self, node: yaml.Node, location: tuple[Key, ...], above: tuple[yaml.Node, ...]) -> Any:
        """The data of a node that lies inside those above."""
        line = node.start_mark.line + 1
        self.lines.setdefault(location, line)
        self.values += 1
        if any(node is parent for parent in above):
            raise self.dialect.error(f"{self.path}:{line}: an alias refers to what contains it")
        if len(above) > _DEEPEST or self.values > _MOST_VALUES:
            raise _Beyond(line)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, f"{self.path}:{line}: {_dotted(location)}")
        if not node.tag.startswith((f"{_TAG}map", f"{_TAG}seq")):
            raise self.dialect.error(
                f"{self.path}:{line}: {_dotted(location)}: the tag {_short(node.tag)} has no use here"
            )
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, (*location, i), (*above, node)) for i, item in enumerate(node.value)]
        return self._mapping(node, location, (*above, node))

    def _mapping(
        self, node: yaml.Node, location: tuple[Key, ...], above: tuple[yaml.Node, ...]
    ) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            at = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise self.dialect.error(f"{self.path}:{at}: a key must be a plain word")
            # Labels and parameters are words even where YAML would read a number or a yes.
            key = str(key_node.value)
            where = (*location, key)
            if self.dialect.merges and key_node.tag == _MERGE:
                merged = {**self._merged(self.plain(value_node, where, above), at), **merged}
                continue
            if key in result:
                raise self.dialect.error(f"{self.path}:{at}: {_dotted(where)}: given twice")
            self.lines[where] = at
            result[key] = self.plain(value_node, where, above)
        return {**merged, **result}

    def _merged(self, given: Any, line: int) -> dict[str, Any]:
        """What ``<<`` takes over: one mapping, or several of which the first wins."""
        parts = given if isinstance(given, list) else [given]
        if not all(isinstance(part, dict) for part in parts):
            raise self.dialect.error(
                f"{self.path}:{line}: '<<' should merge a mapping, or a list of mappings"
            )
        return {key: value for part in reversed(parts) for key, value in part.items()}

    def _scalar(self, node: yaml.ScalarNode, where: str) -> Any:
        """A word, a number, true, false or null; an explicit tag has to fit what the text looks like."""
        tag, text = node.tag.removeprefix(_TAG), str(node.value)
        if tag not in _PLAIN:
            raise self.dialect.error(f"{where}: a value of type {_short(tag)} has no use here")
        if tag == "str":
            if _UNWRITABLE.search(text):
                raise self.dialect.error(
                    f"{where}: {_short(text)!r} has a NUL or half a character, which no file can hold"
                )
            return text
        looks = str(self.loader.resolve(yaml.ScalarNode, text, (True, False))).removeprefix(_TAG)
        if looks != tag and (looks, tag) != ("int", "float"):
            raise self.dialect.error(f"{where}: {_short(text)!r} is not a value of type {tag}")
        if len(text) > _MOST_DIGITS and tag in ("int", "float"):
            raise self.dialect.error(f"{where}: a number of {len(text):,} digits has no use here")
        try:
            return self.loader.construct_object(node)
        except ValueError:
            raise self.dialect.error(f"{where}: {_short(text)!r} is not a value of type {tag}") from None


def _dotted(location: tuple[Key, ...]) -> str:
    return ".".join(_short(str(part)) for part in location) or "the file"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
