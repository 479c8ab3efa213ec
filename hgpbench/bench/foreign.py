"""Models that are not ours: a class in a module beside the config, in the working folder or installed.

A plan looks into such a module without leaving a trace, so that two configs may each have a ``mymodel.py`` of
their own; the process of a run imports it for good.
"""

import importlib
import importlib.util
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from hgpbench.errors import ConfigError, Stopped

_INSTALLED = {"site-packages", "dist-packages"}
_STANDARD = tuple({Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib")})
_ALLOWED = "module:Class, or file.py:Class with a path from the config's folder or an absolute one"


@dataclass(frozen=True)
class Address:
    """Where a class is found."""

    module: str
    attribute: str
    folders: tuple[str, ...] = ()  # searched before Python's own path
    file: str | None = None  # the module's file, where the config names one

    @property
    def name(self) -> str:
        """What tables and folders call the model, wherever the file lies."""
        return f"{self.module}:{self.attribute}"


def address(text: str, folders: Sequence[Path]) -> Address:
    """What a config's ``module:Class`` or ``file.py:Class`` means, seen from these folders, its own first."""
    module, _, attribute = text.rpartition(":")
    if not attribute.isidentifier():
        raise ConfigError(f"model {text!r}: {attribute!r} is no name of a class; allowed: {_ALLOWED}")
    places = tuple(dict.fromkeys(str(folder) for folder in folders))
    if module.endswith(".py"):
        file = Path(*folders[:1], module)
        if not file.is_file():
            raise ConfigError(f"model {text!r} cannot be imported: {file}: no such file")
        name = re.sub(r"\W", "_", file.stem)
        return Address(name, attribute, tuple(dict.fromkeys((str(file.parent), *places))), str(file))
    if not all(part.isidentifier() for part in module.split(".")):
        raise ConfigError(f"model {text!r}: {module!r} is no name of a module; allowed: {_ALLOWED}")
    return Address(module, attribute, places)


def load(where: Address) -> Any:
    """The class, its module imported; ConfigError in one line whatever the module does instead."""
    try:
        module = importlib.import_module(where.module) if where.file is None else _from_file(where)
        return getattr(module, where.attribute)
    except (KeyboardInterrupt, Stopped):  # the user's, not the module's
        raise
    except BaseException as error:
        raise ConfigError(f"model {where.name!r} cannot be imported: {_told(error, where)}") from error


@contextmanager
def visiting(folders: Sequence[str]) -> Iterator[None]:
    """Have the folders importable for a while, and forget afterwards what was imported from them."""
    path, known, writes, here = list(sys.path), set(sys.modules), sys.dont_write_bytecode, Path.cwd()
    enter(folders)
    try:
        yield
    finally:
        sys.path[:], sys.dont_write_bytecode = path, writes
        os.chdir(here)  # wherever the module went
        for name in set(sys.modules) - known:
            if _lies_in(sys.modules[name], folders):
                del sys.modules[name]


def enter(folders: Sequence[str]) -> None:
    """Have the folders importable from now on, as Python does with the folder of a script."""
    sys.path[:0] = folders
    # Bytecode is compared with its source by whole seconds: a quick edit would be overlooked.
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()


def is_local(file: Path) -> bool:
    """Whether a file is of the user's own: neither Python's nor installed."""
    if _INSTALLED & set(file.parts):
        return False
    return not any(file.is_relative_to(folder) for folder in _STANDARD)


def _from_file(where: Address) -> ModuleType:
    """The module in a file, under its plain name: processes that it starts can then import it, too."""
    spec = importlib.util.spec_from_file_location(where.module, str(where.file))
    if spec is None or spec.loader is None:
        raise ImportError(f"{where.file} is not a module")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(where.module)
    sys.modules[where.module] = module
    try:
        spec.loader.exec_module(module)
    finally:
        if before is not None:  # a library's module of the same name, which others rely on
            sys.modules[where.module] = before
    return module


def _lies_in(module: ModuleType, folders: Sequence[str]) -> bool:
    if module.__name__.partition(".")[0] == "hgpbench":
        return False
    file = getattr(module, "__file__", None)
    places = [file] if isinstance(file, str) else list(getattr(module, "__path__", ()))
    return any(is_local(Path(place)) and Path(place).is_relative_to(f) for place in places for f in folders)


def _told(error: BaseException, where: Address) -> str:
    """What went wrong in a module, in one line, with the place in the user's own files."""
    if isinstance(error, ModuleNotFoundError) and error.name == where.module.partition(".")[0]:
        return f"no module {error.name!r} in {' or '.join(where.folders)}, nor among the installed ones"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _shown(frame.filename)]
    at = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    lines = str(error).splitlines() or [""]
    if isinstance(error, SystemExit):
        return f"it calls sys.exit({error.code!r:.60}) when imported{at}; do so in a function only"
    if isinstance(error, AttributeError) and not frames:
        return f"{lines[0]:.200}"
    return f"{type(error).__name__}: {lines[0]:.200}{at}"


def _shown(file: str) -> bool:
    own = Path(__file__).resolve().parents[1]
    return is_local(Path(file)) and file[:1] != "<" and not Path(file).is_relative_to(own)
