"""What a source archive and a wheel hold: all that is needed, and nothing that was only lying about.

Both are built here; `make dist` has those looked at that it built (HGPBENCH_DIST).
"""

import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from hgpbench import __version__

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "hgpbench"
LEFTOVERS = ("__pycache__", ".venv", ".h5", ".pyc", "build/", ".ipynb", "_build")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the archives are."""
    if "HGPBENCH_DIST" in os.environ:
        return Path(os.environ["HGPBENCH_DIST"])
    made = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(made)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return made


@pytest.fixture(scope="module")
def wheel(folder: Path) -> zipfile.ZipFile:
    (path,) = folder.glob("*.whl")
    assert path.name == f"hgpbench-{__version__}-py3-none-any.whl"
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def source(folder: Path) -> set[str]:
    """Names in the source archive, below its one folder."""
    (path,) = folder.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = [member.name for member in archive.getmembers() if member.isfile()]
    assert {name.partition("/")[0] for name in names} == {f"hgpbench-{__version__}"}
    return {name.partition("/")[2] for name in names}


def own(folder: Path) -> set[str]:
    """Files of a folder as they are told in archives, those aside that running it leaves."""
    found = {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    return {path.relative_to(ROOT).as_posix() for path in found}


def shipped() -> dict[str, str]:
    """Cards, configs and templates by where they lie in the wheel."""
    patterns = ("datasets/*.yaml", "configs/*.yaml", "configs/*.json", "templates/*")
    found = [path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()]
    assert len(found) > 20
    return {f"hgpbench/_shipped/{path.relative_to(ROOT).as_posix()}": path.name for path in found}


def test_a_wheel_has_the_package_cards_configs_and_templates_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    beside = {name for name in names if name.startswith(f"hgpbench-{__version__}.dist-info/")}
    assert names - beside == own(PACKAGE) | shipped().keys()
    for needed in ("py.typed", "paper/published.yaml", "gp/NOTATION.md", "report/web/page.js"):
        assert f"hgpbench/{needed}" in names


def test_a_wheel_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    about = f"hgpbench-{__version__}.dist-info"
    told = Parser().parsestr(wheel.read(f"{about}/METADATA").decode())
    assert told["Requires-Python"] == ">=3.11"
    assert told["License-Expression"] == "MIT"
    versions = [each for each in told.get_all("Classifier") if "Python :: 3." in each]
    assert [each.rpartition(" ")[2] for each in versions] == ["3.11", "3.12", "3.13"]
    assert told.get_payload().startswith("# hgpbench")
    assert "hgpbench = hgpbench.__main__:main" in wheel.read(f"{about}/entry_points.txt").decode()


def test_a_source_archive_builds_tests_and_documents_itself(source: set[str]) -> None:
    assert source >= own(PACKAGE) | own(ROOT / "tests") | own(ROOT / "docs")
    files = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "CITATION.cff", "Makefile")
    assert source >= {*files, "pyproject.toml", "PKG-INFO", ".ci/run"}
    assert {name for name in source if name.startswith("configs/")} >= own(ROOT / "configs")


def test_nothing_that_was_lying_about_is_in_either(wheel: zipfile.ZipFile, source: set[str]) -> None:
    for name in [*wheel.namelist(), *source]:
        assert not any(part in name for part in LEFTOVERS if not name.startswith("hgpbench-")), name
        assert not name.startswith("results/"), (
            name
        )  # of runs; a page of the documentation has a folder of that name
