"""Configs made to break the reader: one line and exit code 2, never a traceback."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hgpbench.cli import app
from hgpbench.errors import ConfigError
from tests.config.samples import parse

BASE = "name: x\ndataset: toy\nsplit: {train: 40, test: 20}\n"


@pytest.mark.parametrize(
    "rest",
    [
        "repeats: !!bool maybe", "repeats: !!int ''", "repeats: !!float ''", "title: !!timestamp foo",
        f"title: {'[' * 500}", f"limits: {{wall: {'9' * 400}}}", f"limits: {{memory: {'9' * 400}}}",
        f"repeats: 0x{'f' * 5000}", f"repeats: {'1:' * 1000}1", "models: {dvshgp: {skip_tol: .nan}}",
        "models: {dvshgp: {skip_tol: .inf}}", "models: {dvshgp: }\nsweep: {dvshgp: {skip_tol: [.nan]}}",
        "models: {dvshgp: }\nsweep: {dvshgp: [{skip_tol: -.inf}]}", "models: {a: {model: '.x:Y'}}",
        "models: {a: {model: '..:Y'}}", 'title: "\\udce9"', 'models: {a: {model: "\\udce9:b"}}',
        'dataset: "a\\0b"', "limits: {wall: 1:30}", "dataset: .x:Y", "dataset: a:é", "dataset: 'a:b\x1b'",
    ],
)  # fmt: skip
def test_one_line_and_exit_code_2(rest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    models = "" if rest.startswith("models") else "models: {mean: }\n"
    base = BASE.replace("dataset: toy\n", "") if rest.startswith("dataset") else BASE
    Path("x.yaml").write_text(f"{base}{models}{rest}\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["run", "x.yaml", "--dry-run"])
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("hgpbench: x.yaml:")


def test_a_number_that_is_not_finite_is_named() -> None:
    with pytest.raises(ConfigError, match=r"models\.gp\.tol: nan is not allowed.*finite"):
        parse("name: x\ndataset: toy\nmodels: {gp: {tol: .nan}}")
