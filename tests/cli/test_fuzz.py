"""Mutated configs: never a traceback, always exit code 2 and one line that names the key."""

import copy
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Invoke

GOOD: dict[str, Any] = {
    "name": "fuzz",
    "title": "A title",
    "dataset": "toy",
    "split": {"train": 40, "test": 20},
    "repeats": 2,
    "limits": {"wall": "1h", "cpu": "30min", "memory": "2GB", "threads": 1},
    "models": {"mean": None, "gp": {"max_iter": 10, "n_restarts": 1}, "other": {"model": "linear"}},
    "sweep": {"gp": {"max_iter": [5, 6]}},
}
# Each path with values that are wrong there; the message has to name the last key of the path.
WRONG: dict[tuple[str, ...], list[Any]] = {
    ("name",): ["", "a/b", "..", "a b", 7, None, [], {}, True, "runs", "x" * 200, "-x", "é"],
    ("title",): [3, [], {}, None, "t" * 300],
    ("dataset",): ["", 5, None, [], "no-such-set", "toy:nope", "a:b:c", {"name": 3}, "../up", ":", "a:"],
    ("split",): [1, "half", [], "publishd", "published", {}, {"train": "all"}],
    ("split", "train"): [0, -1, 1.5, 0.0, "most", None, [], {}, True, float("nan"), float("inf"), 0.5],
    ("split", "test"): [0, -3, 2.5, "others", None, [], {}, False, float("nan"), "all"],
    ("repeats",): [0, -1, 1001, 2.5, "two", None, [], {}, True, 10**30],
    ("limits",): [1, "none", [], None],
    ("limits", "wall"): [0, -1, "soon", "1x", "", [], {}, True, float("nan"), float("inf"), "1h 2"],
    ("limits", "cpu"): [0, -1, "long", "1x", "", [], {}, True, float("nan"), "1h 2"],
    ("limits", "memory"): [0, "16 gigs", "GB", [], {}, False, -5, "1e400GB"],
    ("limits", "threads"): [0, -2, 1.5, "all", None, [], {}, True, 5000],
    ("models",): [None, [], {}, "gp", 3, ["gp"]],
    ("models", "mean"): [3, "x", [], True, [1]],
    ("models", "gp"): [3, "x", [], True],
    ("models", "gp", "max_iter"): ["many", 1.5, [], {}, True, None, [1, 2]],
    ("models", "gp", "n_restarts"): ["few", 0.5, [], {}, False, None],
    ("models", "other", "model"): ["liner", "", 3, [], None, "os:system", "nowhere:Thing", "json:nothing", ":", "a:"],
    ("sweep",): [3, "gp", [], ["gp"]],
    ("sweep", "gp"): [3, "x", [], None, {"max_iter": []}, {"max_iter": 3}, [3], [{}, {}], {"model": ["mean"]}],
    ("sweep", "gp", "max_iter"): [[], 3, "x", None, ["x"], [1.5], [5, 5], [{}], [None]],
}  # fmt: skip
RENAMED = {
    "names",
    "Title",
    "data",
    "splits",
    "repeat",
    "limit",
    "model",
    "sweeps",
    "trian",
    "tests",
    "walls",
    "mem",
    "thread",
}
RENAMED |= {
    "maxiter",
    "restart",
    "random_state",
    "self",
    "__init__",
    "1",
    "yes",
    "null",
    "~",
    "{}",
    "<<",
    "é",
    "a.b",
    "a b",
}


def structured() -> list[Any]:
    """(name of the case, config, what the message has to name)."""
    cases = []
    for path, values in WRONG.items():
        for value in values:
            config = copy.deepcopy(GOOD)
            parent = at(config, path[:-1])
            parent[path[-1]] = value
            cases.append(pytest.param(config, path[-1], id=f"{'.'.join(path)}={value!r:.30}"))
    for path in sorted(WRONG.keys() - {("models", "other", "model")}):  # without it the label is the model
        for word in sorted(RENAMED)[:: 3 if len(path) == 1 else 5]:
            config = copy.deepcopy(GOOD)
            at(config, path[:-1])[word] = at(config, path[:-1]).pop(path[-1])
            if path[:-1] == ("models",) and word not in {"model", "{}", "<<", "é", "a.b", "a b", "~"}:
                continue  # a new label is a new model: covered by the values of models.other.model
            cases.append(pytest.param(config, word, id=f"{'.'.join(path)} -> {word}"))
    return cases


def at(config: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        config = config[key]
    return config


def test_the_unmutated_config_is_fine(invoke: Invoke, folder: Path) -> None:
    assert run(invoke, folder, yaml.safe_dump(GOOD)) == (0, "")


@pytest.mark.parametrize(("config", "named"), structured())
def test_a_wrong_value_or_key_is_named(config: Any, named: str, invoke: Invoke, folder: Path) -> None:
    code, message = run(invoke, folder, yaml.safe_dump(config, allow_unicode=True))
    assert code == 2, message
    assert message.count("\n") == 1
    assert named in message


def test_there_are_enough_cases() -> None:
    assert len(structured()) >= 200


@pytest.mark.parametrize("seed", range(300))
def test_random_damage_is_refused_in_one_line_or_harmless(seed: int, invoke: Invoke, folder: Path) -> None:
    text = damage(yaml.safe_dump(GOOD), random.Random(seed))
    code, message = run(invoke, folder, text)
    assert code in {0, 2}
    assert message.count("\n") == (1 if code else 0), message
    assert not code or message.startswith("hgpbench: ")


def damage(text: str, chance: random.Random) -> str:
    """Delete, double, swap or overwrite a few pieces of text."""
    junk = [
        "{",
        "}",
        "[",
        "]",
        ":",
        "- ",
        "\n",
        "\t",
        "&a ",
        "*a",
        "!!int ",
        "|",
        ">",
        "%",
        "@",
        "`",
        "\x00",
        "\ufeff",
        "é",
        "'",
        '"',
        "#",
        "? ",
        ", ",
    ]
    for _ in range(chance.randint(1, 4)):
        text = text or "x"
        place = chance.randrange(len(text))
        end = min(len(text), place + chance.randint(1, 6))
        kind = chance.choice(["delete", "double", "junk", "cut", "indent"])
        if kind == "delete":
            text = text[:place] + text[end:]
        elif kind == "double":
            text = text[:end] + text[place:]
        elif kind == "junk":
            text = text[:place] + chance.choice(junk) + text[place:]
        elif kind == "cut":
            text = text[:place]
        else:
            text = text[:place] + "\n   " + text[place:]
    return text


def run(invoke: Invoke, folder: Path, text: str) -> tuple[int, str]:
    """Exit code and standard error of a dry run; nothing may be written."""
    (folder / "mutant.yaml").write_text(text, encoding="utf-8")
    result = invoke("run", "mutant.yaml", "--dry-run")
    assert [path.name for path in folder.iterdir()] == ["mutant.yaml"]
    return result.exit_code, result.stderr
