"""Experiment files as YAML: what is wrong in one is a ConfigError with its line."""

from pathlib import Path

from hgpbench import yamltext
from hgpbench.errors import ConfigError
from hgpbench.yamltext import Dialect, Document, Key

__all__ = ["Document", "Key", "parse", "read"]

_EXPERIMENTS = Dialect(ConfigError)


def read(path: Path) -> Document:
    """Parse one file; ConfigError names the line of a syntax error or of a key given twice."""
    return yamltext.read(path, _EXPERIMENTS)


def parse(text: str, path: Path) -> Document:
    """Parse YAML text that came from ``path``."""
    return yamltext.parse(text, path, _EXPERIMENTS)
