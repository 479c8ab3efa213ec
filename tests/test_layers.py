"""Who may import whom: arrows never turn back, and heavy libraries stay where they belong."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "hgpbench"
BASE = {"columns", "cores", "errors", "files", "shipped", "units", "words"}
# A layer, and the layers and modules of ours that it may import besides its own.
ALLOWED: dict[str, set[str]] = {
    "la": set(),
    "gp": {"la"},
    "prediction": {"gp"},
    "metrics": {"prediction", "gp"},
    "yamlfile": BASE,
    "schema": BASE,
    "config": BASE | {"yamlfile", "schema"},
    "fitting": {"gp", "prediction", "columns", "errors", "files"},
    "experts": {"la", "gp", "fitting", "columns", "cores", "errors", "units"},
    "models": {"gp", "fitting", "experts", "prediction", "columns", "errors"},
    "data": BASE | {""},
    "bench": BASE | {"models", "data", "config", "schema", "metrics", "prediction", ""},
    "report": BASE | {"bench", "metrics", "prediction", ""},
    "display": BASE | {"bench"},
    "fetching": BASE | {"data"},
    "running": BASE | {"bench", "config", "display"},
    "reproducing": BASE | {"config", "data"},
    "listings": BASE | {"data", "bench", "models", "config"},
    "columns": set(),
    "cores": set(),
    "errors": set(),
    "files": set(),
    "shipped": set(),
    "units": set(),
    "words": set(),
    "": set(),
}
ANYWHERE = {"cli", "__main__"}
# A type that fits name, until it has a place of its own above the models.
NOT_YET_MOVED = "hgpbench.models.scaling.Scaling"
# Third-party libraries that only some layers may use.
CONFINED = {
    "matplotlib": {"report"},
    "pandas": {"data", "report"},
    "h5py": {"data", "bench", "fitting"},
    "typer": {"cli"},
    "sklearn": {"models", "fitting", "experts"},
    "jinja2": {"report"},
    "pooch": {"data"},
    "rich": {"display", "data"},
    "psutil": {"bench"},
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
        if name == NOT_YET_MOVED and layer == "fitting":
            continue
        if root == "hgpbench":
            target = rest[0] if rest and _is_module(rest[0]) else ""
            assert layer in ANYWHERE or target == layer or target in ALLOWED[layer], f"{path} imports {name}"
        elif root in CONFINED:
            assert layer in CONFINED[root], f"{path} imports {name}"


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
    found = closure("hgpbench.models.rbcm")
    assert found >= {f"hgpbench.experts.{name}" for name in ("exact", "pool", "reach", "rows")}
    sparse = ("gp.vshgp", "gp.process", "gp.collapsed", "fitting.vshgp", "experts.expert", "experts.owner")
    assert not found & {f"hgpbench.{name}" for name in sparse}


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
    for path in [*(PACKAGE / "gp").rglob("*.py"), *(PACKAGE / "la").rglob("*.py")]:
        extra = {"numba"} if path.name == "compiled.py" else set()
        assert {name.split(".")[0] for name in imports_of(path)} <= allowed | extra, path


def test_gp_works_without_numba() -> None:
    code = (
        "import sys\nsys.modules['numba'] = None\n"
        "from hgpbench.la import passes\n"
        "import numpy as np\n"
        "assert passes.exponential(np.zeros(1)) == 1.0\n"
        "assert 'hgpbench.la.compiled' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr


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
