"""YAML with line numbers, so that an error can say where."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hgpbench.errors import ConfigError

Key = str | int
LIMIT = 1_000_000  # characters; an experiment file has a few hundred


class _Loader(yaml.SafeLoader):
    """YAML 1.1 as PyYAML reads it, but 1e-3 is a number and a date stays text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+$"), list("-+0123456789")
)


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


def read(path: Path) -> Document:
    """Parse one file; ConfigError names the line of a syntax error or of a key given twice."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not a text file in UTF-8") from None
    return parse(text, path)


def parse(text: str, path: Path) -> Document:
    """Parse YAML text that came from ``path``."""
    if len(text) > LIMIT:
        raise ConfigError(f"{path}: longer than {LIMIT:,} characters; this is not an experiment file")
    lines: dict[tuple[Key, ...], int] = {}
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise ConfigError(f"{path}: empty")
        data = _plain(loader, node, (), lines, path, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ConfigError(f"{path}:{line}: not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{path}: not valid YAML: {reason}") from None
    return Document(path, data, lines)


def _plain(
    loader: _Loader,
    node: yaml.Node,
    location: tuple[Key, ...],
    lines: dict[tuple[Key, ...], int],
    path: Path,
    above: tuple[yaml.Node, ...],
) -> Any:
    """Turn a node into plain data, noting lines; refuse what plain data cannot hold."""
    line = node.start_mark.line + 1
    lines.setdefault(location, line)
    if any(node is parent for parent in above):
        raise ConfigError(f"{path}:{line}: an alias refers to what contains it")
    if len(above) > 20 or len(lines) > 10_000:
        raise ConfigError(f"{path}:{line}: nested or repeated beyond reason; this is not an experiment file")
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            at = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError(f"{path}:{at}: a key must be a plain word")
            # Labels and parameters are words even where YAML would read a number or a yes.
            key = str(key_node.value)
            if key in result:
                raise ConfigError(f"{path}:{at}: {_dotted((*location, key))}: given twice")
            lines[(*location, key)] = at
            result[key] = _plain(loader, value_node, (*location, key), lines, path, (*above, node))
        return result
    if isinstance(node, yaml.SequenceNode):
        return [
            _plain(loader, item, (*location, place), lines, path, (*above, node))
            for place, item in enumerate(node.value)
        ]
    value = loader.construct_object(node)
    if value is not None and not isinstance(value, str | int | float | bool):
        raise ConfigError(
            f"{path}:{line}: {_dotted(location)}: a value of type {type(value).__name__} has no use here"
        )
    return value


def _dotted(location: tuple[Key, ...]) -> str:
    return ".".join(str(part) for part in location) or "the file"
