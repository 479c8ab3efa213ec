"""What a command says is text, whoever wrote it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hgpbench.cli import app
from hgpbench.commands import endings

HARMFUL = "a\x1b[31mb\udce9\u202ec"


def test_messages_are_one_printable_line(capfd: pytest.CaptureFixture[str]) -> None:
    endings.complain(f"{HARMFUL}\n\nand more")
    assert capfd.readouterr().err == "hgpbench: a\\x1b[31mb\\udce9\\u202ec and more\n"


def test_output_keeps_its_lines_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    endings.say(f"{HARMFUL}\n\n  and more")
    assert capfd.readouterr().out == "a\\x1b[31mb\\udce9\\u202ec\n\n  and more\n"


def test_a_very_long_message_is_cut(capfd: pytest.CaptureFixture[str]) -> None:
    endings.complain("x" * 1_000_000)
    assert len(capfd.readouterr().err) < 10_000


def test_column_names_reach_the_terminal_spelled_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HGPBENCH_DATA", raising=False)
    Path("t.csv").write_text("a,y\x1b[31m\n1,2\n3,4\n", encoding="utf-8")
    for words in (["--target", "z"], ["--target", "y\x1b[31m"]):
        told = CliRunner().invoke(app, ["fetch", "--csv", "t.csv", "--name", "t", *words])
        assert "\x1b[31m" not in told.stdout + told.stderr
        assert r"y\x1b[31m" in told.stdout + told.stderr
