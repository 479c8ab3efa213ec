"""What computes a run, as one hash: part of a run's identity, so that no other code's result is taken for it.

Hashed is the import closure of a model: for ours the modules of hgpbench that its file imports, for a foreign
one its module and the local modules that it imports, and of an installed one the version. Comments, layout
and docstrings do not count, as syntax trees are hashed. Imports are read from the source, wherever they are;
a module that is loaded by a computed name is not seen.
"""

import ast
import hashlib
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

from hgpbench.bench.foreign import Address, is_local

PROTOCOL = 1  # raise it when bench/execute.py feeds models otherwise: then every run is one of other code
_SHARED = ("hgpbench.bench.estimators", "hgpbench.data.split", "hgpbench.scaling", "hgpbench.prediction")
# Modules that cannot change a bit of a result. Those that carry questions to a cluster are tested to bring
# the bits of one machine, whoever answers; what puts and answers them (``pool``, owners, ``crew``) counts.
_SILENT = {
    f"hgpbench.{name}"
    for name in (
        *("errors", "files", "units", "words", "cores", "shipped"),
        *("hdf5", "sealed", "models.parts", "models.saving"),
        *("cluster", "cluster.library", "cluster.there", "cluster.wanted"),
        *("experts.remote", "experts.desk", "experts.shelf", "models.copies"),
    )
}
_ROOT = Path(__file__).resolve().parents[2]  # what holds the folder hgpbench

Stamp = tuple[str, int, int]  # a file, the time of its last change, its size


@dataclass(frozen=True)
class Code:
    """The hash of what computes a run, and the files that it was made of."""

    digest: str
    files: tuple["Source", ...] = ()

    def stands(self) -> bool:
        """Whether the files still say what they said when they were hashed."""
        return all(file.stands() for file in self.files)


@dataclass(frozen=True)
class Source:
    """A module's file: when it was changed last, and what it says."""

    module: str
    stamp: Stamp
    digest: str

    def stands(self) -> bool:
        """Whether it says the same still; it may have been touched, or its comments changed."""
        try:
            now = _stamp(Path(self.stamp[0]))
            return now == self.stamp or _read(self.module, now).digest == self.digest
        except OSError:
            return False


@dataclass(frozen=True)
class _Module:
    """What counts of a source file: the hash of its syntax tree, and what it imports."""

    digest: str
    imports: tuple[tuple[str, str], ...] = ()  # a module, and a name taken from it or ""


@cache
def of_shipped(module: str, needs: tuple[str, ...] = ()) -> Code:
    """The code of a model that comes with hgpbench: its module, and libraries that compute for it.

    Once a library that was absent is installed, the run that was skipped for want of it is one of other code.
    """
    return _code([module], (), [f"{name} {_version(name)}" for name in needs])


def of_foreign(address: Address, kind: type, others: tuple[str, ...] = ()) -> Code:
    """The code of somebody else's class, and of other modules that take part."""
    folders = (*address.folders, *sys.path)
    own = {address.module: Path(address.file)} if address.file else {}
    modules = (address.module, str(kind.__module__), *others)
    roots = {name.partition(".")[0] for name in modules} - own.keys()
    installed = sorted(root for root in roots if not _is_local_root(root, folders))
    versions = [f"{root} {' '.join(_versions(root))}" for root in installed]
    return _code([address.module, *others], folders, versions, own)


def local_files(code: Code) -> dict[str, Path]:
    """The files of a code that are the user's own, by their modules: what another machine needs of him."""
    return {file.module: Path(file.stamp[0]) for file in code.files if not _is_ours(file.module)}


def digest_of(module: str) -> str | None:
    """The hash of one of our modules as it is here; None where there is none of the name."""
    path = _file(module, ())
    return None if path is None else _read(module, _stamp(path)).digest


def shipped_files(code: Code) -> dict[str, str]:
    """The hashes of those modules of a code that are ours."""
    return {file.module: file.digest for file in code.files if _is_ours(file.module)}


def relocated(code: Code, own: Mapping[str, Path]) -> Code:
    """The same code in the files of this machine, the user's own where they were put; see ``stands``."""
    files = []
    for file in code.files:
        path = own.get(file.module) or _file(file.module, ())
        files.append(replace(file, stamp=("", 0, 0) if path is None else _stamp(path)))
    return Code(code.digest, tuple(files))


def _code(
    modules: list[str], folders: tuple[str, ...], more: list[str], own: dict[str, Path] | None = None
) -> Code:
    shared = {name: path for name in _SHARED if (path := _file(name, ())) is not None}
    files = []
    for name, path in sorted((_closure(modules, folders, own or {}) | shared).items()):
        stamp = _stamp(path)
        files.append(Source(name, stamp, _read(name, stamp).digest))
    lines = [f"protocol {PROTOCOL}", *more, *(f"{file.module} {file.digest}" for file in files)]
    return Code(hashlib.sha256("\n".join(lines).encode()).hexdigest(), tuple(files))


def _closure(modules: list[str], folders: tuple[str, ...], own: dict[str, Path]) -> dict[str, Path]:
    """The named modules and all that they import of ours and of the user's, with their files."""
    files, waiting, seen = dict[str, Path](), list(modules), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or name in _SILENT:
            continue
        seen.add(name)
        path = own.get(name) or _file(name, folders)
        if path is None or not (_is_ours(name) or is_local(path)):
            continue
        files[name] = path
        for module, taken in _read(name, _stamp(path)).imports:
            inner = f"{module}.{taken}"
            waiting.append(inner if taken and _file(inner, folders) is not None else module)
        if not _is_ours(name):  # a package's own file may do anything; those of ours gather names
            waiting += [".".join(name.split(".")[:depth]) for depth in range(1, name.count(".") + 1)]
    return files


@cache
def _file(name: str, folders: tuple[str, ...]) -> Path | None:
    """The file of a module, found without running anything; None for what has none."""
    if _is_ours(name):
        stem = _ROOT.joinpath(*name.split("."))
        return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)
    path: list[str] | None = list(folders)
    spec = None
    for depth in range(1, name.count(".") + 2):
        spec = PathFinder.find_spec(".".join(name.split(".")[:depth]), path)
        if spec is None:
            break
        path = list(spec.submodule_search_locations or ())
    loaded = getattr(sys.modules.get(name), "__file__", None)  # known to another finder, perhaps
    origin = spec.origin if spec is not None and spec.has_location else loaded
    return Path(origin) if isinstance(origin, str) else None


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == "hgpbench"


def _is_local_root(root: str, folders: tuple[str, ...]) -> bool:
    path = _file(root, folders)
    return path is None or _is_ours(root) or is_local(path)


@cache
def _versions(root: str) -> list[str]:
    """Names and versions of the distributions that hold a package."""
    names = sorted(set(_distributions().get(root, ())))
    return [f"{name} {metadata.version(name)}" for name in names]


@cache
def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "absent"


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return str(path), status.st_mtime_ns, status.st_size


@cache
def _read(name: str, stamp: Stamp) -> _Module:
    """A module's hash and imports; of a file that is not Python source, the hash of its bytes."""
    path = Path(stamp[0])
    content = path.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are told when the module is imported
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Module(hashlib.sha256(content).hexdigest())
    digest = hashlib.sha256()
    for sign in _signs(tree):
        digest.update(sign.encode("utf-8", "surrogatepass") + b"\0")
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return _Module(digest.hexdigest(), tuple(dict.fromkeys(_imports(tree, package))))


def _signs(tree: ast.AST) -> Iterator[str]:
    """A syntax tree as a row of words, the same under every version of Python: empty fields are left out."""
    waiting: list[object] = [tree]
    while waiting:  # no recursion: a generated file may be nested deeply
        item = waiting.pop()
        if isinstance(item, ast.AST):
            body = [
                (name, _without_docstring(item) if name == "body" else value)
                for name, value in ast.iter_fields(item)
                if value is not None and value != [] and name not in {"ctx", "kind", "type_comment"}
            ]
            yield f"{type(item).__name__} {len(body)}"
            for name, value in reversed(body):
                waiting += [value, name]
        elif isinstance(item, list):
            yield f"list {len(item)}"
            waiting += reversed(item)
        else:
            yield repr(item)


def _without_docstring(node: ast.AST) -> object:
    body = getattr(node, "body", None)
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    if documented and isinstance(body, list) and body and isinstance(body[0], ast.Expr):
        first = body[0].value
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return body[1:]
    return body


def _imports(tree: ast.AST, package: str) -> Iterable[tuple[str, str]]:
    """Modules that are imported, wherever in the file, and what is taken from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield module, alias.name
