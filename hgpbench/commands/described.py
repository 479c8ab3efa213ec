"""Shipped models as their source describes them: read, not imported, since importing all takes seconds."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]  # what holds the folder hgpbench
_TABLES = (("hgpbench.models", "MODELS"), ("hgpbench.peers", "PEERS"))
_SEED = "random_state"  # which a run sets

Kinds = list[tuple["Module", ast.ClassDef]]


@dataclass(frozen=True)
class Described:
    """What a model says of itself."""

    name: str
    paragraphs: tuple[str, ...]  # of its docstring
    reference: str
    defaults: dict[str, Any]  # of its parameters but the seed
    needs: tuple[str, ...]  # modules of others
    extra: str  # of hgpbench, that brings them
    most_rows: int | None = None  # beyond which it refuses

    @property
    def missing(self) -> list[str]:
        """What it needs and this Python does not have."""
        return [name for name in self.needs if find_spec(name) is None]

    @property
    def install(self) -> str:
        """The command that brings what it needs."""
        return f"pip install 'hgpbench[{self.extra}]'"


@dataclass(frozen=True)
class Module:
    """What a file of this package defines, and from where it has its other names."""

    constants: dict[str, ast.expr]
    classes: dict[str, ast.ClassDef]
    origins: dict[str, str]  # names and the modules they are imported from

    def value(self, node: ast.expr) -> Any:
        """A literal, or what a constant of this module or another one stands for."""
        if not isinstance(node, ast.Name):
            return ast.literal_eval(node)
        if node.id in self.constants:
            return self.value(self.constants[node.id])
        return module(self.origins[node.id]).value(node)

    def kinds(self, name: str) -> "Iterator[tuple[Module, ast.ClassDef]]":
        """A class and those of this package that it inherits from, the nearest first."""
        if name in self.classes:
            yield self, self.classes[name]
            for base in self.classes[name].bases:
                if isinstance(base, ast.Name):
                    yield from self.kinds(base.id)
        elif self.origins.get(name, "").startswith("hgpbench."):
            yield from module(self.origins[name]).kinds(name)


@cache
def models() -> dict[str, Described]:
    """Every model by name."""
    found = {}
    for where, table in _TABLES:
        of = module(where)
        listed = of.constants[table]
        assert isinstance(listed, ast.Dict)
        for key, kind in zip(listed.keys, listed.values, strict=True):
            assert isinstance(key, ast.Constant)
            assert isinstance(kind, ast.Name)
            found[str(key.value)] = _described(str(key.value), list(of.kinds(kind.id)))
    return found


@cache
def module(name: str) -> Module:
    """A module of this package, by its dotted name."""
    path = _ROOT.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = Module({}, {}, {})
    for each in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(each, ast.ClassDef):
            found.classes[each.name] = each
        elif isinstance(each, ast.ImportFrom) and each.module:
            found.origins.update({alias.asname or alias.name: each.module for alias in each.names})
        else:
            found.constants.update(_assigned(each))
    return found


def _assigned(statement: ast.stmt) -> dict[str, ast.expr]:
    """Names that a statement gives a value, and the value."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return {}
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {target.id: statement.value for target in targets if isinstance(target, ast.Name)}


def _described(name: str, kinds: Kinds) -> Described:
    text = inspect.cleandoc(ast.get_docstring(kinds[0][1], clean=False) or "")
    return Described(
        name=name,
        paragraphs=tuple(text.split("\n\n")),
        reference=_attribute(kinds, "reference") or "",
        defaults=_defaults(kinds),
        needs=_attribute(kinds, "needs") or (),
        extra=_attribute(kinds, "extra") or "",
        most_rows=_constant(kinds[0][0], "MOST_ROWS"),
    )


def _constant(of: Module, name: str) -> Any:
    """The value of a constant of a module; None where it has none."""
    return of.value(of.constants[name]) if name in of.constants else None


def _attribute(kinds: Kinds, name: str) -> Any:
    """The value of a class attribute, the nearest class's; None where nobody has it."""
    for of, kind in kinds:
        for statement in kind.body:
            if name in (assigned := _assigned(statement)):
                return of.value(assigned[name])
    return None


def _defaults(kinds: Kinds) -> dict[str, Any]:
    """Parameters of the nearest constructor with their defaults, all of which have one."""
    for of, kind in kinds:
        for each in kind.body:
            if isinstance(each, ast.FunctionDef) and each.name == "__init__":
                given = zip(each.args.args[1:], each.args.defaults, strict=True)
                return {one.arg: of.value(value) for one, value in given if one.arg != _SEED}
    return {}
