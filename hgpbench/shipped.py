"""The cards and configs that come with hgpbench, wherever it is installed."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(kind: str) -> Path:
    """The shipped ``datasets`` or ``configs`` folder: inside the wheel, or the repository's own."""
    inside = _PACKAGE / "_shipped" / kind
    return inside if inside.is_dir() else _PACKAGE.parent / kind


def find(kind: str, name: str) -> Path | None:
    """The shipped YAML file of that name, or None."""
    path = folder(kind) / f"{name}.yaml"
    return path if path.is_file() else None


def names(kind: str) -> list[str]:
    """Names of all shipped YAML files of that kind."""
    return sorted(path.stem for path in folder(kind).glob("*.yaml"))
