"""The display of runs: it follows them, and is not in their way."""

import io
import sys
from dataclasses import replace
from unittest.mock import Mock

import pytest

from hgpbench.bench.channel import Told
from hgpbench.commands.display import RunDisplay
from tests.bench.test_job import JOB
from tests.bench.test_record import RECORD


def test_runs_go_on_when_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Mock(wraps=io.StringIO(), encoding="utf-8", write=Mock(side_effect=BrokenPipeError(32, "gone")))
    monkeypatch.setattr(sys, "stderr", broken)
    with RunDisplay("mine", 1) as display:
        display.started(JOB)
        display.progressed(JOB, Told("fit", 1, None, -2.5))
        display.finished(JOB, RECORD)
        display.finished(JOB, RECORD)
    broken.write.assert_called_once()


def test_what_was_never_started_may_end(capsys: pytest.CaptureFixture[str]) -> None:
    with RunDisplay("mine", 2) as display:
        display.finished(JOB, None)
        display.finished(JOB, replace(RECORD, status="failed", reason="[red]odd[/] words"))
    told = capsys.readouterr().err
    assert "another process is running it" in told
    assert "[red]odd[/] words" in told
