"""Experiment files: what is read, and what is refused in one line."""

import json
from pathlib import Path

import pytest

from hgpbench import config, schema, shipped, yamlfile
from hgpbench.errors import ConfigError

GOOD = """\
name: demo
title: A demonstration
dataset: sarcos:subset
split: {train: 500, test: 0.25}
repeats: 3
limits: {wall: 1h30m, memory: 16GB, threads: 2}
models:
  mean:
  linear: {}
  fine: {model: gp, max_iter: 100, tol: 1e-3}
  coarse: {model: gp}
sweep:
  fine: {max_iter: [10, 20], tol: [0.1, 1e-2]}
  coarse: [{max_iter: 5}, {max_iter: 6, tol: 1}]
"""


def parse(text: str) -> config.Experiment:
    return config.check(yamlfile.parse(text, Path("mine.yaml")))


def test_a_whole_file_is_read() -> None:
    experiment = parse(GOOD)
    assert (experiment.name, experiment.dataset, experiment.variant) == ("demo", "sarcos", "subset")
    assert isinstance(experiment.split, schema.SplitConfig)
    assert (experiment.split.train, experiment.split.test) == (500, 0.25)
    assert (experiment.limits.wall, experiment.limits.memory, experiment.limits.threads) == (5400, 16e9, 2)
    assert [entry.label for entry in experiment.entries] == [
        "mean",
        "linear",
        "fine:max_iter=10,tol=0.1",
        "fine:max_iter=10,tol=0.01",
        "fine:max_iter=20,tol=0.1",
        "fine:max_iter=20,tol=0.01",
        "coarse:max_iter=5",
        "coarse:max_iter=6,tol=1",
    ]
    swept = experiment.entries[3]
    assert (swept.base, swept.model, dict(swept.params)) == ("fine", "gp", {"max_iter": 10, "tol": 0.01})


def test_a_split_may_be_left_out_or_published() -> None:
    assert parse("{name: a, dataset: toy, models: {mean: }}").split is None
    assert parse("{name: a, dataset: toy, split: published, models: {mean: }}").split == "published"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: demo", "nmae: demo", "mine.yaml:1: nmae: unknown key; did you mean 'name'?"),
        ("name: demo\n", "", "mine.yaml:1: name: required key is missing"),
        ("name: demo", "name: runs", "mine.yaml:1: name: 'runs' is the name of a folder"),
        ("name: demo", "name: ../up", "mine.yaml:1: name: '../up' is not allowed; allowed: letters, digits"),
        ("sarcos:subset", "[1]", "mine.yaml:3: dataset: not allowed; allowed: NAME, NAME:VARIANT"),
        ("sarcos:subset", "{nme: toy}", "mine.yaml:3: dataset.nme: unknown key; did you mean 'name'?"),
        ("train: 500", "train: -5", "mine.yaml:4: split.train: -5 is not allowed; allowed: a count of rows"),
        ("train: 500", "train: 1.5", "mine.yaml:4: split.train: 1.5 is not allowed"),
        ("train: 500", "train: true", "mine.yaml:4: split.train: True is not allowed"),
        ("train: 500, test: 0.25", "train: all", "mine.yaml:4: split: train: all leaves no row to test on"),
        ("test: 0.25", "tets: 0.25", "mine.yaml:4: split.tets: unknown key; did you mean 'test'?"),
        ("repeats: 3", "repeats: three", "mine.yaml:5: repeats: 'three' is not allowed; allowed: a number from 1"),
        ("repeats: 3", "repeats: 0", "mine.yaml:5: repeats: 0 is not allowed"),
        ("repeats: 3", "repeats: 3\nrepeats: 4", "mine.yaml:6: repeats: given twice"),
        ("wall: 1h30m", "wall: soon", "mine.yaml:6: limits.wall: 'soon' should be a duration such as"),
        ("memory: 16GB", "memroy: 16GB", "mine.yaml:6: limits.memroy: unknown key; did you mean 'memory'?"),
        ("threads: 2", "threads: 0", "mine.yaml:6: limits.threads: 0 is not allowed"),
        ("  mean:\n", "  mean: 7\n", "mine.yaml:8: models.mean: 7 is not allowed; allowed: a mapping of parameters"),
        ("linear: {}", "linear: {a: {b: 1}}", "mine.yaml:9: models.linear.a"),
        ("model: gp, max_iter: 100", "model: 3, max_iter: 100", "mine.yaml:10: models.fine.model: should be a name"),
        ("  fine: {max_iter: [10", "  fien: {max_iter: [10", "sweep.fien: no such label under models; did you mean 'fine'?"),
        ("max_iter: [10, 20]", "max_iter: []", "mine.yaml:13: sweep.fine"),
        ("[{max_iter: 5}", "[{max_iter: 6, tol: 1}", "mine.yaml:14: sweep.coarse: 'coarse:max_iter=6,tol=1' occurs twice"),
        ("{max_iter: 5}", "{model: mean}", "mine.yaml:14: sweep.coarse: only parameters can be swept"),
        ("name: demo", "name: [", "not valid YAML"),
        ("name: demo", "name: !!python/object:os.system {}", "mine.yaml:1"),
        ("name: demo", "? [a, b]\n: c", "mine.yaml:1: a key must be a plain word"),
        ("name: demo", "name: 2020-01-01 00:00:00", "mine.yaml:1: name: '2020-01-01 00:00:00' is not allowed"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        parse(GOOD.replace(old, new, 1))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_alias_to_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match="alias"):
        parse("&a {name: x, dataset: *a}")


def test_an_exploding_alias_is_refused() -> None:
    bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
    bomb += "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    with pytest.raises(ConfigError, match="beyond reason"):
        parse(bomb)


def test_an_unknown_config_is_named_with_the_shipped_ones() -> None:
    with pytest.raises(ConfigError, match=r"no config 'smok'; did you mean 'smoke'\?"):
        config.load("smok")
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: no such file"):
        config.load("nowhere.yaml")


@pytest.mark.parametrize("name", shipped.names("configs"))
def test_a_shipped_config_is_valid_and_points_to_the_schema(name: str) -> None:
    experiment = config.load(name)
    assert experiment.name == name
    first = experiment.path.read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=./schema.json"


def test_the_shipped_schema_is_in_step() -> None:
    stored = json.loads((shipped.folder("configs") / "schema.json").read_text())
    assert stored == config.schema(), "run: hgpbench schema > configs/schema.json"


QUICK = """\
name: demo
dataset: sarcos
split: {train: 40000, test: 8933}
repeats: 10
models:
  mean:
  fine: {model: gp, max_iter: 100, tol: 0.1}
  coarse: {model: gp}
sweep:
  fine: {max_iter: [10, 20]}
quick:
  dataset: sarcos:subset
  split: {train: 300, test: 100}
  repeats: 2
  models: {fine: {tol: 0.5}}
  sweep: {fine: {max_iter: [3]}}
  leave_out: [coarse]
"""


def test_quick_changes_what_it_names_and_nothing_else() -> None:
    document = yamlfile.parse(QUICK, Path("mine.yaml"))
    full, quick = config.check(document), config.check(document, quick=True)
    assert (quick.name, quick.dataset, quick.variant, quick.repeats) == ("demo-quick", "sarcos", "subset", 2)
    assert quick.split == schema.SplitConfig(train=300, test=100)
    told = [(entry.label, dict(entry.params)) for entry in quick.entries]
    assert told == [("mean", {}), ("fine:max_iter=3", {"max_iter": 3, "tol": 0.5})]
    assert (full.name, full.variant, full.repeats, len(full.entries)) == ("demo", None, 10, 4)
    assert full.limits == quick.limits


def test_no_quick_section_no_quick_variant() -> None:
    with pytest.raises(ConfigError, match=r"mine\.yaml: this experiment has no quick section"):
        config.check(yamlfile.parse(GOOD, Path("mine.yaml")), quick=True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("leave_out: [coarse]", "leave_out: [coarce]", "mine.yaml:17: quick.leave_out.coarce: no such label"),
        (
            "leave_out: [coarse]",
            "leave_out: [mean, fine, coarse]",
            "mine.yaml:17: quick.leave_out: leaves no",
        ),
        ("models: {fine:", "models: {fien:", "mine.yaml:15: quick.models.fien: no such label under models"),
        ("sweep: {fine:", "sweep: {fien:", "mine.yaml:16: quick.sweep.fien: no such label under models"),
        ("leave_out:", "leave:", "mine.yaml:17: quick.leave: unknown key; did you mean 'leave_out'?"),
        ("train: 300", "train: -3", "mine.yaml:13: quick.split.train: -3 is not allowed; allowed: a count"),
        ("repeats: 2", "repeats: no", "mine.yaml:14: quick.repeats: False is not allowed; allowed: a number"),
        ("{tol: 0.5}", "7", "mine.yaml:15: quick.models.fine: 7 is not allowed; allowed: a mapping"),
    ],
)
def test_a_mistake_in_quick_is_one_clear_line(old: str, new: str, message: str) -> None:
    assert old in QUICK
    with pytest.raises(ConfigError) as error:
        config.check(yamlfile.parse(QUICK.replace(old, new), Path("mine.yaml")), quick=True)
    assert str(error.value).startswith(message)
