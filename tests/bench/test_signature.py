"""Own models that cannot be planned: one line with file and line of the config, what is wrong, what to do."""

from pathlib import Path

import pytest

from hgpbench import config
from hgpbench.bench import plan
from hgpbench.config import yamlfile
from hgpbench.errors import ConfigError

TEXT = "name: x\ndataset: toy\nsplit: {train: 30, test: 20}\nmodels:\n  mean:\n  a: {model: own:Own%s}\n"
HEAD = "from __future__ import annotations\nimport sys\nfrom dataclasses import dataclass\nfrom typing import TYPE_CHECKING\nimport numpy as np\n"
CLASS = """
if TYPE_CHECKING:
    from nowhere import Thing

@dataclass
class Recipe:
    steps: int = 3
    table: np.ndarray | None = None

class Own:
    def __init__(self, %s):
        pass
    def fit(self, X, y):
        return self
    def predict(self, X, return_std=False):
        return X, X
"""


def params(folder: Path, module: str, given: str = "") -> dict[str, object]:
    """The parameters that a plan has for a model of the user's own."""
    (folder / "own.py").write_text(module)
    document = yamlfile.parse(TEXT % given, folder / "x.yaml")
    [job] = plan.make(config.check(document), [0], ["a"], None)
    return job.params


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("def f(:\n", r"SyntaxError: .* \(own\.py, line 1\)"),
        ("x = undefined\n", r"NameError: name 'undefined' is not defined \(.*own\.py, line 1\)"),
        ("\n\nx = 1 / 0\n", r"ZeroDivisionError: division by zero \(.*own\.py, line 3\)"),
        ("x = {}['key']\n", r"KeyError: 'key' \(.*own\.py, line 1\)"),
        ("def f():\n    return f()\nf()\n", r"RecursionError: maximum recursion depth exceeded"),
        ("import sys\nsys.exit(0)\n", r"it calls sys\.exit\(0\) when imported \(.*own\.py, line 2\)"),
        ("raise SystemExit\n", r"it calls sys\.exit\(None\)"),
        ("class Odd(BaseException):\n    pass\nraise Odd('two\\nlines')\n", r"Odd: two \(.*own\.py, line 3\)"),
        ("import nowhere\n", r"ModuleNotFoundError: No module named 'nowhere' \(.*own\.py, line 1\)"),
        ("x = 1\n", r"module 'own' has no attribute 'Own'"),
        ("\0", r"SyntaxError|ValueError"),
        ("Own = 3\n", r"is not a regressor with fit and predict_dist"),
        ("Own = int\n", r"is not a regressor with fit and predict_dist"),
        ("class Own:\n    fit = predict = 3\n", r"is not a regressor with fit and predict_dist"),
    ],
)  # fmt: skip
def test_a_module_that_cannot_be_used(module: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=rf"^{tmp_path}/x\.yaml:6: models\.a: model 'own:Own' .*{message}"
    ) as told:
        params(tmp_path, module)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("signature", "given", "message"),
    [
        ("k", "", r"models\.a: own:Own needs the parameter 'k'; give it here, or a default in the class"),
        ("**kwargs", "", r"models\.a: the constructor of own:Own takes \*\*kwargs, which has no names"),
        ("*args", "", r"models\.a: the constructor of own:Own takes \*args"),
        ("k=1, /", "", r"models\.a: the constructor of own:Own takes k=1"),
        ("k=float('nan')", "", r"the default of own:Own's parameter 'k' is or has nan, which no record can hold"),
        ("k=np.ones(2)", "", r"an object of type ndarray"),
        ("k=[1, (2, object())]", "", r"an object of type object"),
        ("k: Recipe = Recipe()", "", r"an object of type Recipe"),
        ("k: Recipe = None", ", k: 3", r"models\.a\.k: 3 is not allowed; it has to be an object .*Recipe"),
        ("k: int = 1", ", k: x", r"models\.a\.k: 'x' is not allowed; allowed: a valid integer"),
        ("k: np.ndarray = None", ", k: [1]", r"models\.a\.k: \[1\] is not allowed; allowed: .*ndarray"),
        ("k=1", ", k: .nan", r"models\.a\.k: nan is not allowed; allowed: a finite number"),
        ("k: float = 1.0", ", k: .inf", r"models\.a\.k: inf is not allowed"),
    ],
)  # fmt: skip
def test_a_constructor_that_cannot_be_used(signature: str, given: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"^{tmp_path}/x\.yaml:6: .*{message}") as told:
        params(tmp_path, HEAD + CLASS % signature, given)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("signature", "given", "expected"),
    [
        ("k", ", k: 3", {"k": 3}),
        ("k=np.ones(2)", ", k: [1, 2]", {"k": [1, 2]}),
        ("k: Thing = None", "", {"k": None}),
        ("k: Thing = None, m: int = 1", ", k: 3, m: 2", {"k": 3, "m": 2}),
        ("k: Recipe | int = 1", ", k: 3", {"k": 3}),
        ("k: 1 / 0 = 2", ", k: 3", {"k": 3}),
        ("k=(1, 'a', None), random_state=object()", "", {"k": (1, "a", None)}),
    ],
)
def test_what_a_type_checker_alone_understands_is_left_unchecked(
    signature: str, given: str, expected: dict[str, object], tmp_path: Path
) -> None:
    assert params(tmp_path, HEAD + CLASS % signature, given) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (":Y", r"'' is no name of a module"),
        ("x:", r"'' is no name of a class"),
        ("x:a b", r"'a b' is no name of a class"),
        ("a/b:Y", r"'a/b' is no name of a module"),
        ("nowhere:Y", r"cannot be imported: no module 'nowhere' in .*, nor among the installed ones"),
        ("nowhere.py:Y", r"cannot be imported: .*/nowhere\.py: no such file"),
        ("/nowhere.py:Y", r"cannot be imported: /nowhere\.py: no such file"),
    ],
)
def test_a_name_that_cannot_be_used(name: str, message: str, tmp_path: Path) -> None:
    text = (TEXT % "").replace("own:Own", f'"{name}"')
    with pytest.raises(ConfigError, match=rf"^{tmp_path}/x\.yaml:6: models\.a: .*{message}"):
        plan.make(config.check(yamlfile.parse(text, tmp_path / "x.yaml")), [0], (), None)
