"""A mistake in an experiment file is one line with file, line, key and what is allowed."""

import pytest

from hgpbench.errors import ConfigError
from tests.config.samples import GOOD, QUICK, parse


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
        parse(QUICK.replace(old, new), quick=True)
    assert str(error.value).startswith(message)
