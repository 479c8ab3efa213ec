"""Who may import whom: arrows never turn back, and heavy libraries stay where they belong."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hgpbench import la

PACKAGE = Path(__file__).resolve().parents[1] / "hgpbench"
BASE = {"columns", "repeated", "cores", "errors", "files", "hdf5", "shipped", "units", "words", "yamltext"}
# A layer, and the layers and modules of ours that it may import besides its own.
ALLOWED: dict[str, set[str]] = {
    "la": set(),
    "gp": {"la"},
    "prediction": {"gp"},
    "metrics": {"prediction", "gp"},
    "scaling": {"columns", "prediction"},
    "config": BASE,
    "fitting": {"la", "gp", "prediction", "scaling", "columns", "repeated", "errors", "files", "sealed"},
    "experts": {"la", "gp", "fitting", "cluster", "columns", "cores", "errors", "units"},
    "models": {
        *("la", "gp", "fitting", "experts", "cluster", "prediction", "scaling", "columns", "repeated"),
        *("errors", "files", "hdf5", "sealed", "words", ""),
    },
    "peers": {"models", "fitting", "prediction", "columns", "errors"},
    "data": BASE | {""},
    "cluster": {"errors", ""},
    "bench": BASE | {"cluster", "models", "peers", "data", "config", "metrics", "prediction", "scaling", ""},
    "report": BASE | {"bench", "metrics", "prediction", ""},
    # The equations themselves for what is mathematics, which no run can show.
    "paper": BASE | {"report", "bench", "config", "data", "metrics", "gp"},
    "commands": BASE
    | {"cluster", "use", "config", "data", "models", "peers", "bench", "report", "paper", ""},
    "cli": {"commands", "errors", ""},
    "__main__": {"cli", "errors"},
    "columns": set(),
    "repeated": {"columns"},
    "cores": set(),
    "errors": set(),
    "files": set(),
    "shipped": set(),
    "units": set(),
    "hdf5": set(),
    "sealed": set(),
    "words": set(),
    "yamltext": {"errors"},
    "use": BASE | {"models", "data", "config", "bench", "prediction", ""},
    "": {"use"},
}
# Of others, each for one peer.
LIBRARIES = ("lightgbm", "ngboost", "catboost", "gpboost", "torch", "gpytorch")
# Third-party libraries that only some layers may use.
CONFINED = {
    "matplotlib": {"report"},
    "pandas": {"data", "report", "prediction", "use"},
    "h5py": {"data", "bench", "fitting", "experts", "models", "hdf5"},
    "typer": {"cli", "commands"},
    "sklearn": {"models", "peers", "fitting", "experts", "data"},
    **{library: {"peers"} for library in LIBRARIES},
    "jinja2": {"report"},
    "pooch": {"data"},
    "platformdirs": {"data"},
    "rich": {"commands", "data"},
    "psutil": {"bench"},
    "dask": {"cluster"},
    "distributed": {"cluster"},
    "yaml": {"yamltext", "paper"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Dotted names of all modules that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _is_module(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    layer = layer_of(path)
    for name in imports_of(path):
        root, *rest = name.split(".")
        if root == "hgpbench":
            target = rest[0] if rest and _is_module(rest[0]) else ""
            assert target == layer or target in ALLOWED[layer], f"{path} imports {name}"
        elif root in CONFINED:
            assert layer in CONFINED[root], f"{path} imports {name}"


EQUATIONS = [path for path in MODULES if layer_of(path) in ("la", "gp")]
ROUTINES = ("scipy.linalg", "ctypes", "numba", "mkl")  # the machine, which has one door
# prctl(2), by which a run keeps hold of its processes, is the system's, not algebra; Python does not offer it.
SYSTEM_CALLS = {"bench/orphans.py": "ctypes"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_la_is_the_only_door_to_the_machine(path: Path) -> None:
    for name in imports_of(path):
        allowed = SYSTEM_CALLS.get(path.relative_to(PACKAGE).as_posix())
        if name.startswith(ROUTINES) and name != allowed:
            assert layer_of(path) == "la", f"{path} imports {name}"
        if layer_of(path) != "la" and name.startswith("hgpbench.la."):
            assert name.removeprefix("hgpbench.la.") in la.__all__, f"{path} imports {name} past the door"


@pytest.mark.parametrize("path", EQUATIONS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_equations_know_their_types(path: Path) -> None:
    assert "typing.Any" not in imports_of(path)


@pytest.mark.parametrize("layer", ["report", "paper"])
def test_reports_are_made_from_what_was_stored(layer: str) -> None:
    stored = {
        "hgpbench.bench.record",
        "hgpbench.bench.manifest",
        "hgpbench.bench.stored",
        "hgpbench.bench.asked",
    }
    for path in (PACKAGE / layer).rglob("*.py"):
        used = {name for name in imports_of(path) if name.startswith("hgpbench.bench")}
        assert all(any(f"{name}.".startswith(f"{module}.") for module in stored) for name in used), path


def closure(*names: str) -> set[str]:
    """These modules and all modules of ours that they import, whatever their packages import."""
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        path = PACKAGE.parent / f"{name.replace('.', '/')}.py"
        if name in seen or not path.is_file():
            continue
        seen.add(name)
        for imported in imports_of(path):
            waiting += [imported, imported.rpartition(".")[0]]
    return seen


def test_exact_experts_know_nothing_of_sparse_ones() -> None:
    """RBCM shares partition, transport and committee with DVSHGP, and none of its equations."""
    known = closure("hgpbench.models.rbcm")
    assert known >= {f"hgpbench.experts.{name}" for name in ("exact", "pool", "reach", "rows")}
    sparse = ("gp.vshgp", "gp.process", "gp.collapsed", "fitting.vshgp", "experts.expert", "experts.owner")
    assert not known & {f"hgpbench.{name}" for name in sparse}


def test_a_worker_loads_no_owner_before_it_is_told_which() -> None:
    code = (
        "import sys\nimport hgpbench.experts.pool\n"
        "loaded = {name for name in sys.modules if name.startswith('hgpbench.')}\n"
        "owners = {'hgpbench.experts.' + name for name in ('owner', 'expert', 'exact')}\n"
        "assert not loaded & (owners | {'hgpbench.gp.vshgp', 'hgpbench.models'}), loaded\n"
        "import hgpbench.experts.exact\n"
        "assert 'hgpbench.gp.vshgp' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr


def test_gp_imports_numpy_and_scipy_only() -> None:
    allowed = {"numpy", "scipy", "hgpbench", *sys.stdlib_module_names}
    for path in EQUATIONS:
        extra = {"numba"} if path.name == "compiled.py" else set()
        assert {name.split(".")[0] for name in imports_of(path)} <= allowed | extra, path


def test_gp_works_without_numba() -> None:
    code = (
        "import sys\nsys.modules['numba'] = None\n"
        "from hgpbench.la import exp_\n"
        "import numpy as np\n"
        "assert exp_(np.zeros(1)) == 1.0\n"
        "assert 'hgpbench.la.compiled' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr


def test_dependencies_are_what_is_imported() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[>=<]", text)[0] for text in project["dependencies"]}
    called = {"yaml": "pyyaml", "sklearn": "scikit-learn"}
    optional = {"numba", "dask", "distributed", *LIBRARIES}
    roots = {name.split(".")[0] for path in MODULES for name in imports_of(path)}
    foreign = roots - optional - {"hgpbench", *sys.stdlib_module_names}
    assert {called.get(name, name) for name in foreign} == declared


def test_help_loads_nothing_heavy() -> None:
    heavy = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "h5py", "pydantic", "yaml", "psutil")
    code = (
        "import sys\nsys.argv = ['hgpbench', '--help']\n"
        "from hgpbench.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"assert not set({heavy!r}) & set(sys.modules), set({heavy!r}) & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr
