"""What computes a run: which changes of a source count, and where they are looked for."""

import inspect
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hgpbench.bench import code, estimators
from hgpbench.bench.code import Code
from hgpbench.models import MODELS

PLAIN = """
class Plain:
    def fit(self, X, y):
        return self

    def predict(self, X, return_std=False):
        return HELP, HELP
"""
Module = Callable[..., Path]


@pytest.fixture
def module(tmp_path: Path) -> Module:
    """Write a module of a user's own."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def code_of(folder: Path, name: str = "own:Plain") -> Code:
    """The code of a model as a new command would find it."""
    for cached in (estimators.find, code._file):
        cached.cache_clear()
    return estimators.find(name, (folder,)).code


def names(found: Code) -> set[str]:
    return {file.module for file in found.files}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_ours_is_its_file_and_what_that_imports(name: str) -> None:
    found = estimators.find(name).code
    assert MODELS[name].__module__ in names(found)
    assert {
        "hgpbench.models.base",
        "hgpbench.scaling",
        "hgpbench.prediction",
        "hgpbench.data.split",
    } <= names(found)
    assert not names(found) & {"hgpbench.models", "hgpbench.errors", "hgpbench.config", "hgpbench.bench.plan"}
    assert found.stands()


@pytest.mark.parametrize("name", ["dvshgp", "rbcm"])
def test_how_questions_travel_is_no_part_of_what_computes(name: str) -> None:
    """Nor are other models, which came along with the version that workers compare."""
    found = names(estimators.find(name).code)
    assert not found & {"hgpbench", "hgpbench.cluster", "hgpbench.experts.remote", "hgpbench.experts.desk"}
    assert {"hgpbench.experts.pool", "hgpbench.experts.crew"} <= found
    assert {each for each in found if each.startswith("hgpbench.models.")} == {
        "hgpbench.models.base",
        f"hgpbench.models.{name}",
    }


def test_models_share_code_without_being_one() -> None:
    found = {name: estimators.find(name).code for name in MODELS}
    assert len({each.digest for each in found.values()}) == len(MODELS)
    assert "hgpbench.gp.vshgp" in names(found["dvshgp"]) - names(found["rbcm"])
    assert "hgpbench.experts.pool" in names(found["dvshgp"]) & names(found["rbcm"])
    assert all("hgpbench.la.compiled" in names(found[name]) for name in ("gp", "vshgp", "dvshgp"))


def test_every_module_that_a_model_loads_counts() -> None:
    """What lies behind the objects of a model's module was found in the source, too."""
    for name, kind in MODELS.items():
        module = inspect.getmodule(kind)
        used = {getattr(value, "__module__", None) or "" for value in vars(module).values()}
        ours = {each for each in used if each.startswith("hgpbench.")} - code._SILENT
        assert ours <= names(estimators.find(name).code), name


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("HELP = 1\n" + PLAIN, False),
        ("# why\nHELP = 1  # this\n\n\n" + PLAIN.replace("return self", "return (self)"), False),
        ('"""What it is."""\nHELP = 1\n' + PLAIN.replace("class Plain:", 'class Plain:\n    """A class."""'), False),
        ("HELP = 2\n" + PLAIN, True),
        ("HELP = 1.0\n" + PLAIN, True),
        ("HELP = None\n" + PLAIN, True),
        ("HELP = 1\n" + PLAIN.replace("HELP, HELP", "HELP, -HELP"), True),
        ("HELP = 1\n" + PLAIN.replace("        return self", "        self.a = [1, [2]]\n        return self"), True),
    ],
)  # fmt: skip
def test_statements_count_and_comments_do_not(
    text: str, counts: bool, module: Module, tmp_path: Path
) -> None:
    module("own.py", "HELP = 1\n" + PLAIN)
    before = code_of(tmp_path)
    module("own.py", text)
    assert (code_of(tmp_path).digest != before.digest) == counts
    assert before.stands() == (not counts)


def test_nesting_tells_lists_apart(module: Module, tmp_path: Path) -> None:
    digests = set()
    for value in ("[[1], 2]", "[[1, 2]]", "[1, [2]]", "[1, 2]", "['1', 2]", "[None, 2]", "[[], 2]"):
        module("own.py", f"HELP = {value}\n{PLAIN}")
        digests.add(code_of(tmp_path).digest)
    assert len(digests) == 7


def test_local_modules_count_however_far_away(module: Module, tmp_path: Path) -> None:
    module("own.py", "from parts.first import HELP\nimport json\nimport numpy as np\n" + PLAIN)
    module("parts/__init__.py", "")
    module("parts/first.py", "from . import second\nfrom .deep.third import THIRD\nHELP = second.TWO\n")
    module("parts/second.py", "TWO = 2\n\n\ndef late():\n    import fourth\n    return fourth\n")
    module("parts/deep/__init__.py", "")
    module("parts/deep/third.py", "from .. import second\nTHIRD = 3\n")
    module("fourth.py", "FOUR = 4\n")
    module("parts/unused.py", "import nowhere\n")
    digests = [code_of(tmp_path).digest]
    assert {"own", "parts", "parts.first", "parts.second", "parts.deep", "parts.deep.third", "fourth"} == {
        name for name in names(code_of(tmp_path)) if not name.startswith("hgpbench")
    }
    for name in ("parts/__init__.py", "parts/second.py", "parts/deep/third.py", "fourth.py"):
        module(name, (tmp_path / name).read_text() + "MORE = 1\n")
        digests.append(code_of(tmp_path).digest)
    assert len(set(digests)) == 5
    module("parts/unused.py", "import elsewhere\n")
    assert code_of(tmp_path).digest == digests[-1]


def test_an_own_model_made_of_ours_moves_with_ours(module: Module, tmp_path: Path) -> None:
    module("own.py", "from hgpbench.models.gp import ExactGP\n\n\nclass Plain(ExactGP):\n    pass\n")
    assert {"own", "hgpbench.models.gp", "hgpbench.gp.exact"} <= names(code_of(tmp_path))


def test_an_installed_model_is_known_by_its_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = "sklearn.gaussian_process:GaussianProcessRegressor"
    before = code_of(tmp_path, name)
    assert all(file.module.startswith("hgpbench.") for file in before.files)
    monkeypatch.setattr(code, "_versions", lambda root: [f"{root} 99"])
    assert code_of(tmp_path, name).digest != before.digest


def test_the_folder_itself_does_not_count(module: Module, tmp_path: Path) -> None:
    for place in ("here", "there"):
        module(f"{place}/own.py", "HELP = 1\n" + PLAIN)
    here, there = code_of(tmp_path / "here"), code_of(tmp_path / "there")
    assert here.digest == there.digest == code_of(tmp_path, "here/own.py:Plain").digest


def test_two_folders_may_have_a_module_of_the_same_name(module: Module, tmp_path: Path) -> None:
    module("here/own.py", "from kin import HELP\n" + PLAIN)
    module("here/kin.py", "HELP = 1\n")
    module("there/own.py", "from kin import HELP\n" + PLAIN)
    module("there/kin.py", "HELP = 2\n")
    kinds = [estimators.find("own:Plain", (tmp_path / place,)).kind for place in ("here", "there")]
    assert [kind().predict([]) for kind in kinds] == [(1, 1), (2, 2)]


def test_an_edit_within_the_same_second_is_seen(module: Module, tmp_path: Path) -> None:
    for value in (1, 2):
        path = module("own.py", f"HELP = {value}\n" + PLAIN)
        os.utime(path, (1e9, 1e9))
        estimators.find.cache_clear()
        assert estimators.find("own:Plain", (tmp_path,)).kind().predict([]) == (value, value)


def test_a_touched_file_stands_and_a_lost_one_does_not(module: Module, tmp_path: Path) -> None:
    path = module("own.py", "HELP = 1\n" + PLAIN)
    found = code_of(tmp_path)
    os.utime(path, (time.time() + 5, time.time() + 5))
    assert found.stands()
    path.unlink()
    assert not found.stands()


def test_source_beyond_reason_is_hashed_all_the_same(module: Module, tmp_path: Path) -> None:
    module("own.py", f"HELP = {'+'.join(['1'] * 900)}\nODD = '\\ud800'\n{PLAIN}")
    one = code_of(tmp_path)
    module("own.py", f"HELP = {'+'.join(['1'] * 901)}\nODD = '\\ud800'\n{PLAIN}")
    assert code_of(tmp_path).digest != one.digest


def test_a_module_that_changes_the_directory_changes_nothing(module: Module, tmp_path: Path) -> None:
    here = Path.cwd()
    module("own.py", "import os\nos.chdir('/')\nHELP = 1\n" + PLAIN)
    code_of(tmp_path)
    assert Path.cwd() == here
